# SPDX-License-Identifier: Apache-2.0
"""Rotation vectors, screws and their matrices are scipy's, at every angle and about every axis."""

from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm, logm
from scipy.spatial.transform import Rotation

from ada_dynamics.dynamics import poses
from ada_dynamics.spatial.vector import Mat3, Vec3

Array = Any
# Each axis is once the largest: of a half turn about it, that one's quaternion entry is taken.
AXES = [*np.eye(3), (0.6, -0.8, 0.0), (1.0, 2.0, -2.0), (-2.0, 1.0, 2.0), (2.0, -2.0, 1.0)]
ANGLES = [0.0, 1e-9, 3e-5, 9.9e-5, 1.9e-4, 2.1e-4, 1e-3, 0.4, 1.6, 2.5, np.pi - 1e-6]


def pose(turn: Array, way: Array) -> Array:
    found = np.eye(4)
    found[:3, :3], found[:3, 3] = Rotation.from_rotvec(turn).as_matrix(), way
    return found


def cross(w: Array) -> Array:
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


def random_pose(rng: np.random.Generator) -> Array:
    return pose(rng.normal(size=3), rng.normal(size=3))


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_rotation_has_its_vector_and_the_inverse_of_its_way(axis: Array, angle: float, sign: float) -> None:
    w = sign * angle * np.asarray(axis) / np.linalg.norm(axis)
    R = Rotation.from_rotvec(w).as_matrix()
    found, k = poses.rotation_vector(Mat3.of(R.tolist()))
    np.testing.assert_allclose(found, w, rtol=1e-9, atol=1e-15)
    # V = ∫ exp(s [w]) ds of a screw, of which this is the inverse
    points, weights = np.polynomial.legendre.leggauss(12)
    V = np.tensordot(0.5 * weights, Rotation.from_rotvec(np.outer(0.5 * (1.0 + points), w)).as_matrix(), 1)
    np.testing.assert_allclose((np.eye(3) - 0.5 * cross(w) + k * cross(w) @ cross(w)) @ V, np.eye(3), atol=1e-12)
    turned, (b, c) = poses.rotated(Vec3(*w.tolist()))
    np.testing.assert_allclose(turned, R, atol=1e-15)
    np.testing.assert_allclose(np.eye(3) + b * cross(w) + c * cross(w) @ cross(w), V, atol=1e-12)


def test_twists_between_poses_are_the_logarithm_and_lead_there() -> None:
    rng = np.random.default_rng(2)
    for _ in range(5):
        one, other = random_pose(rng), random_pose(rng)
        between = logm(np.linalg.inv(one) @ other).real
        twist = poses.twist_between(one, other)
        np.testing.assert_allclose(twist, [*between[:3, 3], between[2, 1], between[0, 2], between[1, 0]], atol=1e-12)
        np.testing.assert_allclose(poses.moved(one, twist), other, atol=1e-14)
        whole = np.zeros((4, 4))
        whole[:3, :3], whole[:3, 3] = cross(twist[3:]), twist[:3]
        np.testing.assert_allclose(poses.moved(one, 0.7 * twist), one @ expm(0.7 * whole), atol=1e-13)
        np.testing.assert_allclose(poses.inverse(one), np.linalg.inv(one), atol=1e-15)


def test_pose_differences_of_many_poses_are_those_of_each() -> None:
    rng = np.random.default_rng(3)
    ones, others = (np.array([random_pose(rng) for _ in range(4)]) for _ in range(2))
    expected = [
        [R.T @ (B[:3, 3] - A[:3, 3]), Rotation.from_matrix(R.T @ B[:3, :3]).as_rotvec()]
        for A, B in zip(ones, others, strict=True)
        for R in [A[:3, :3]]
    ]
    np.testing.assert_allclose(poses.pose_differences(ones, others), expected, atol=1e-14)
    np.testing.assert_allclose(poses.pose_differences(ones[1], others[1]), expected[1], atol=1e-14)
    np.testing.assert_allclose(poses.pose_difference(ones[1], others[1]), np.ravel(expected[1]), atol=1e-14)
    first = poses.pose_differences(ones[0], others)
    assert first.shape == (4, 2, 3)
    for row, other in zip(first, others, strict=True):
        np.testing.assert_allclose(row, poses.pose_differences(ones[0], other), atol=1e-15)
    np.testing.assert_allclose(poses.pose_differences(ones, others[2])[2], expected[2], atol=1e-14)


def test_twists_and_wrenches_elsewhere_have_the_same_power() -> None:
    rng = np.random.default_rng(4)
    at, twist, wrench = random_pose(rng), rng.normal(size=6), rng.normal(size=6)
    R, p = at[:3, :3], at[:3, 3]
    linear, angular = R @ twist[:3], R @ twist[3:]
    np.testing.assert_allclose(poses.twist_matrix(at) @ twist, [*(linear + np.cross(p, angular)), *angular], atol=1e-14)
    force, moment = R @ wrench[:3], R @ wrench[3:]
    np.testing.assert_allclose(poses.wrench_matrix(at) @ wrench, [*force, *(moment + np.cross(p, force))], atol=1e-14)
    assert poses.length(wrench) == pytest.approx(np.linalg.norm(wrench))
    # a frame that moves along a twist seen from elsewhere moves as that one does
    small = 1e-6 * twist
    there = poses.moved(np.eye(4), poses.twist_matrix(at) @ small) @ at
    np.testing.assert_allclose(there, poses.moved(at, small), atol=1e-11)
