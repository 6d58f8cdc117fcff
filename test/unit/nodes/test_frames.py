# SPDX-License-Identifier: Apache-2.0
"""Frames: a prefix before all names, a place that joins robots into one tree, and mounts of sensors."""

import math

import numpy as np
import pytest
from refused import refused
from scipy.spatial.transform import Rotation

from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError
from ada_dynamics.robots.load import load
from ada_hardware.node.hardware_settings import DevicePlan, DeviceSettings, check_mounts, refuse_links, transforms
from ada_hardware.registry import DEVICES
from ada_robot.messages.outgoing import StateMessages
from ada_robot.ros.robot_settings import FrameSettings, PlaceSettings


@pytest.fixture(scope="module")
def arm():
    model = load("pa10")
    return model, Dynamics(model)


def tree(messages):
    return {row.child: row.parent for row in messages.static_transforms()}


def test_a_prefix_stands_before_the_names_of_all_frames_and_of_nothing_else(arm):
    plain, prefixed = StateMessages(*arm), StateMessages(*arm, prefix="left/")
    assert tree(prefixed) == {f"left/{child}": f"left/{parent}" for child, parent in tree(plain).items()}
    assert prefixed.joint_names == plain.joint_names


def test_a_place_hangs_the_robots_world_into_the_common_one(arm):
    first, *rest = StateMessages(*arm, prefix="left/", base_pose=(1.0, -0.5, 0.2, math.pi / 2)).static_transforms()
    assert (first.parent, first.child, first.xyz) == ("world", "left/world", (1.0, -0.5, 0.2))
    x, y, z, w = first.xyzw
    turned = np.array([1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)])  # where its x axis points
    assert turned == pytest.approx([0.0, 1.0, 0.0], abs=1e-12)
    assert rest == StateMessages(*arm, prefix="left/").static_transforms()


def test_a_prefix_that_makes_no_names_is_refused_at_once():
    for prefix in ("", "left", "left/", "cell_1/left/", "x" * 60):
        assert FrameSettings(prefix).frame_prefix == prefix
    for prefix in ("/", "/left", "left//", "a//b", "le ft/", "left-1/", "é", "a" * 60 + "-"):
        with refused(InputError, field="frame_prefix", value=prefix):
            FrameSettings(prefix)


@pytest.mark.parametrize(
    ("prefix", "pose", "field"),
    [
        ("left/", (0.0, 0.0, 0.0), "base_pose"),
        ("left/", (0.0, 0.0, 0.0, 0.1, 0.2, 0.3), "base_pose"),
        ("left/", (0.0, math.nan, 0.0, 0.0), "base_pose"),
        ("", (0.0, 0.0, 0.0, 0.0), "frame_prefix"),
    ],
)
def test_a_place_that_is_none_or_that_no_tree_could_hold_is_refused(prefix, pose, field):
    with refused(InputError, field=field):
        PlaceSettings(prefix, pose)


def sensor(name="hand", **settings):
    return DevicePlan(name, DEVICES["dynpick"], DeviceSettings(**settings), None, None)


def test_a_mounting_is_the_pose_of_the_frame_in_its_parent():
    rpy = (0.3, -0.7, 2.1)
    (row,) = transforms([sensor(parent="flange", frame="ft", mounting=(0.1, -0.2, 0.3, *rpy))], "left/")
    assert (row.parent, row.child, row.xyz) == ("left/flange", "left/ft", (0.1, -0.2, 0.3))
    expected = Rotation.from_euler("xyz", rpy)  # about fixed axes, as URDF has it
    assert np.abs((Rotation.from_quat(row.xyzw) * expected.inv()).as_rotvec()).max() < 1e-12


def test_two_sensors_may_be_in_one_frame_that_one_of_them_places_or_in_two():
    check_mounts([sensor(parent="flange", frame="ft"), sensor("other", frame="ft")], "world")
    check_mounts([sensor(parent="world"), sensor("other", parent="flange")], "world")


@pytest.mark.parametrize(
    ("sensors", "field"),
    [
        ([sensor(parent="flange", mounting=(0.0,) * 3)], "hand.mounting"),
        ([sensor(parent="flange", mounting=(0.0,) * 5 + (math.nan,))], "hand.mounting"),
        ([sensor(mounting=(0.0,) * 6)], "hand.parent"),
        ([sensor(parent="hand")], "hand.parent"),
        ([sensor(parent="b"), sensor("b", parent="world")], "hand.parent"),
        ([sensor(parent="flange", frame="world")], "hand.frame"),
        ([sensor(parent="a", frame="ft"), sensor("b", parent="c", frame="ft")], "hand.parent"),
    ],
)
def test_what_makes_no_tree_is_refused_by_the_parameters_name(sensors, field):
    with refused(InputError, field=field):
        check_mounts(sensors, "world")


def test_a_link_of_the_robot_has_its_place_already():
    refuse_links([sensor(frame="flange")], {"flange"})
    with refused(InputError, field="hand.frame", link="flange"):
        refuse_links([sensor(frame="flange", parent="world")], {"flange"})
