# SPDX-License-Identifier: Apache-2.0
"""T7.7: HOAP-2 leans on a wall with a hand that only presses, under a virtual closed chain over ground and wall."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ada_dynamics.analysis.fixed_feet import soles_of
from ada_experiments.hand_on_wall import Settings, bearable
from ada_experiments.leaning_humanoid import CHAINS, controller_of, leaning, pushed, tip_of
from ada_tools import scenario as scenarios

STIFFNESS = 180e3  # [N/m]
LEANING = 0.3  # [rad], with the centre of mass before the toes


def test_leaning_on_the_wall_the_robot_rests_and_presses_as_statics_asks_for() -> None:
    """About the toes the wall takes at least what weight has there; so does what the law counts on."""
    log, stand = pushed(LEANING, CHAINS["wall"], "body", 0.0, STIFFNESS).run(1.0), leaning(LEANING)
    com, toes, tip = np.asarray(log.com), soles_of(*stand)[:, 0].max(), tip_of(stand)
    assert np.abs(com - com[0]).max() < 5e-4
    needed = stand.model.total_mass * 9.81 * (com[-1, 0] - toes)
    assert needed > 0.0
    force = log.contact_wrenches["hand"][-1]
    assert -force[0] * tip[2] + force[2] * (tip[0] - toes) > 0.99 * needed  # soles sink by 0.05 mm
    assert controller_of(LEANING, True).signals()["pressure"][2] * tip[2] > needed


def test_without_the_wall_it_falls_from_there() -> None:
    heights = np.asarray(pushed(LEANING, CHAINS["free"], "body", 0.0, STIFFNESS).run(0.8).com)[:, 2]
    assert heights[-1] < heights[0] - 0.05


def test_on_the_wall_it_bears_a_push_from_behind() -> None:
    chosen = Settings({}, (), 2.4, 2.4, 2.4, horizon=1.0, stiffness=STIFFNESS, shown=1.0, full_angle=0.2)
    assert bearable(chosen, LEANING, CHAINS["wall"], "body", 1.0) == 2.4


@pytest.mark.soak  # minutes; `ada reproduce all` runs it, too
def test_its_claims_hold(tmp_path: Path) -> None:
    result = scenarios.reproduce(scenarios.load("T7.7"), tmp_path)
    assert not result.error
    assert [claim.text for claim in result.outcome.claims if not claim.holds] == []
    assert result.outcome.figures
