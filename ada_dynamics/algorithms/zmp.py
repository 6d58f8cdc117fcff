# SPDX-License-Identifier: Apache-2.0
"""Zero-moment point of a set of wrenches on a plane."""

from __future__ import annotations

from collections.abc import Iterable

from ada_dynamics.spatial.motion import NO_FORCE, Force
from ada_dynamics.spatial.vector import Vec3, cross


def total_wrench(wrenches: Iterable[tuple[Vec3, Force]]) -> Force:
    """Sum about the origin of wrenches that act at points."""
    total = NO_FORCE
    for point, wrench in wrenches:
        total = total + wrench.at(-point)
    return total


def zero_moment_point(wrenches: Iterable[tuple[Vec3, Force]], normal: Vec3, point: Vec3) -> Vec3:
    """Point of a plane about which the wrenches have no moment along the plane.

    With the total (n, f) about a point of the plane, p = point + (N x n)/(N . f) for the unit normal N.

    Args:
        wrenches: point of action and wrench about it, in common axes.
        normal: unit normal of the plane.
        point: any point of the plane.
    """
    n, f = total_wrench(wrenches).at(point)
    arm: Vec3 = cross(normal, n) / (normal @ f)
    return point + arm
