# SPDX-License-Identifier: Apache-2.0
"""Paths of the HEXA's plate become targets of its motors, or are refused before anything moves."""

import math

import numpy as np
import pytest
from hexa_joint_path import PathRefused, joint_path

from ada_dynamics.dynamics.poses import pose_of
from ada_dynamics.errors import InputError
from ada_hardware.hexa.kinematics import HexaKinematics
from ada_hardware.hexa.limits import PERIOD

TABLE = HexaKinematics()
LEVEL = (0.0, 0.0, 0.0)


def circle(t):
    """From the middle of the workspace, beginning and ending smoothly."""
    turned = math.pi * (1.0 - math.cos(math.pi * min(t, 1.0)))
    return pose_of((0.02 * math.sin(turned), 0.01 * (1.0 - math.cos(turned)), -0.55), (0.1 * math.sin(turned), 0, 0))


def test_a_path_has_a_target_for_each_period():
    path = joint_path(circle, 1.0)
    assert len(path.q) == 501
    np.testing.assert_allclose(path.t, np.arange(501) * 0.002)
    np.testing.assert_allclose(path.q[250], TABLE.inverse(circle(0.5)), rtol=0, atol=1e-15)
    assert path.fastest == pytest.approx(np.max(np.abs(np.diff(path.q, axis=0))) / PERIOD)
    assert path.drive > 0.9
    assert path.hold > 0.3


def test_poses_are_a_path_as_well():
    poses = np.array([circle(0.002 * i) for i in range(100)])
    np.testing.assert_array_equal(joint_path(poses).q, joint_path(circle, 0.198).q)


@pytest.mark.parametrize(
    ("pose_at", "words"),
    [
        (lambda t: pose_of((0.0, 0.0, -0.55 - 0.2 * t), LEVEL), r"leg \d does not reach|out of its range"),
        (lambda t: pose_of((0.0, 0.0, -0.5), (0.0, 0.0, 1.2 * t)), "nearly let go of the plate"),
        (
            lambda t: pose_of((0.2 * math.sin(200 * t), 0.0, -0.55), LEVEL),
            r"crank \d would have to turn at .* allowed 10",
        ),
        (lambda t: pose_of((0.0, 0.0, -0.55 + 0.4 * t), LEVEL), r"crank \d would be at -0\.35"),
    ],
)
def test_paths_that_the_table_cannot_go_are_refused_with_the_time(pose_at, words):
    with pytest.raises(PathRefused, match=rf"at t = .*({words})") as caught:
        joint_path(pose_at, 2.0)
    assert 0.0 <= caught.value.time <= 2.0


def test_a_path_that_begins_elsewhere_than_the_table_stands_is_refused():
    with pytest.raises(PathRefused, match="to its first point"):
        joint_path(circle, 1.0, start=np.zeros(6))


@pytest.mark.parametrize("duration", [None, 0.0, 1e6])
def test_a_path_without_an_end_is_refused(duration):
    with pytest.raises(InputError, match="duration is"):
        joint_path(circle, duration)
