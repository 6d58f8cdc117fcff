# SPDX-License-Identifier: Apache-2.0
"""A linkage as its bodies and revolute joints stand in one closed pose, and the same as a model of the library."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import ada_dynamics as ada
from ada_dynamics.model import Builder

Array = Any  # longdouble here, float64 where the library is concerned
Long = np.longdouble
GROUND = -1
GRAVITY = (0.0, 0.0, -9.81)  # [m/s²]


@dataclass(frozen=True)
class Solid:
    """A body in the reference pose, in the world's axes."""

    mass: np.longdouble  # [kg]
    com: Array  # [m]
    inertia: Array  # about the centre of mass [kg m²]


@dataclass(frozen=True)
class Pin:
    """A revolute joint in the reference pose: its child turns about the axis against its parent."""

    parent: int  # number of a body, or GROUND
    child: int
    axis: Array  # unit vector
    point: Array  # on the axis [m]


@dataclass(frozen=True)
class Linkage:
    """Bodies joined by pins; all angles are zero in the reference pose, which closes all loops.

    Attributes:
        name: of the family.
        solids: the moving bodies.
        tree: pin k carries body k.
        loops: the other pins.
        mobility: independent motions.
    """

    name: str
    solids: tuple[Solid, ...]
    tree: tuple[Pin, ...]
    loops: tuple[Pin, ...]
    mobility: int

    @property
    def pins(self) -> tuple[Pin, ...]:
        """All pins: those of the tree, then those of the loops."""
        return self.tree + self.loops


@dataclass(frozen=True)
class Modelled:
    """A model of the library and how its joints relate to the pins of the linkage."""

    model: ada.Model
    pins: Array  # pin of each of the model's velocities
    start: Array  # the model's positions in the reference pose

    def q(self, angles: Array) -> Array:
        """Positions of the model where the pins have turned by these angles."""
        return self.start + np.asarray(angles)[..., self.pins].astype(float)

    def v(self, rates: Array) -> Array:
        """Velocities (or accelerations) of the model from those of all pins."""
        return np.asarray(rates)[..., self.pins].astype(float)


def random_rotation(rng: np.random.Generator) -> Array:
    """Any rotation, orthonormal in extended precision."""
    x, y = rng.normal(size=3).astype(Long), rng.normal(size=3).astype(Long)
    x = unit(x)
    y = unit(y - x * (x @ y))
    return np.stack([x, y, np.cross(x, y)], axis=1)


def unit(a: Array) -> Array:
    """The direction of a."""
    a = np.asarray(a, dtype=Long)
    return a / np.sqrt(a @ a)


def turn(axis: Array, angle: Any) -> Array:
    """Rotation about a unit vector."""
    x, y, z = np.asarray(axis, dtype=Long)
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]], dtype=Long)
    return np.eye(3, dtype=Long) + np.sin(Long(angle)) * K + (1 - np.cos(Long(angle))) * (K @ K)


def model_of(
    linkage: Linkage,
    rng: np.random.Generator | None = None,
    cut: Sequence[int] | None = None,
    decimals: int | None = None,
) -> Modelled:
    """The linkage as a model of the library.

    Args:
        linkage: what is to be modelled.
        rng: for the links' frames, which have any orientation, and the joints' zeros; None: upright, zero.
        cut: pins that become loop joints; by default those that are so in the linkage.
        decimals: of all positions, angles and axes, as a file may have them.
    """
    count = len(linkage.solids)
    loops = list(range(count, len(linkage.pins))) if cut is None else list(cut)
    frames = {GROUND: np.eye(3, dtype=Long)}
    origins = {GROUND: np.zeros(3, dtype=Long)}
    builder = Builder(re.sub(r"\W+", "_", linkage.name)).link("base")
    left, start = [k for k in range(len(linkage.pins)) if k not in loops], {}
    while left:
        k = next(k for k in left if (linkage.pins[k].parent in frames) != (linkage.pins[k].child in frames))
        left.remove(k)
        parent, child, axis = _outwards(linkage.pins[k], frames)
        angle = Long(0) if rng is None else Long(rng.uniform(-1.0, 1.0))
        frames[child] = np.eye(3, dtype=Long) if rng is None else random_rotation(rng)
        origins[child] = linkage.pins[k].point
        placed = frames[parent].T @ turn(axis, -angle) @ frames[child]
        xyz = frames[parent].T @ (origins[child] - origins[parent])
        builder.joint(
            f"joint_{k}", "revolute", _name(parent), _name(child), _told(xyz, decimals),
            axis=_told(frames[child].T @ axis, decimals), **_orientation("", placed, decimals),
        )  # fmt: skip
        start[f"joint_{k}"] = float(angle)
    for i, solid in enumerate(linkage.solids):
        R = frames[i]
        builder.link(
            _name(i), float(solid.mass), (R.T @ (solid.com - origins[i])).astype(float), _square(R, solid.inertia)
        )
    for k in loops:
        pin = linkage.pins[k]
        F = np.eye(3, dtype=Long) if rng is None else random_rotation(rng)
        ends = {}
        for end, body in (("parent", pin.parent), ("child", pin.child)):
            ends[f"{end}_xyz"] = _told(frames[body].T @ (pin.point - origins[body]), decimals)
            ends |= _orientation(f"{end}_", frames[body].T @ F, decimals)
        builder.loop(
            f"joint_{k}", "revolute", _name(pin.parent), _name(pin.child), axis=_told(F.T @ pin.axis, decimals), **ends
        )
    model = builder.build(gravity=GRAVITY)
    pins = np.array([int(name.removeprefix("joint_")) for name in model.joint_names])
    return Modelled(model, pins, np.array([start[name] for name in model.joint_names]))


def _outwards(pin: Pin, known: dict[int, Array]) -> tuple[int, int, Array]:
    """Parent, child and axis with the parent on the ground's side; the angle keeps its sign."""
    return (pin.parent, pin.child, pin.axis) if pin.parent in known else (pin.child, pin.parent, -pin.axis)


def _name(body: int) -> str:
    return "base" if body == GROUND else f"link_{body + 1}"


def _square(R: Array, inertia: Array) -> Array:
    turned = R.T @ inertia @ R
    return (0.5 * (turned + turned.T)).astype(float)


def _told(values: Array, decimals: int | None) -> Array:
    rounded = np.asarray(values).astype(float)
    return rounded if decimals is None else np.round(rounded, decimals)


def _orientation(end: str, R: Array, decimals: int | None) -> dict[str, Array]:
    """Rotation as a matrix, or as rounded roll, pitch and yaw."""
    if decimals is None:
        return {f"{end}rotation": R.astype(float)}
    rpy = [np.arctan2(R[2, 1], R[2, 2]), np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0])), np.arctan2(R[1, 0], R[0, 0])]
    return {f"{end}rpy": _told(np.array(rpy), decimals)}
