# SPDX-License-Identifier: Apache-2.0
"""T6.1 to T6.6 and R1: the experiments' parts, and that their claims hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ada_controllers import make
from ada_controllers.in_simulation import InSimulation
from ada_dynamics.robots.mechanisms import hoap2_reaching
from ada_dynamics.simulation import Log
from ada_dynamics.simulation.profiles import half_sine
from ada_experiments.arm_in_null_space import momentum_of
from ada_experiments.push_measures import phase, time_of_fall, trunk_angles
from ada_experiments.push_sweep import Pushed, Settings, largest_survived, read_settings
from ada_experiments.pushed_humanoid import (
    AT_THE_HAND,
    heights_of_corners,
    on_free_feet,
    survives,
)
from ada_experiments.upright_pose import eigenvalues
from ada_tools import scenario as scenarios
from ada_tools.scenario.fields import ScenarioError

ROTATION = {"strategy": "upper_body_rotation"}
STIFFNESS = 180e3  # [N/m]


def test_impulse_of_a_push_is_the_integral_of_its_force() -> None:
    times = np.linspace(0.9, 1.2, 3001)
    force = [AT_THE_HAND.profile.at(t)[0] for t in times]
    assert np.sum(force) * (times[1] - times[0]) == pytest.approx(AT_THE_HAND.impulse, rel=1e-5)
    assert min(force) == pytest.approx(-7.0, rel=1e-5)


def test_feet_that_may_lift_stay_where_fixed_ones_would() -> None:
    """The margin of fixed feet is positive, so free ones do not lift, and both robots, with rotors, move alike."""
    free = on_free_feet(AT_THE_HAND, ROTATION, 1.5, stiffness=STIFFNESS, step=2e-4)
    model = hoap2_reaching(rotors=True).model
    loop = InSimulation(make("balance", model, ROTATION))
    fixed = loop.simulation(model, np.zeros(10), step=1e-3, external=[AT_THE_HAND.profile]).run(1.5)
    assert np.isnan(time_of_fall(free))
    assert heights_of_corners(free).max() < 1e-4
    yaws = [trunk_angles(free)[::5, 2], trunk_angles(fixed)[:, 2]]
    assert yaws[1].max() > 10.0
    # soles that sink by 0.05 mm under 60 N tilt by 0.1 deg under 1 N m: 0.19 deg are seen
    assert np.abs(yaws[0] - yaws[1]).max() < 0.3
    assert phase(free, 1.0) == pytest.approx(phase(fixed, 1.0), abs=0.05)


def test_with_springs_alone_a_robot_on_free_feet_falls() -> None:
    fallen = time_of_fall(on_free_feet(AT_THE_HAND, {"strategy": "springs"}, 3.5, stiffness=STIFFNESS))
    assert 1.5 < fallen < 3.5


def test_a_harder_push_is_not_survived() -> None:
    chosen = Settings(
        ("right_shoulder",), largest=1.2, spacing=0.6, resolution=0.2, duration=0.1, horizon=3.5, full_angle=0.785
    )
    tried = Pushed("combined", chosen).tried("right_shoulder", 1.0)
    assert sorted(tried.items()) == [
        (0.6, True),
        (pytest.approx(0.75), True),
        (pytest.approx(0.9), False),
        (1.2, False),
    ]
    assert largest_survived(tried) == pytest.approx(0.75)


def test_springs_alone_bear_a_push_until_the_robot_swings_back() -> None:
    """Their slowest swing takes 5.4 s: in 1.6 s a push of 0.6 N s from behind is no fall yet."""
    chosen = Settings(
        ("right_shoulder",), largest=1.0, spacing=0.5, resolution=0.5, duration=0.1, horizon=5.0, full_angle=0.785
    )
    pushed = Pushed("springs", chosen)
    assert survives(pushed.simulation("right_shoulder", 0.6).run(1.6))
    assert not pushed.is_survived("right_shoulder", 0.6)


def test_largest_survived_impulse_is_the_one_under_the_first_that_is_not() -> None:
    assert largest_survived({0.2: True, 0.6: True, 0.4: False}) == 0.2
    assert largest_survived({0.2: False, 0.4: True}) == 0.0


def test_small_motions_of_the_upright_robot_are_those_of_its_simulation() -> None:
    """Eigenvalues beside what a small start does, with rotors, where eq. 6.7 excites a swing of 3.6 rad/s."""
    model = hoap2_reaching(rotors=True).model
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


def test_momentum_of_links_adds_up_to_that_of_the_robot() -> None:
    """With one link moving the others are at rest, and its momentum is the whole."""
    import ada_dynamics as ada

    builder = ada.Builder("pair").link("base").link("arm", 2.0, (0.5, 0, 0), np.diag([0.1, 0.2, 0.2]))
    model = builder.joint("turn", "continuous", "base", "arm", (0, 0, 0.3), axis=(0, 0, 1)).build()
    log: Log = ada.Simulation(model, np.zeros(1), np.ones(1), step=1e-3).run(0.1)
    assert momentum_of(log, "arm") == pytest.approx(np.linalg.norm(log.momentum[:, :3], axis=1), rel=1e-9)


def test_settings_of_the_sweep_have_units() -> None:
    scenario = scenarios.load("T6.4").with_changes({"settings.largest": "2 N"})
    with pytest.raises(ScenarioError, match="largest"):
        read_settings(scenario)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *["R1", "T6.1", "T6.2", "T6.3", "T6.6"],
        *[pytest.param(sweep, marks=pytest.mark.fuzz) for sweep in ("T6.4", "T6.5")],  # hundreds of pushes each
    ],
)
def test_claims_hold(name: str, tmp_path: Path) -> None:
    result = scenarios.reproduce(scenarios.load(name), tmp_path)
    assert not result.error
    assert result.holds
    assert [claim.text for claim in result.outcome.claims if not claim.holds] == []
    assert result.outcome.figures
