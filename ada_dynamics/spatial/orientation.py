# SPDX-License-Identifier: Apache-2.0
"""Conversion of rotation matrices to roll-pitch-yaw and to quaternions, and 4x4 poses from either."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics import expr
from ada_dynamics.arrays import Array
from ada_dynamics.spatial.rotation import from_quaternion, from_rpy
from ada_dynamics.spatial.vector import Mat3, Scalar


def pose_of(xyz: ArrayLike, rpy: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
    """Pose as a 4x4 matrix from a position and roll, pitch and yaw [rad]."""
    pose = np.eye(4)
    pose[:3, :3] = from_rpy(*np.asarray(rpy, dtype=np.float64).tolist())
    pose[:3, 3] = xyz
    return pose


def pose_by_quaternion(xyz: ArrayLike, quaternion: ArrayLike) -> Array:
    """Pose as a 4x4 matrix from a position and a quaternion x, y, z, w of any nonzero length."""
    pose = np.eye(4)
    pose[:3, :3] = from_quaternion(*np.asarray(quaternion, dtype=np.float64).tolist())
    pose[:3, 3] = xyz
    return pose


def rpy_of(R: Mat3) -> tuple[Scalar, Scalar, Scalar]:
    """Roll, pitch and yaw [rad] of R = Rz(yaw) Ry(pitch) Rx(roll), over generic scalars.

    At pitch = ±90 deg roll is poorly determined. Yaw is computed from R Rx(-roll), so their errors cancel and the
    result remains accurate.
    """
    roll = expr.atan2(R[2][1], R[2][2])
    c, s = expr.cos(roll), expr.sin(roll)
    # R Rx(-roll) = Rz(yaw) Ry(pitch): its second column is (-sin yaw, cos yaw, 0).
    yaw = expr.atan2(s * R[0][2] - c * R[0][1], c * R[1][1] - s * R[1][2])
    level = expr.cos(yaw) * R[0][0] + expr.sin(yaw) * R[1][0]
    return roll, expr.atan2(-R[2][0], level), yaw


def to_rpy(R: Array) -> tuple[float, float, float]:
    """Roll, pitch and yaw [rad] of a rotation matrix of numbers."""
    roll, pitch, yaw = rpy_of(Mat3.of(R.tolist()))
    return float(roll), float(pitch), float(yaw)


def to_quaternion(R: Array) -> tuple[float, float, float, float]:
    """Unit quaternion w, x, y, z of a rotation matrix."""
    w, x, y, z = quaternions(R[np.newaxis])[0].tolist()
    return w, x, y, z


def upper_quaternion(R: Array) -> Array:
    """Unit quaternion x, y, z, w of a rotation matrix, with w >= 0."""
    w, x, y, z = to_quaternion(R)
    p = np.array([x, y, z, w])
    return p if w >= 0.0 else -p


def _outer_of_entries() -> tuple[Array, Array]:
    """Matrix and constant of the affine map from the 9 entries of R to the 16 entries of 4 p pᵀ, p its quaternion."""
    of_entries, constant = np.zeros((3, 3, 4, 4)), np.diag(np.ones(4))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        of_entries[i, i] += np.diag([1.0, *(1.0 if axis == i else -1.0 for axis in range(3))])
        for a, b, sign in ((0, i + 1, 1.0), (i + 1, 0, 1.0)):
            of_entries[k, j, a, b] += sign
            of_entries[j, k, a, b] -= sign
        for a, b in ((j + 1, k + 1), (k + 1, j + 1)):
            of_entries[j, k, a, b] += 1.0
            of_entries[k, j, a, b] += 1.0
    return of_entries.reshape(9, 16), constant.reshape(16)


_OF_ENTRIES, _CONSTANT = _outer_of_entries()
_ONES = np.ones(4)


def quaternions(R: Array) -> Array:
    """Unit quaternions w, x, y, z of rotation matrices (n, 3, 3), each from its largest component (Shepperd)."""
    outer = R.reshape(-1, 9) @ _OF_ENTRIES + _CONSTANT
    largest = outer[:, ::5].argmax(axis=1)  # of the diagonal
    rows = outer.reshape(-1, 4).take(np.arange(0, 4 * len(R), 4) + largest, axis=0)
    return np.asarray(rows / np.sqrt((rows * rows) @ _ONES)[:, None])
