# SPDX-License-Identifier: Apache-2.0
"""T7.7: HOAP-2 leans on a wall with a hand that only presses, under a virtual closed chain over ground and wall."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ada_dynamics.analysis.fixed_feet import soles_of
from ada_experiments.hand_on_wall import Settings, bearable
from ada_experiments.leaning_humanoid import CHAINS, controller_of, leaning, pushed
from ada_tools import scenario as scenarios

STIFFNESS = 180e3  # [N/m]
LEANING = 0.3  # [rad], with the centre of mass before the toes


def test_leaning_on_the_wall_the_robot_rests_and_presses_with_what_is_counted_on() -> None:
    """Nothing measures it: that the wall is pressed as the law says is what contact and statics make of its efforts."""
    log = pushed(LEANING, CHAINS["wall"], "body", 0.0, STIFFNESS).run(1.0)
    com, toes = np.asarray(log.com), soles_of(*leaning(LEANING))[:, 0].max()
    assert com[0, 0] > toes
    assert np.abs(com - com[0]).max() < 5e-4
    counted = controller_of(LEANING, True).signals()["pressure"][2]
    felt = -log.contact_wrenches["hand"][-1, 0]
    assert counted > 1.0
    assert felt == pytest.approx(counted, rel=0.05)


def test_without_the_wall_it_falls_from_there() -> None:
    heights = np.asarray(pushed(LEANING, CHAINS["free"], "body", 0.0, STIFFNESS).run(0.8).com)[:, 2]
    assert heights[-1] < heights[0] - 0.05


def test_pushed_from_behind_the_wall_bears_what_the_toes_do_not() -> None:
    chosen = Settings(
        {}, (), largest=2.4, spacing=2.4, resolution=2.4, horizon=1.25, stiffness=STIFFNESS, shown=1.0, full_angle=0.2
    )
    assert bearable(chosen, 0.1, CHAINS["free"], "body", 1.0) == 0.0
    assert bearable(chosen, 0.1, CHAINS["wall"], "body", 1.0) == 2.4


@pytest.mark.slow
def test_its_claims_hold(tmp_path: Path) -> None:
    result = scenarios.reproduce(scenarios.load("T7.7"), tmp_path)
    assert not result.error
    assert [claim.text for claim in result.outcome.claims if not claim.holds] == []
    assert result.outcome.figures
