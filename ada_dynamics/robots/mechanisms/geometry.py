# SPDX-License-Identifier: Apache-2.0
"""Closed-form loop closure: intersections of circles in the plane, cranks, angles of universal joints.

Points of planar mechanisms are (x, z); an angle turns about +y, and a bar at angle zero lies along +z.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError

# Squared heights below this share of the squared radii are rounding errors: the circles touch.
TOUCHING = 1e-15


def along(angle: float) -> Array:
    """Direction of a bar, as (x, z)."""
    return np.array([math.sin(angle), math.cos(angle)])


def angle_of(direction: Array) -> float:
    """Angle of a bar in [-90, 270) deg, as in Takahashi 2012, fig. 3.9."""
    return folded(float(math.atan2(direction[0], direction[1])))


def folded(angle: float) -> float:
    """Wrap an angle to [-90, 270) deg."""
    return float((angle + 0.5 * np.pi) % (2.0 * np.pi) - 0.5 * np.pi)


def meeting_point(what: str, A: ArrayLike, a: float, B: ArrayLike, b: float, side: int) -> Array:
    """Compute the point at distance a from A and b from B.

    Args:
        what: name of the mechanism, for messages.
        A: (x, z) of the first centre [m].
        a: distance from A [m].
        B: (x, z) of the second centre [m].
        b: distance from B [m].
        side: +1 for the point right of the line from A to B, -1 for the one left of it, with x to the right and z up.

    Raises:
        InputError: the circles do not intersect.
    """
    start, end = np.asarray(A, dtype=float), np.asarray(B, dtype=float)
    distance = float(np.linalg.norm(end - start))
    if not abs(a - b) * (1.0 - 1e-12) <= distance <= (a + b) * (1.0 + 1e-12) or distance == 0.0:
        raise InputError(
            f"{what} cannot be closed: bars of {a:.6g} m and {b:.6g} m do not meet across {distance:.6g} m; "
            f"allowed {abs(a - b):.6g} to {a + b:.6g} m. Change the lengths or the configuration."
        )
    e = (end - start) / distance
    reach = (a * a - b * b + distance * distance) / (2.0 * distance)
    square = a * a - reach * reach
    height = np.sqrt(square) if square > TOUCHING * (a * a + b * b) else 0.0
    return np.asarray(start + reach * e + side * height * np.array([e[1], -e[0]]))


def angle_with(what: str, a: float, b: float, c: float, branch: int) -> float:
    """Solve a cos t + b sin t = c: t = atan2(b, a) + branch acos(c/√(a² + b²)).

    Raises:
        InputError: the equation has no solution: a bar is too short or too long.
    """
    size = float(math.hypot(a, b))
    if abs(c) > size * (1.0 + 1e-12) or size == 0.0:
        raise InputError(f"{what} cannot be closed: a bar is too short or too long. Change the configuration.")
    return float(math.atan2(b, a) + branch * math.acos(np.clip(c / size, -1.0, 1.0)))


def hooke_angles(direction: Array) -> Array:
    """Angles of a universal joint about y, then x, that rotate z to a direction (c2 s1, -s2, c2 c1)."""
    d = direction / np.linalg.norm(direction)
    return np.array([math.atan2(d[0], d[2]), -math.atan2(d[1], math.hypot(d[0], d[2]))])


def _turned(k: int, angle: float) -> Array:
    """Rotation matrix about coordinate axis k."""
    i, j = (k + 1) % 3, (k + 2) % 3
    R = np.eye(3)
    R[i, i] = R[j, j] = math.cos(angle)
    R[j, i] = math.sin(angle)
    R[i, j] = -R[j, i]
    return R


turned_x, turned_y, turned_z = (partial(_turned, k) for k in range(3))  # rotation matrices about x, y and z
