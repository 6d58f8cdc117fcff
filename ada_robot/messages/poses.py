# SPDX-License-Identifier: Apache-2.0
"""Conversion between poses in messages and 4x4 matrices, for any objects with x, y, z (and w)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.spatial.orientation import pose_by_quaternion, to_quaternion

_UNIT = 1e-2  # tolerance of the norm of quaternions


def matrix_of(place: Any, rotation: Any) -> Array:
    """Return a 4x4 pose; identity if a value is not finite or the quaternion is zero.

    Args:
        place: position with x, y, z.
        rotation: quaternion with x, y, z, w, of any norm.
    """
    quaternion = np.array([rotation.x, rotation.y, rotation.z, rotation.w])
    norm = float(np.linalg.norm(quaternion))
    xyz = (place.x, place.y, place.z)
    if not np.isfinite([*xyz, norm]).all() or norm == 0.0:
        return np.eye(4)
    return pose_by_quaternion(xyz, quaternion / norm)


def read_pose(place: Any, rotation: Any) -> Array:
    """Return a checked 4x4 pose.

    Args:
        place: position with x, y, z.
        rotation: quaternion with x, y, z, w, of about unit norm.

    Raises:
        InputError: if a value is not finite, or the norm of the quaternion is not 1.
    """
    numbers = [place.x, place.y, place.z, rotation.x, rotation.y, rotation.z, rotation.w]
    norm = float(np.linalg.norm(numbers[3:]))
    if not np.isfinite(numbers).all() or abs(norm - 1.0) > _UNIT:
        raise InputError(
            f"its position is {numbers[:3]} and its quaternion {numbers[3:]}; all values must be finite, and the norm "
            "of the quaternion must be 1."
        )
    return matrix_of(place, rotation)


def write_pose(pose: Array, place: Any, rotation: Any) -> None:
    """Write a 4x4 pose to a message; arguments as in `read_pose`."""
    place.x, place.y, place.z = (float(x) for x in pose[:3, 3])
    rotation.w, rotation.x, rotation.y, rotation.z = to_quaternion(pose[:3, :3])


def differ(one: Any, other: Any) -> float:
    """Return the larger of distance [m] and angle [rad] between two pose messages."""
    first, second = (matrix_of(each.position, each.orientation) for each in (one, other))
    way, turn = apart(first, second)
    return max(way, turn)


def apart(one: Array, other: Array) -> tuple[float, float]:
    """Return distance [m] and angle [rad] between two 4x4 poses."""
    cosine = 0.5 * (float(np.trace(one[:3, :3].T @ other[:3, :3])) - 1.0)
    return float(np.linalg.norm(one[:3, 3] - other[:3, 3])), math.acos(min(1.0, max(-1.0, cosine)))
