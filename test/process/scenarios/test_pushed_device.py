# SPDX-License-Identifier: Apache-2.0
"""T6.8: a pushed HOAP-2 behind the hardware contract, in lock step; the map itself is drawn by `ada reproduce`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from refused import refused

from ada_dynamics.errors import AdaError
from ada_experiments.push_sweep import SIDES, STRATEGIES, map_of
from ada_experiments.push_sweep import Settings as Sweep
from ada_experiments.pushed_device import LABELS, Device, Settings
from ada_robot.simulated.settings import SimulatedSettings
from ada_robot.simulated.source import load_robot
from ada_tools.scenario.reader import load
from ada_tools.scenario.registry import find_experiment

CHOSEN = Settings(Sweep(("right_shoulder",), 2.4, 0.4, 0.2, 0.1, 1.5, 0.2), (0.05,), 1000.0)


@pytest.fixture(scope="module")
def device() -> Device:
    return Device("combined", 0.05, CHOSEN)


def test_a_robot_that_is_not_pushed_stands_and_no_demand_is_refused(device: Device) -> None:
    found = device.pushed("body", 0.0)
    assert found.stands and found.refused == 0 and found.reason == "active: activated"
    assert np.ptp(found.height) < 1e-3 and found.t[-1] == pytest.approx(1.5, abs=0.03)


def test_the_documents_push_is_borne_and_a_hard_one_is_a_fall_that_is_left_off(device: Device) -> None:
    assert device.pushed("right_shoulder", 0.637).stands
    fallen = device.pushed("right_shoulder", 4.0)
    assert not fallen.stands and fallen.t[-1] < 1.4
    again = device.pushed("right_shoulder", 0.637)
    assert again.stands, "what was before leaves no trace"


def test_friction_is_that_of_each_motor_beside_what_the_robot_has() -> None:
    plain, rough = (load_robot(SimulatedSettings(robot="hoap2_10dof", joint_friction=f)) for f in (0.0, 0.05))
    for name, joint in plain.joints.items():
        own = 0.05 if joint.type.turns() else 0.0
        assert rough.joints[name].friction == pytest.approx(joint.friction + own)


def test_the_map_has_a_panel_for_each_strategy_and_side() -> None:
    tried = {0.4: True, 0.8: False}
    found = {(strategy, side, "right_shoulder"): tried for strategy in STRATEGIES for side in SIDES}
    panels = map_of(found, CHOSEN.sweep.points, LABELS)
    assert len(panels) == len(STRATEGIES) * len(SIDES)
    stands, falls, own = panels[0].series
    assert (stands.y.tolist(), falls.y.tolist()) == ([0.4], [0.8]) and own.label == "T6.2"


@pytest.mark.parametrize(
    ("change", "field"),
    [({"settings.friction": ["0.05 N"]}, "settings.friction"), ({"settings.rates": "1 1/s"}, "settings")],
)
def test_wrong_settings_are_refused_by_key(change: dict[str, object], field: str, tmp_path: Path) -> None:
    scenario = load("T6.8").with_changes(change)
    with refused(AdaError, field=field):
        find_experiment("pushed_device")(scenario, tmp_path, lambda share, text: None)
