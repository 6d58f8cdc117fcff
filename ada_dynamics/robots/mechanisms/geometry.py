# SPDX-License-Identifier: Apache-2.0
"""Closed forms for start poses: circles in the plane, cranks, directions of universal joints.

Points of planar mechanisms are (x, z); an angle turns about +y, and a bar at angle zero lies along +z.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError

# A height this small beside the radii is rounding of a stretched pose: the circles touch.
TOUCHING = 1e-15


def along(angle: float) -> Array:
    """Direction of a bar, as (x, z)."""
    return np.array([math.sin(angle), math.cos(angle)])


def angle_of(direction: Array) -> float:
    """Angle of a bar, from -90 to 270 deg as in Takahashi 2012, fig. 3.9."""
    return folded(float(math.atan2(direction[0], direction[1])))


def folded(angle: float) -> float:
    """The angle between -90 and 270 deg."""
    return float((angle + 0.5 * np.pi) % (2.0 * np.pi) - 0.5 * np.pi)


def meeting_point(what: str, A: ArrayLike, a: float, B: ArrayLike, b: float, side: int) -> Array:
    """The point at distance a from A and b from B, on one side of the line from A to B: right of it (+1) or left (-1).

    Right is meant as seen against +y, with x to the right and z up.
    """
    start, end = np.asarray(A, dtype=float), np.asarray(B, dtype=float)
    distance = float(np.linalg.norm(end - start))
    if not abs(a - b) * (1.0 - 1e-12) <= distance <= (a + b) * (1.0 + 1e-12) or distance == 0.0:
        raise InputError(
            f"{what} cannot be assembled: bars of {a:.6g} m and {b:.6g} m do not meet across {distance:.6g} m; "
            f"allowed {abs(a - b):.6g} to {a + b:.6g} m. Change the lengths or the pose."
        )
    e = (end - start) / distance
    reach = (a * a - b * b + distance * distance) / (2.0 * distance)
    square = a * a - reach * reach
    height = np.sqrt(square) if square > TOUCHING * (a * a + b * b) else 0.0
    return np.asarray(start + reach * e + side * height * np.array([e[1], -e[0]]))


def angle_with(what: str, a: float, b: float, c: float, branch: int) -> float:
    """The angle t with a cos t + b sin t = c: atan2(b, a) + branch acos(c/√(a² + b²))."""
    size = float(math.hypot(a, b))
    if abs(c) > size * (1.0 + 1e-12) or size == 0.0:
        raise InputError(f"{what} cannot be assembled: a bar would have to be longer or shorter. Change the pose.")
    return float(math.atan2(b, a) + branch * math.acos(np.clip(c / size, -1.0, 1.0)))


def hooke_angles(direction: Array) -> Array:
    """The angles of a universal joint about y, then x, that bring z onto a direction: (c2 s1, -s2, c2 c1)."""
    d = direction / np.linalg.norm(direction)
    return np.array([math.atan2(d[0], d[2]), -math.atan2(d[1], math.hypot(d[0], d[2]))])


def turned_x(angle: float) -> Array:
    """Rotation matrix about x."""
    s, c = math.sin(angle), math.cos(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def turned_y(angle: float) -> Array:
    """Rotation matrix about y."""
    s, c = math.sin(angle), math.cos(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def turned_z(angle: float) -> Array:
    """Rotation matrix about z."""
    s, c = math.sin(angle), math.cos(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
