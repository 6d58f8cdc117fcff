# SPDX-License-Identifier: Apache-2.0
"""The documents' experiments hold; pushed, leaning and walking humanoids on fixed and free feet, and falls."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tiers import nightly

from ada_controllers import make
from ada_controllers.in_simulation import InSimulation
from ada_dynamics.analysis.balance import soles_of
from ada_dynamics.simulation.forces import half_sine
from ada_experiments import awa_simulators
from ada_experiments.balance_limits import eigenvalues, reaching
from ada_experiments.hand_on_wall import CHAINS, WallSettings, bearable, controller_of, leaning, pushed, tip_of
from ada_experiments.pushed_humanoid import (
    AT_THE_HAND,
    heights_of_corners,
    on_free_feet,
    phase,
    time_of_fall,
    trunk_angles,
)
from ada_experiments.reproduce import reproduce
from ada_tools import scenario as scenarios
from ada_tools.scenario.registry import NOT_CONFIRMED
from ada_tools.scenario.scenario import load

ROTATION = {"strategy": "upper_body_rotation"}
STIFFNESS = 180e3  # [N/m]
LEANING = 0.3  # [rad], with the centre of mass before the toes


def test_feet_that_may_lift_stay_where_fixed_ones_would() -> None:
    free = on_free_feet(AT_THE_HAND, ROTATION, 1.5, stiffness=STIFFNESS, step=2e-4)
    model = reaching(rotors=True)
    loop = InSimulation(make("balance", model, ROTATION))
    fixed = loop.simulation(model, np.zeros(10), step=1e-3, external=[AT_THE_HAND.profile]).run(1.5)
    assert np.isnan(time_of_fall(free))
    assert heights_of_corners(free).max() < 1e-4
    yaws = [trunk_angles(free)[::5, 2], trunk_angles(fixed)[:, 2]]
    assert yaws[1].max() > 10.0
    # soles that sink by 0.05 mm under 60 N tilt by 0.1 deg under 1 N m: 0.19 deg are seen
    assert np.abs(yaws[0] - yaws[1]).max() < 0.3
    assert phase(free, 1.0) == pytest.approx(phase(fixed, 1.0), abs=0.05)


def test_small_motions_of_the_upright_robot_are_those_of_its_simulation() -> None:
    model = reaching(rotors=True)
    growth = eigenvalues(model, "upper_body_rotation", None)[0]
    loop = InSimulation(make("balance", model, ROTATION), period=5e-4)
    nudge = [half_sine("body", [0.0, 0.0, 0.0, 0.0, 0.0, 0.02], 0.0, 0.1, frame="world")]
    log = loop.simulation(model, np.zeros(10), step=5e-4, external=nudge, log_every=2).run(12.0)
    turn = trunk_angles(log)[:, 2]
    late = log.t > 6.0  # what is damped has gone
    peaks = [i for i in np.flatnonzero(late)[1:-1] if turn[i] > turn[i - 1] and turn[i] >= turn[i + 1]]
    periods, sizes = np.diff(log.t[peaks]), np.log(turn[peaks])
    assert 2.0 * np.pi / np.mean(periods) == pytest.approx(abs(growth.imag), rel=0.02)
    assert np.polyfit(log.t[peaks], sizes, 1)[0] == pytest.approx(growth.real, rel=0.15)


def test_leaning_on_the_wall_the_robot_rests_and_presses_as_statics_asks_for() -> None:
    log, stand = pushed(LEANING, CHAINS["wall"], "body", 0.0, STIFFNESS).run(1.0), leaning(LEANING)
    com, toes, tip = np.asarray(log.com), soles_of(*stand)[:, 0].max(), tip_of(stand)
    assert np.abs(com - com[0]).max() < 5e-4
    needed = stand.model.total_mass * 9.81 * (com[-1, 0] - toes)
    assert needed > 0.0
    force = log.contact_wrenches["hand"][-1]
    assert -force[0] * tip[2] + force[2] * (tip[0] - toes) > 0.99 * needed  # soles sink by 0.05 mm
    assert controller_of(LEANING, True).signals()["pressure"][2] * tip[2] > needed


def test_on_the_wall_it_bears_a_push_from_behind() -> None:
    chosen = WallSettings(0.1, LEANING, (), 2.4, 2.4, 2.4, horizon=1.0, stiffness=STIFFNESS, shown=1.0)
    assert bearable(chosen, LEANING, CHAINS["wall"], "body", 1.0) == 2.4


def test_a_fall_is_told_from_a_walk_and_cut_where_the_body_lies() -> None:
    pytest.importorskip("mujoco")
    changes = [{"step": "10 ms"}, {"control_period": "5 ms", "td": "0.2 s", "pace": "2"}]
    scenario = load("A3").with_changes({"settings.changes": changes, "settings.rest": "0 s"})
    (plain, falls, both), log = awa_simulators.try_all(scenario, lambda share, text: None)
    assert [one.text for one in (falls, both)] == ["step 10 ms", "control every 5 ms, T_d 0.2 s, pace 2"]
    assert max(plain.tilts) < 5.0 and min(falls.tilts) > 90.0 and max(both.tilts) < 20.0
    assert both.ours.t[-1] == pytest.approx(plain.ours.t[-1] / 2.0, abs=0.02)
    for panel in awa_simulators.tilts([plain, falls, both]):
        assert 80.0 <= panel.curves[1].y[-1] < 120.0 and panel.curves[1].x[-1] < 5.0
    assert len(log.t) == len(plain.ours.t)


NAMES = ("C1", "E1", "T2.2", "T3.1", "T3.2", "T3.3", "T3.4", "T3.5", "T3.7", "T4.1", "T4.2", "T4.3", "T5.1")
PUSHES = ("R1", "R2", "T6.1", "T6.2", "T6.3", "T6.6")
LONG = ("S2", "S3", "T6.4", "T6.5", "T6.8", "T7.7")  # hundreds of motions each


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NAMES, *PUSHES, *map(nightly, LONG)])
def test_the_documents_experiments_hold(name: str, tmp_path: Path) -> None:
    pytest.importorskip("pinocchio")
    pytest.importorskip("mujoco")
    result = reproduce(scenarios.load(name), tmp_path)
    assert not result.error
    shown = [*result.outcome.claims, *result.outcome.statements]
    assert shown and not [one.as_json() for one in shown if one.verdict == "fails"]


@pytest.mark.parametrize(
    ("name", "doubted"),
    [
        ("T2.1", {"the S-joint does"}),
        ("T3.6", {"an inverse Φ", "the open chain", "likewise the closed chain", "Y of eq. 3.27"}),
    ],
)
def test_what_physics_does_not_confirm_of_tables_and_equations_is_what_is_known(name, doubted, tmp_path) -> None:
    result = reproduce(scenarios.load(name), tmp_path)
    assert result.holds, result.error
    texts = [one.text for one in result.outcome.statements if one.verdict == NOT_CONFIRMED]
    assert len(texts) == len(doubted)
    assert all(any(words in text for text in texts) for words in doubted)
