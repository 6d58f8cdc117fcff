# SPDX-License-Identifier: Apache-2.0
"""Building blocks of the mechanisms: closed forms of loop closure, mass properties of simple bodies, and shapes.

Points of planar mechanisms are (x, z); an angle turns about +y, and a bar at angle zero lies along +z.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.elements import Shape
from ada_dynamics.model.model import Model
from ada_dynamics.model.rotations import length, shortest_turn

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


class Mechanism(NamedTuple):
    """A model and a configuration that closes all its loops to rounding errors."""

    model: Model
    q: Array


class SolidBody(NamedTuple):
    """Mass properties in the order of the arguments of `Builder.link`."""

    mass: float  # [kg]
    com: Array  # [m]
    inertia: Array  # about the CoM [kg m²]


def thin_rod(length: float, mass: float, offset: float = 0.0, axis: int = 2) -> SolidBody:
    """Thin rod from the origin along a coordinate axis, with inertia diag(ml²/12, ml²/12, 0) along z.

    See Takahashi 2012, sec. 3.1. `offset` moves the CoM along the next axis [m].
    """
    com = np.zeros(3)
    com[axis], com[(axis + 1) % 3] = length / 2.0, offset
    inertia = np.full(3, mass * length**2 / 12.0)
    inertia[axis] = 0.0
    return SolidBody(mass, com, np.diag(inertia))


def cylinder(length: float, radius: float, mass: float, axis: int = 2) -> SolidBody:
    """Solid cylinder from the origin along a coordinate axis."""
    com = np.zeros(3)
    com[axis] = length / 2.0
    inertia = np.full(3, mass * (length**2 / 12.0 + radius**2 / 4.0))
    inertia[axis] = mass * radius**2 / 2.0
    return SolidBody(mass, com, np.diag(inertia))


def disc(radius: float, thickness: float, mass: float) -> SolidBody:
    """Solid disc about the origin, perpendicular to z."""
    inertia = mass * np.array([radius**2 / 4.0 + thickness**2 / 12.0] * 2 + [radius**2 / 2.0])
    return SolidBody(mass, np.zeros(3), np.diag(inertia))


def hinged(
    builder: Builder,
    name: str,
    parent: str,
    at: ArrayLike,
    solid: SolidBody,
    visuals: Iterable[Shape] = (),
    **joint: Any,
) -> None:
    """Add a link and the revolute joint about y that carries it, with options of `Builder.joint` and the same name."""
    builder.link(name, *solid, visuals=visuals).joint(name, "revolute", parent, name, at, axis=Y, **joint)


def closed(builder: Builder, pose: Mapping[str, ArrayLike]) -> Mechanism:
    """Build a mechanism, whose joints are at zero unless `pose` has their positions."""
    model = builder.build()
    q = model.neutral()
    for joint, own in pose.items():
        q[model.q_index(joint)] = own
    return Mechanism(model, q)


def positive(**lengths: float | Sequence[float]) -> None:
    """Raise InputError unless all lengths and masses are positive and finite."""
    for name, value in lengths.items():
        numbers = np.atleast_1d(np.asarray(value, dtype=float))
        if not (np.isfinite(numbers).all() and (numbers > 0.0).all()):
            message = f"{name} is {value}; it must be positive and finite."
            raise InputError(message, field=name, value=value, allowed="positive and finite")


def as_many(name: str, values: Sequence[float], count: int) -> tuple[float, ...]:
    """Return the values as floats; raise InputError unless their number is `count`."""
    if len(values) != count:
        message = f"{name} has {len(values)} values; {count} are needed."
        raise InputError(message, field=name, value=values, allowed=f"{count} values")
    return tuple(float(x) for x in values)


# --- loop closure -------------------------------------------------------------------------------------------------
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


# --- shapes -------------------------------------------------------------------------------------------------------
Colour = tuple[float, float, float, float]

FRAME: Colour = (0.42, 0.45, 0.50, 1.0)  # fixed parts
DARK: Colour = (0.25, 0.27, 0.31, 1.0)  # motors, pins and balls
DRIVEN: Colour = (0.90, 0.52, 0.16, 1.0)  # links driven by a motor
ROD: Colour = (0.80, 0.82, 0.85, 1.0)
OUTPUT: Colour = (0.16, 0.42, 0.72, 1.0)  # platforms, sliders and feet


def bar(start: ArrayLike, end: ArrayLike, radius: float, colour: Colour = ROD) -> Shape:
    """Cylinder between two points."""
    a, b = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    turn = shortest_turn(np.array([0.0, 0.0, 1.0]), b - a)
    return Shape("cylinder", (radius, length(b - a)), 0.5 * (a + b), turn, colour)


def pin(at: ArrayLike, axis: ArrayLike, radius: float, width: float, colour: Colour = DARK) -> Shape:
    """Cylinder along an axis, centred at a point."""
    point, half = np.asarray(at, dtype=float), 0.5 * width * np.asarray(axis, dtype=float)
    return bar(point - half, point + half, radius, colour)


def ball(at: ArrayLike, radius: float, colour: Colour = DARK) -> Shape:
    """Sphere."""
    return Shape("sphere", (radius,), np.asarray(at, dtype=float), rgba=colour)
