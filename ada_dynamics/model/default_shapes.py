# SPDX-License-Identifier: Apache-2.0
"""Default visual shapes: rods from the frame of a link to its child joints, and a ball for its mass."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.elements import Link, Shape
from ada_dynamics.model.model import Model
from ada_dynamics.model.rotations import shortest_turn

_COLOURS = (  # of successive links; grey for the root
    (0.35, 0.37, 0.42, 1.0),
    (0.16, 0.42, 0.72, 1.0),
    (0.90, 0.52, 0.16, 1.0),
    (0.24, 0.58, 0.36, 1.0),
    (0.62, 0.30, 0.55, 1.0),
)
_SLENDERNESS = 0.03  # radius of rods divided by their median length
_SMALL = 0.05  # [m], median length of a robot without extent
_SHORTEST = 1e-6  # [m]
_DENSITY = 3000.0  # [kg/m³]; a link denser than its rods of this density gets a ball of its mass


def with_default_shapes(model: Model) -> Model:
    """Return the model with default shapes on all links without visual shapes.

    Example::

        view(with_default_shapes(planar_chain(5)))
    """
    ends = {name: _ends(model, name) for name in model.links}
    lengths = [float(np.linalg.norm(end)) for points in ends.values() for end in points]
    radius = _SLENDERNESS * float(np.median([x for x in lengths if x > _SHORTEST] or [_SMALL]))
    parts = Parts.of(model)
    parts.links = {
        name: link if link.visuals else replace(link, visuals=_sticks(link, ends[name], radius, _colour(i)))
        for i, (name, link) in enumerate(parts.links.items())
    }
    return parts.build()


def _ends(model: Model, link: str) -> list[Array]:
    """Positions of child joints and loop joints in a link, without duplicates."""
    points = [joint.xyz for joint in model.joints.values() if joint.parent == link and joint.kind != "floating"]
    for loop in model.loops.values():
        points += [loop.parent_xyz] if loop.parent == link else []
        points += [loop.child_xyz] if loop.child == link else []
    return [p for i, p in enumerate(points) if not any(np.allclose(p, q) for q in points[:i])]


def _colour(number: int) -> tuple[float, ...]:
    return _COLOURS[0] if number == 0 else _COLOURS[1 + (number - 1) % (len(_COLOURS) - 1)]


def _sticks(link: Link, ends: list[Array], radius: float, colour: tuple[float, ...]) -> tuple[Shape, ...]:
    if not ends and not link.mass:
        return ()
    tips = [end for end in ends if float(np.linalg.norm(end)) > _SHORTEST]
    if not tips and float(np.linalg.norm(link.com)) > _SHORTEST:
        tips = [link.com]
    shapes = [Shape("sphere", (1.5 * radius,), rgba=colour)]
    for tip in tips:
        length = float(np.linalg.norm(tip))
        turn = shortest_turn(np.array([0.0, 0.0, 1.0]), tip)
        shapes.append(Shape("cylinder", (radius, length), 0.5 * tip, turn, colour))
    volume = np.pi * radius**2 * sum(float(np.linalg.norm(tip)) for tip in tips)
    is_seen = any(_is_near_stick(link.com, tip, radius) for tip in tips) and link.mass <= _DENSITY * volume
    if link.mass and not is_seen:
        ball = (0.75 * link.mass / (np.pi * _DENSITY)) ** (1 / 3)
        shapes.append(Shape("sphere", (max(2.5 * radius, ball),), link.com, rgba=colour))
    return tuple(shapes)


def _is_near_stick(point: Array, tip: Array, radius: float) -> bool:
    """Return True if a rod from the origin to the tip covers the point."""
    along = float(np.clip(point @ tip / (tip @ tip), 0.0, 1.0))
    return float(np.linalg.norm(point - along * tip)) <= radius
