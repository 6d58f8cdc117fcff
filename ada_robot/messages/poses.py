# SPDX-License-Identifier: Apache-2.0
"""Places and rotations of messages as matrices. Any object with x, y, z (and w) will do."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.spatial.orientation import pose_by_quaternion, to_quaternion

_UNIT = 1e-2  # that a quaternion's length may differ from 1


def matrix_of(place: Any, rotation: Any) -> Array:
    """A 4x4 pose; the unit matrix where a number is not finite or the quaternion is none.

    Args:
        place: with x, y, z.
        rotation: a quaternion with x, y, z, w, of any length.
    """
    quaternion = np.array([rotation.x, rotation.y, rotation.z, rotation.w])
    norm = float(np.linalg.norm(quaternion))
    xyz = (place.x, place.y, place.z)
    if not np.isfinite([*xyz, norm]).all() or norm == 0.0:
        return np.eye(4)
    return pose_by_quaternion(xyz, quaternion / norm)


def read_pose(place: Any, rotation: Any) -> Array:
    """A 4x4 pose.

    Args:
        place: with x, y, z.
        rotation: a quaternion with x, y, z, w, of about unit length.

    Raises:
        InputError: a number is not finite, or the quaternion is none.
    """
    numbers = [place.x, place.y, place.z, rotation.x, rotation.y, rotation.z, rotation.w]
    norm = float(np.linalg.norm(numbers[3:]))
    if not np.isfinite(numbers).all() or abs(norm - 1.0) > _UNIT:
        raise InputError(
            f"its place is {numbers[:3]} and its quaternion {numbers[3:]}; all must be finite, the latter of unit "
            "length."
        )
    return matrix_of(place, rotation)


def write_pose(pose: Array, place: Any, rotation: Any) -> None:
    """Fill a message with a 4x4 pose; arguments as in `read_pose`."""
    place.x, place.y, place.z = (float(x) for x in pose[:3, 3])
    rotation.w, rotation.x, rotation.y, rotation.z = to_quaternion(pose[:3, :3])


def differ(one: Any, other: Any) -> float:
    """How far two messages with position and orientation are apart [m, rad]: the larger of the two."""
    first, second = (matrix_of(each.position, each.orientation) for each in (one, other))
    way, turn = apart(first, second)
    return max(way, turn)


def apart(one: Array, other: Array) -> tuple[float, float]:
    """Distance [m] and angle [rad] between two 4x4 poses."""
    cosine = 0.5 * (float(np.trace(one[:3, :3].T @ other[:3, :3])) - 1.0)
    return float(np.linalg.norm(one[:3, 3] - other[:3, 3])), math.acos(min(1.0, max(-1.0, cosine)))
