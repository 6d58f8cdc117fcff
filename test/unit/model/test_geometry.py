# SPDX-License-Identifier: Apache-2.0
"""Exponentials, logarithms, turns and alignments against series and scipy, on both sides of where they change form."""

import numpy as np
import pytest

from ada_dynamics.model import Builder, rotations

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
