# SPDX-License-Identifier: Apache-2.0
"""Where the frames of force/torque sensors are: what makes no tree of frames is refused by name."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ada_dynamics.errors import InputError
from ada_hardware.node.device_plan import DevicePlan
from ada_hardware.node.hardware_settings import DeviceSettings
from ada_hardware.node.mounts import check_mounts, refuse_links, transforms
from ada_hardware.registry import DEVICES


def sensor(name="hand", **settings):
    return DevicePlan(name, DEVICES["dynpick"], DeviceSettings(**settings), None, None)


def test_a_mounting_is_the_pose_of_the_frame_in_its_parent():
    rpy = (0.3, -0.7, 2.1)
    (row,) = transforms([sensor(parent="flange", frame="ft", mounting=(0.1, -0.2, 0.3, *rpy))], "left/")
    assert (row.parent, row.child, row.xyz) == ("left/flange", "left/ft", (0.1, -0.2, 0.3))
    expected = Rotation.from_euler("xyz", rpy)  # about fixed axes, as URDF has it
    assert np.abs((Rotation.from_quat(row.xyzw) * expected.inv()).as_rotvec()).max() < 1e-12


def test_without_a_mounting_the_frame_is_its_parents_and_without_a_parent_nobodys():
    first, *rest = transforms([sensor(parent="world"), sensor("other")], "")
    assert first == ("world", "hand", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)) and not rest


def test_two_sensors_may_be_in_one_frame_that_one_of_them_places_and_one_may_carry_another():
    check_mounts([sensor(parent="flange", frame="ft"), sensor("other", frame="ft")], "world")
    check_mounts([sensor(parent="world"), sensor("other", parent="hand")], "world")


@pytest.mark.parametrize(
    ("sensors", "field"),
    [
        ([sensor(parent="flange", mounting=(0.0,) * 3)], "hand.mounting"),
        ([sensor(parent="flange", mounting=(0.0,) * 5 + (math.nan,))], "hand.mounting"),
        ([sensor(mounting=(0.0,) * 6)], "hand.parent"),
        ([sensor(parent="hand")], "hand.parent"),
        ([sensor(parent="b"), sensor("b", parent="hand")], "hand.parent"),
        ([sensor(parent="b"), sensor("b", parent="b")], "hand.parent"),
        ([sensor(parent="flange", frame="world")], "hand.frame"),
        ([sensor(parent="a", frame="ft"), sensor("b", parent="c", frame="ft")], "b.parent"),
    ],
)
def test_what_makes_no_tree_is_refused_by_the_parameters_name(sensors, field):
    with pytest.raises(InputError) as refusal:
        check_mounts(sensors, "world")
    assert refusal.value.field == field


def test_a_link_of_the_robot_has_its_place_already():
    refuse_links([sensor(frame="flange")], {"flange"})
    with pytest.raises(InputError) as refusal:
        refuse_links([sensor(frame="flange", parent="world")], {"flange"})
    assert (refusal.value.field, refusal.value.link) == ("hand.frame", "flange")
