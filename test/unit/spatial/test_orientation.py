# SPDX-License-Identifier: Apache-2.0
"""Rotation matrices to quaternions and to roll, pitch and yaw, and poses from both, as scipy has them."""

import numpy as np
import pytest

from ada_dynamics.spatial import rotation as rot
from ada_dynamics.spatial.orientation import (
    pose_by_quaternion,
    pose_of,
    quaternions,
    to_quaternion,
    to_rpy,
    upper_quaternion,
)

ScipyRotation = pytest.importorskip("scipy.spatial.transform").Rotation

# The matrix has roundings of 1e-16 in each of nine entries, whose sums are halved.
ROUNDINGS = 2e-15
ANY = ScipyRotation.random(200, random_state=3)
# Each entry of the quaternion is the largest once, is zero once, and all are of one size.
SPECIAL = ScipyRotation.from_quat([
    [0.1, 0.2, -0.3, 1.0], [1.0, 0.2, -0.3, 0.1], [0.2, 1.0, 0.3, -0.1], [-0.2, 0.3, 1.0, 0.1],
    [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0],
    [1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, 0.0], [1.0, 0.0, 1.0, 0.0], [0.5, -0.5, 0.5, 0.5], [0.0, 0.6, 0.0, -0.8],
])  # fmt: skip


@pytest.mark.parametrize("turns", [ANY, SPECIAL], ids=["any", "special"])
def test_quaternions_are_those_of_scipy_but_for_their_sign(turns):
    R = turns.as_matrix()
    wanted = np.roll(turns.as_quat(), 1, axis=1)  # w first
    ours = quaternions(R)
    assert np.linalg.norm(ours, axis=1) == pytest.approx(1.0, abs=ROUNDINGS)
    signs = np.sign((ours * wanted).sum(axis=1))
    assert np.abs(ours - signs[:, None] * wanted).max() < ROUNDINGS
    assert to_quaternion(R[1]) == pytest.approx(tuple(ours[1]), abs=ROUNDINGS)


def test_the_upper_quaternion_has_no_negative_w():
    for turn in [*ANY, *SPECIAL]:
        ours = upper_quaternion(turn.as_matrix())
        assert ours[3] >= 0.0
        wanted = turn.as_quat()
        assert np.abs(ours - wanted * np.sign(ours @ wanted)).max() < ROUNDINGS


def test_roll_pitch_and_yaw_are_those_of_scipy():
    for turn in ANY:
        assert to_rpy(turn.as_matrix()) == pytest.approx(turn.as_euler("xyz"), abs=1e-13)  # up to 100 near 90 deg


@pytest.mark.parametrize("pitch", [np.pi / 2, -np.pi / 2, 1.5707963, 1.5, 0.0])
def test_roll_pitch_and_yaw_give_the_rotation_back_at_any_pitch(pitch):
    for roll, yaw in ((0.3, -1.2), (-2.5, 0.7), (0.0, 3.0)):
        R = np.array(rot.from_rpy(roll, pitch, yaw))
        assert np.abs(np.array(rot.from_rpy(*to_rpy(R))) - R).max() < ROUNDINGS


def test_poses_have_their_place_and_turn():
    xyz, rpy, quaternion = [1.0, -2.0, 3.0], [0.3, -0.4, 2.0], [0.1, 0.2, -0.3, 0.5]
    for pose, turn in (
        (pose_of(xyz, rpy), ScipyRotation.from_euler("xyz", rpy)),
        (pose_of(xyz), ScipyRotation.identity()),
        (pose_by_quaternion(xyz, quaternion), ScipyRotation.from_quat(quaternion)),
    ):
        wanted = np.eye(4)
        wanted[:3, :3], wanted[:3, 3] = turn.as_matrix(), xyz
        assert np.abs(pose - wanted).max() < ROUNDINGS
