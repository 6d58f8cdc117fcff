# SPDX-License-Identifier: Apache-2.0
"""Simple collision shapes on bodies: distance of a point, and outward normal.

Constants are numbers in body axes, so that they are folded. The only branches are `expr.select`.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from ada_dynamics import expr
from ada_dynamics.spatial.vector import ZERO, Mat3, Scalar, Vec3

TINY = 1e-24  # [m²], squared distance below which a direction is undetermined


class Nearest(NamedTuple):
    """Signed distance of a point from a surface (negative inside), and the outward direction."""

    distance: Scalar
    outward: Vec3  # unit vector; zero if undetermined, as in the centre of a sphere


class BodyBall(NamedTuple):
    """A sphere; with radius zero a point."""

    body: int
    centre: Vec3
    radius: Scalar

    def nearest(self, x: Vec3) -> Nearest:
        """Signed distance of a point in body axes."""
        return _from_centre(x - self.centre, self.radius)


class BodyCapsule(NamedTuple):
    """All points within a radius of a line segment."""

    body: int
    start: Vec3
    end: Vec3
    radius: Scalar

    def nearest(self, x: Vec3) -> Nearest:
        """Signed distance of a point in body axes."""
        line, arm = self.end - self.start, x - self.start
        share = arm @ line * (1.0 / (line @ line))
        kept = expr.minimum(expr.maximum(share, 0.0), 1.0)
        return _from_centre(arm - kept * line, self.radius)


class BodyHalfSpace(NamedTuple):
    """All points behind a plane."""

    body: int
    point: Vec3
    normal: Vec3  # outward, unit length

    def nearest(self, x: Vec3) -> Nearest:
        """Signed distance of a point in body axes."""
        return Nearest(self.normal @ (x - self.point), self.normal)


class BodyBox(NamedTuple):
    """A cuboid."""

    body: int
    centre: Vec3
    axes: Mat3  # its orientation in the body
    half: Vec3  # half of its edges

    def nearest(self, x: Vec3) -> Nearest:
        """Signed distance of a point in body axes; inside, that from the nearest face."""
        own = self.axes.T @ (x - self.centre)
        side = [expr.select(c, 0.0, -1.0, 1.0) for c in own]
        over = [s * c - h for s, c, h in zip(side, own, self.half, strict=True)]
        beyond = [expr.maximum(o, 0.0) for o in over]
        square = sum((b * b for b in beyond), ZERO)
        length = expr.sqrt(expr.maximum(square, TINY))
        deepest = expr.maximum(expr.maximum(over[0], over[1]), over[2])
        # the face that is the least deep: 1 for one axis, 0 for the others
        on_x = expr.select(over[0], deepest, 0.0, 1.0)
        on_y = expr.select(over[1], deepest, 0.0, 1.0 - on_x)
        faces = (on_x, on_y, 1.0 - on_x - on_y)
        scale = 1.0 / length
        way = [expr.select(TINY, square, b * scale, face) * s for b, face, s in zip(beyond, faces, side, strict=True)]
        distance = expr.select(TINY, square, length, deepest)
        return Nearest(distance, self.axes @ Vec3(*way))


BodyObstacle: TypeAlias = BodyBall | BodyCapsule | BodyHalfSpace | BodyBox


def _from_centre(arm: Vec3, radius: Scalar) -> Nearest:
    length = expr.sqrt(expr.maximum(arm @ arm, TINY))
    return Nearest(length - radius, arm / length)


def middle(x: Vec3, nearest: Nearest, radius: Scalar) -> Vec3:
    """Midpoint between the surface of a shape and that of a sphere at x, where the contact forces act."""
    back: Vec3 = (0.5 * (nearest.distance + radius)) * nearest.outward
    return x - back
