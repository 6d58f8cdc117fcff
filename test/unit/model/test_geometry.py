# SPDX-License-Identifier: Apache-2.0
"""Exponentials, logarithms, turns, quaternions and angles against series and scipy, where they change form, too."""

import numpy as np
import pytest

from ada_dynamics.model import Builder, rotations
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

# Below 3.16e-3 rad, and at 0, series take the place of sines.
ANGLES = (0.0, 1e-9, 1e-4, 3e-3, 3.2e-3, 0.1, 1.0, 2.5, 3.1)
DIRECTION = np.array([0.48, -0.6, 0.64])
LONG = np.longdouble


def cross_matrix(w):
    x, y, z = w
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]], dtype=LONG)


def mean_turn(w):
    """Σ [w]^k / (k + 1)!, the mean of the rotations from none to that of w, in 80 bits."""
    term = total = np.eye(3, dtype=LONG)
    for k in range(1, 40):
        term = term @ cross_matrix(w) / LONG(k + 1)
        total = total + term
    return total


def is_rotation(R):
    return np.abs(R @ R.T - np.eye(3)).max() < 1e-15 and np.linalg.det(R) > 0.0


def angle_of(R):
    return ScipyRotation.from_matrix(R).magnitude()


def single(kind):
    builder = Builder("one").link("base").link("body", 1.0, inertia=(1.0, 1.0, 1.0))
    return builder.joint("joint", kind, "base", "body", axis=(0.0, 0.0, 1.0)).build()


@pytest.mark.parametrize("angle", ANGLES)
def test_the_quaternion_of_a_rotation_vector_is_right_to_the_last_digits(angle):
    model, w = single("spherical"), angle * DIRECTION
    half = LONG(0.5) * np.linalg.norm(w.astype(LONG))
    wanted = np.sin(half) / (2 * half) * w.astype(LONG) if angle else 0.0 * w
    found = model.integrate(model.neutral(), w)
    assert found[:3] == pytest.approx(wanted.astype(float), rel=5e-16, abs=0.0)
    assert found[3] == pytest.approx(float(np.cos(half)), rel=2e-16)
    for same in (found, -found):
        assert model.difference(model.neutral(), same) == pytest.approx(w, rel=2e-15, abs=0.0)


@pytest.mark.parametrize("angle", ANGLES)
def test_a_pose_moves_along_the_screw_of_its_velocity_and_the_difference_is_that_velocity(angle):
    model, v, w = single("floating"), np.array([0.3, -1.2, 0.7]), angle * DIRECTION
    q = np.array([0.5, -0.25, 2.0, *ScipyRotation.from_rotvec([0.4, -0.9, 1.3]).as_quat()])
    moved = model.integrate(q, np.array([*v, *w]))
    turn = ScipyRotation.from_quat(q[3:])
    assert moved[:3] == pytest.approx(q[:3] + turn.apply((mean_turn(w) @ v).astype(float)), abs=2e-15)
    assert np.abs((turn.inv() * ScipyRotation.from_quat(moved[3:])).as_rotvec() - w).max() < 2e-15
    assert model.difference(q, moved) == pytest.approx(np.array([*v, *w]), abs=5e-15)


@pytest.mark.parametrize("angle", [0.0, 3e-3])
def test_small_screws_keep_their_digits(angle):
    wanted = (mean_turn(np.array([0.0, 0.0, angle])) @ np.array([0.0, 1.0, 0.0])).astype(float)
    free, flat = single("floating"), single("planar")
    moved = free.integrate(free.neutral(), np.array([0.0, 1.0, 0.0, 0.0, 0.0, angle]))
    assert moved[:3] == pytest.approx(wanted, rel=2e-16, abs=0.0)
    assert flat.integrate(np.zeros(3), [0.0, 1.0, angle]) == pytest.approx([*wanted[:2], angle], rel=2e-16, abs=0.0)


@pytest.mark.parametrize("angle", [*ANGLES, *(-x for x in ANGLES)])
def test_a_body_in_the_plane_moves_as_the_same_body_in_space(angle):
    model, q, v = single("planar"), np.array([0.5, -0.25, 0.8]), np.array([0.3, -1.2, angle])
    moved = model.integrate(q, v)
    c, s = np.cos(q[2]), np.sin(q[2])
    along = (mean_turn(np.array([0.0, 0.0, angle])) @ np.array([0.3, -1.2, 0.0])).astype(float)
    wanted = [q[0] + c * along[0] - s * along[1], q[1] + s * along[0] + c * along[1], q[2] + angle]
    assert moved == pytest.approx(wanted, abs=1e-15)
    assert model.difference(q, moved) == pytest.approx(v, abs=3e-15)


@pytest.mark.parametrize("angle", [-2.0, 0.0, 1e-8, 0.5, np.pi])
def test_a_turn_about_an_axis_is_scipys(angle):
    axis = np.array([1.0, -2.0, 3.0])
    wanted = ScipyRotation.from_rotvec(angle * axis / np.linalg.norm(axis)).as_matrix()
    assert np.abs(rotations.about(axis, angle) - wanted).max() < 1e-15
    assert rotations.is_unit(rotations.about(axis, angle)) == (angle == 0.0)
    assert rotations.is_unit(np.eye(3)) and rotations.is_unit(rotations.UNIT)


_WAYS = [
    ([1.0, 2.0, 3.0], [3.0, -1.0, 0.5]),
    ([0.0, 0.0, 2.0], [0.0, 0.0, 5.0]),
    ([0.0, 0.0, 2.0], [0.0, 0.0, -5.0]),
    ([1.0, -2.0, 0.5], [-1.0, 2.0, -0.5]),
    *(
        ([0.48, -0.6, 0.64], [-0.48 + 0.8 * x, 0.6 + 0.64 * x, -0.64])
        for x in (0.9, 0.5, 1e-1, 1e-3, 1e-6, 1e-9, 1e-13)
    ),
]


@pytest.mark.parametrize(("start", "end"), _WAYS)
def test_the_shortest_turn_brings_one_direction_onto_another_and_no_turn_is_shorter(start, end):
    a, b = (np.array(x) / np.linalg.norm(x) for x in (start, end))
    R = rotations.shortest_turn(np.array(start), np.array(end))
    assert is_rotation(R)
    assert pytest.approx(b, abs=1e-15) == R @ a
    assert angle_of(R) == pytest.approx(2.0 * np.arctan2(np.linalg.norm(b - a), np.linalg.norm(b + a)), abs=1e-15)


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
