# SPDX-License-Identifier: Apache-2.0
"""Gains interpolated by a quintic spline of a measured angle (Takahashi 2012, sec. 6.3), over generic scalars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ada_dynamics import expr
from ada_dynamics.algorithms.kinematics import link_pose
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.orientation import rpy_of
from ada_dynamics.spatial.vector import Scalar
from ada_robot.trajectory.splines import segment_coefficients

Axis = Literal["x", "y", "z"]


def share(angle: Scalar, full: Scalar) -> Scalar:
    """Return 0 at angle zero, 1 for magnitudes from `full` on, and a quintic in between."""
    way = expr.minimum(expr.absolute(angle) / full, 1.0)
    total: Scalar = 0.0
    for coefficient in reversed(segment_coefficients(1.0, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0))):  # type: ignore[arg-type]
        total = total * way + float(coefficient)
    return total


def between(near: Scalar, far: Scalar, part: Scalar) -> Scalar:
    """Interpolate a gain between its values at zero and at the full angle."""
    return near + (far - near) * part


def turned(tree: Tree, q: Sequence[Scalar], link: str, axis: Axis) -> Scalar:
    """Return the rotation of a link about a world axis: roll about x, pitch about y, yaw about z [rad]."""
    return rpy_of(link_pose(tree, q, link).rotation.matrix())["xyz".index(axis)]
