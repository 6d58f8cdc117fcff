# SPDX-License-Identifier: Apache-2.0
"""Frames: a prefix before all names, and a place that joins robots into one tree."""

import math

import numpy as np
import pytest
from refused import refused

from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError
from ada_dynamics.robots.load import load
from ada_robot.messages.outgoing import StateMessages
from ada_robot.ros.robot_settings import FrameSettings, PlaceSettings


@pytest.fixture(scope="module")
def arm():
    return Dynamics(load("pa10"))


def tree(messages):
    return {row.child: row.parent for row in messages.static_transforms()}


def test_a_prefix_stands_before_the_names_of_all_frames_and_of_nothing_else(arm):
    plain, prefixed = StateMessages(arm), StateMessages(arm, prefix="left/")
    assert tree(prefixed) == {f"left/{child}": f"left/{parent}" for child, parent in tree(plain).items()}
    assert prefixed.joint_names == plain.joint_names


def test_a_place_hangs_the_robots_world_into_the_common_one(arm):
    first, *rest = StateMessages(arm, prefix="left/", base_pose=(1.0, -0.5, 0.2, math.pi / 2)).static_transforms()
    assert (first.parent, first.child, first.xyz) == ("world", "left/world", (1.0, -0.5, 0.2))
    x, y, z, w = first.xyzw
    turned = np.array([1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)])  # where its x axis points
    assert turned == pytest.approx([0.0, 1.0, 0.0], abs=1e-12)
    assert rest == StateMessages(arm, prefix="left/").static_transforms()


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
