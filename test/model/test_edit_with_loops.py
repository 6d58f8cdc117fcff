# SPDX-License-Identifier: Apache-2.0
"""`edit.with_loops`: a model with more loop joints, as if it had been loaded with them."""

from __future__ import annotations

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics import resources
from ada_dynamics.errors import InputError, ModelError
from ada_dynamics.robots.close import with_loops

FILE = str(resources.find("config", "loops/slider_crank.yaml"))


def test_loops_that_are_added_are_those_of_a_model_that_was_loaded_with_them():
    one, other = with_loops(ada.load("planar_4r"), FILE), ada.load("planar_4r", loops=FILE)
    assert one.loop_names == other.loop_names == ["straight_rod", "guide"]
    assert one.joint_names == other.joint_names
    q, v, tau = np.radians([30.0, 85.7, 0.0, 64.3]), 0.1 * np.ones(4), np.ones(4)
    q, v = ada.Dynamics(one).project(q, v)
    np.testing.assert_array_equal(ada.Dynamics(one).forward(q, v, tau), ada.Dynamics(other).forward(q, v, tau))


def test_base_gravity_motors_and_loops_stay():
    robot = ada.load("five_bar", gravity=(0.0, 0.0, -1.62))
    guide = {
        "name": "guide",
        "type": "prismatic",
        "axis": [0, 0, 1],
        "parent": {"link": "base"},
        "child": {"link": "left_rod"},
    }
    more = with_loops(robot, [guide])
    assert more.loop_names == [*robot.loop_names, "guide"]
    assert more.actuated == robot.actuated
    assert more.gravity == robot.gravity
    floating = with_loops(
        ada.load("khr1"), [{**guide, "parent": {"link": "left_sole"}, "child": {"link": "right_sole"}}]
    )
    assert floating.joint_names[0] == "root_joint"


def test_a_second_loop_of_the_same_name_and_unknown_links_are_refused():
    robot = with_loops(ada.load("planar_4r"), FILE)
    with pytest.raises(InputError, match="has a loop 'straight_rod' already"):
        with_loops(robot, FILE)
    lost = {"name": "lost", "type": "spherical", "parent": {"link": "nowhere"}, "child": {"link": "tip"}}
    with pytest.raises(ModelError, match="nowhere"):
        with_loops(robot, [lost])
