# SPDX-License-Identifier: Apache-2.0
"""Looks for links that have none: sticks from each link's frame to the joints that it carries, a ball for its mass."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.elements import Link, Shape
from ada_dynamics.model.model import Model
from ada_dynamics.model.rigid import shortest_turn

_COLOURS = (  # of links in turn; grey for the root
    (0.35, 0.37, 0.42, 1.0),
    (0.16, 0.42, 0.72, 1.0),
    (0.90, 0.52, 0.16, 1.0),
    (0.24, 0.58, 0.36, 1.0),
    (0.62, 0.30, 0.55, 1.0),
)
_SLENDERNESS = 0.03  # radius of sticks by the length of the middle one
_SMALL = 0.05  # [m], stands for that length where nothing has any
_SHORTEST = 1e-6  # [m]
_DENSITY = 3000.0  # [kg/m³]; what is denser than a solid of about this gets a ball of its mass


def with_sticks(model: Model) -> Model:
    """The model with simple shapes on all links that have no visual ones.

    Example::

        view(with_sticks(planar_chain(5)))
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
    """Points of a link at which others are joined to it; without repetitions."""
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
    """True if a stick from the origin to its tip shows already where the mass is."""
    along = float(np.clip(point @ tip / (tip @ tip), 0.0, 1.0))
    return float(np.linalg.norm(point - along * tip)) <= radius
