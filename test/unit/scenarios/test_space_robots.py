# SPDX-License-Identifier: Apache-2.0
"""S1: impedance of a motion table (Tarao et al., eqs. 11-15), and two space robots that touch."""

from __future__ import annotations

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.robots.mechanisms import hexa
from ada_dynamics.spatial.orientation import pose_of
from ada_experiments import space_robots
from ada_experiments.motion_simulation import motion_table
from ada_experiments.motion_simulation.robots import FIRST, SECOND, TOUCH, RobotPair
from ada_experiments.settings import read_settings
from ada_experiments.space_robots import ContactRun, ContactSettings
from ada_tools.scenario.scenario import load

STIFFNESS = 9766.0  # [N/m]


def test_jacobian_of_the_table_is_that_of_its_pose() -> None:
    table = hexa(position=(0.0, 0.0, -0.5), rpy=(0.0, 0.0, 0.0))
    model = table.model
    J = motion_table.plate_mechanics(pose_of((0.0, 0.0, -0.5))).jacobian
    step = 1e-4
    for i, motor in enumerate(model.actuated):
        moved = []
        for side in (1.0, -1.0):
            guess = table.q.copy()
            guess[model.q_index(motor)] += side * step
            moved.append(np.array(ada.close_loops(model, guess, hold=model.actuated)))
        found = model.difference(moved[1], moved[0])[model.v_index("platform")] / (2.0 * step)
        assert np.allclose(found, J[:, i], atol=1e-6)  # second differences: 1e-8 times third derivatives of some ten


@pytest.fixture(scope="module")
def chosen() -> ContactSettings:
    return read_settings(load("S1"), ContactSettings)._replace(duration=0.5)


@pytest.fixture(scope="module")
def pair(chosen: ContactSettings) -> RobotPair:
    return RobotPair(chosen.pair)


@pytest.fixture(scope="module")
def touched(chosen: ContactSettings, pair: RobotPair) -> ContactRun:
    return space_robots.touch("case", 200.0, STIFFNESS, pair, chosen.duration, "ada")


def test_both_robots_start_a_gap_apart(pair: RobotPair, chosen: ContactSettings) -> None:
    tip, face = pair.frame_poses()
    assert face[:3, 3] - tip[:3, 3] == pytest.approx([chosen.pair.gap, 0.0, 0.0], abs=1e-12)
    assert pair.gap_jacobian() @ pair.v == pytest.approx(-chosen.pair.approach)


def test_momentum_and_energy_are_kept_and_the_touch_is_that_of_the_effective_mass(touched: ContactRun) -> None:
    assert touched.force.max() > 1.0
    assert max(space_robots.momentum_change(touched.log)) < 1e-9
    assert space_robots.energy_error(touched) < 1e-4
    assert touched.peak == pytest.approx(touched.lumped_peak, rel=0.05)
    assert touched.duration == pytest.approx(touched.lumped_duration, rel=0.05)


def test_the_force_of_the_log_is_the_spring(touched: ContactRun, pair: RobotPair) -> None:
    dynamics = ada.Dynamics(pair.model)
    row = int(np.argmax(touched.force))
    q = touched.log.q[row]
    side = dynamics.pose(SECOND + "base", q)
    tip = dynamics.pose(FIRST + "link_4", q) @ np.array([1.0, 0.0, 0.0, 1.0])
    depth = 0.5 - float(-side[:3, 0] @ (tip[:3] - side[:3, 3]))
    assert touched.force[row] == pytest.approx(STIFFNESS * depth, rel=1e-9)
    assert TOUCH in touched.log.contact_wrenches
