# SPDX-License-Identifier: Apache-2.0
"""Rotations of a floating base as printed in eqs. 3.29, 3.30, 3.33 and 3.34 of Takahashi 2012, and as in `ada`.

The matrices of the document transform from the world frame to the base frame: the transposes of the poses.
"""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.joints import Floating, FloatingEuler, JointType
from ada_tools.scenario.registry import Quantity

ANGLES = (0.4, -0.7, 1.1)  # rotations about z, y and x [rad]
QUATERNION = np.array((0.36, -0.48, 0.48, 0.64))  # x, y, z, w; of unit length
RATE = (0.72, 0.48, 0.24)  # angular velocity in the base frame [rad/s]


def quantities() -> dict[str, Quantity]:
    """Largest differences between the printed matrices and those of the joint types."""
    euler = _to_base(FloatingEuler(), ANGLES)
    return {
        "eq_3_29_off": Quantity(_apart(eq_3_29(ANGLES), euler)),
        "eq_3_30_off": Quantity(_apart(eq_3_30(ANGLES), euler)),
        "eq_3_33_off": Quantity(_apart(eq_3_33(QUATERNION), _to_base(Floating(), QUATERNION))),
        "eq_3_34_off": Quantity(_apart(eq_3_34(QUATERNION, RATE), _quaternion_rate())),
    }


def eq_3_29(angles: tuple[float, float, float]) -> Array:
    """Product of three rotations; the last element of the second matrix is printed as c3."""
    (s1, c1), (s2, c2), (s3, c3) = ((np.sin(x), np.cos(x)) for x in angles)
    x = np.array([[1.0, 0.0, 0.0], [0.0, c3, s3], [0.0, -s3, c3]])
    y = np.array([[c2, 0.0, -s2], [0.0, 1.0, 0.0], [s2, 0.0, c3]])
    z = np.array([[c1, s1, 0.0], [-s1, c1, 0.0], [0.0, 0.0, 1.0]])
    return np.asarray(x @ y @ z)


def eq_3_30(angles: tuple[float, float, float]) -> Array:
    """The product of eq. 3.29, multiplied out."""
    (s1, c1), (s2, c2), (s3, c3) = ((np.sin(x), np.cos(x)) for x in angles)
    return np.array(
        [
            [c1 * c2, s1 * c2, -s2],
            [c1 * s2 * s3 - s1 * c3, s1 * s2 * s3 + c1 * c3, c2 * s3],
            [c1 * s2 * c3 + s1 * s3, s1 * s2 * c3 - c1 * s3, c2 * c3],
        ]
    )


def eq_3_33(quaternion: Array) -> Array:
    """Rotation matrix of a quaternion."""
    x, y, z, w = quaternion
    half = [
        [w * w + x * x - 0.5, x * y + w * z, x * z - w * y],
        [x * y - w * z, w * w + y * y - 0.5, y * z + w * x],
        [x * z + w * y, y * z - w * x, w * w + z * z - 0.5],
    ]
    return 2.0 * np.array(half)


def eq_3_34(quaternion: Array, rate: tuple[float, float, float]) -> Array:
    """Time derivative of a quaternion from the angular velocity."""
    x, y, z, w = quaternion
    return 0.5 * np.array([[w, -z, y], [z, w, -x], [-y, x, w], [-x, -y, -z]]) @ rate


def _to_base(joint: JointType, turn: tuple[float, ...] | Array) -> Array:
    rotation = joint.pose([0.0, 0.0, 0.0, *(float(x) for x in turn)]).rotation
    return np.array(rotation.matrix(), dtype=np.float64).T


def _quaternion_rate() -> Array:
    rates = Floating().position_rate([0.0, 0.0, 0.0, *QUATERNION], [0.0, 0.0, 0.0, *RATE])
    return np.array(rates[3:], dtype=np.float64)


def _apart(one: Array, other: Array) -> float:
    return float(np.max(np.abs(one - other)))
