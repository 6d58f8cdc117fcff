# SPDX-License-Identifier: Apache-2.0
"""Places and rotations of messages as matrices. Any object with x, y, z (and w) will do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.robots.writers.numbers import to_quaternion
from ada_dynamics.spatial.rotation import from_quaternion, from_rpy

_UNIT = 1e-2  # that a quaternion's length may differ from 1


def matrix_of(place: Any, rotation: Any) -> Array:
    """A 4x4 pose; the unit matrix where a number is not finite or the quaternion is none.

    Args:
        place: with x, y, z.
        rotation: a quaternion with x, y, z, w, of any length.
    """
    quaternion = np.array([rotation.x, rotation.y, rotation.z, rotation.w])
    norm = float(np.linalg.norm(quaternion))
    pose = np.eye(4)
    if np.isfinite([place.x, place.y, place.z, norm]).all() and norm > 0.0:
        pose[:3, :3] = from_quaternion(*(quaternion / norm).tolist())
        pose[:3, 3] = place.x, place.y, place.z
    return pose


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
    rotation.w, rotation.x, rotation.y, rotation.z = (float(x) for x in to_quaternion(pose[:3, :3]))


def matrix_from_rpy(xyz: Sequence[float], rpy: Sequence[float]) -> Array:
    """A 4x4 pose from a place and from roll, pitch and yaw."""
    pose = np.eye(4)
    pose[:3, :3] = from_rpy(*rpy)
    pose[:3, 3] = xyz
    return pose


def differ(one: Any, other: Any) -> float:
    """How far two messages with position and orientation are apart [m, rad]: the larger of the two."""
    first, second = (matrix_of(each.position, each.orientation) for each in (one, other))
    way, turn = apart(first, second)
    return max(way, turn)


def apart(one: Array, other: Array) -> tuple[float, float]:
    """Distance [m] and angle [rad] between two 4x4 poses."""
    cosine = 0.5 * (float(np.trace(one[:3, :3].T @ other[:3, :3])) - 1.0)
    return float(np.linalg.norm(one[:3, 3] - other[:3, 3])), math.acos(min(1.0, max(-1.0, cosine)))
