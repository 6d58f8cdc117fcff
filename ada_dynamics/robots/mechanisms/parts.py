# SPDX-License-Identifier: Apache-2.0
"""Building blocks of the mechanisms: links on hinges, mass properties of simple bodies, and shapes for display."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.elements import Shape
from ada_dynamics.model.model import Model
from ada_dynamics.model.rotations import length, product, turned

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


def box(sizes: ArrayLike, mass: float, com: ArrayLike = (0.0, 0.0, 0.0)) -> SolidBody:
    """Solid box with a given centre of mass."""
    square = np.asarray(sizes, dtype=float) ** 2
    return SolidBody(mass, np.asarray(com, dtype=float), np.diag(mass / 12.0 * (square.sum() - square)))


def disc(radius: float, thickness: float, mass: float) -> SolidBody:
    """Solid disc about the origin, perpendicular to z."""
    inertia = mass * np.array([radius**2 / 4.0 + thickness**2 / 12.0] * 2 + [radius**2 / 2.0])
    return SolidBody(mass, np.zeros(3), np.diag(inertia))


def uneven_bar(end: ArrayLike, mass: float) -> SolidBody:
    """Bar from the origin to another point with an asymmetric mass distribution."""
    x = np.asarray(end, dtype=float)
    size = length(x)
    x = x / size
    y = np.cross(np.eye(3)[np.argmin(np.abs(x))], x) if abs(x[0]) < 1.0 else np.array([0.0, 1.0, 0.0])
    y = y / length(y)
    R = np.stack([x, y, np.cross(x, y)], axis=1)
    spread = mass * size**2 * np.array([[0.08, 0.004, 0.003], [0.004, 0.01, -0.002], [0.003, -0.002, 0.006]])
    spread = product(product(R, spread), R.T)
    spread = 0.5 * (spread + spread.T)
    return SolidBody(mass, size * turned(R, np.array([0.45, 0.06, 0.04])), np.trace(spread) * np.eye(3) - spread)


def triangle(corners: Sequence[ArrayLike], mass: float) -> SolidBody:
    """Thin triangular plate."""
    points = np.asarray(corners, dtype=float)
    com = points.mean(axis=0)
    spread = mass / 12.0 * product((points - com).T, points - com)
    return SolidBody(mass, com, np.trace(spread) * np.eye(3) - spread)


def hinged(
    builder: Builder,
    name: str,
    parent: str,
    at: ArrayLike,
    solid: SolidBody,
    axis: ArrayLike = Y,
    visuals: Iterable[Shape] = (),
    **joint: Any,
) -> None:
    """Add a link and the revolute joint of the same name that carries it; `joint` are options of `Builder.joint`."""
    builder.link(name, *solid, visuals=visuals).joint(name, "revolute", parent, name, at, axis=axis, **joint)


def closed(builder: Builder, pose: Mapping[str, ArrayLike], gravity: Sequence[float], base: str = "fixed") -> Mechanism:
    """Build a mechanism, whose joints are at zero unless `pose` has their positions."""
    model = builder.build(base=base, gravity=gravity)
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
