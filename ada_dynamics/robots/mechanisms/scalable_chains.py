# SPDX-License-Identifier: Apache-2.0
"""Closed chains of any length: a ring of n links in space and a ladder of n four-bar cells."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ada_dynamics.errors import InputError
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.model import STANDARD_GRAVITY
from ada_dynamics.model.rotations import length, turned
from ada_dynamics.robots.mechanisms.geometry import along, angle_of, folded, meeting_point, turned_z
from ada_dynamics.robots.mechanisms.parts import Mechanism, Y, box, closed, hinged, positive, thin_rod


def ring(
    n: int = 8,
    radius: float = 0.5,
    mass: float = 4.0,
    base: str = "fixed",
    gravity: Sequence[float] = STANDARD_GRAVITY,
) -> Mechanism:
    """Closed chain of n links and n revolute joints with skew axes; mobility n - 6 for n >= 7.

    The joints lie on a circle in the x-y plane. The first one on the x axis is the loop joint `closing` between the
    last link and the first link, which is the base. All angles are zero at the start.

    Args:
        n: number of links, at least 4; up to 6 the ring is rigid.
        radius: radius of the circle [m].
        mass: mass of the ring [kg].
        base: joint between world and first link: fixed, floating or floating_euler.
        gravity: gravity vector [m/s²].

    Raises:
        InputError: an argument is out of range.
    """
    if n < 4:
        raise InputError(f"n is {n}; a ring needs at least 4 links.", field="n", value=n, allowed=">= 4")
    positive(radius=radius, mass=mass)
    step = 2.0 * np.pi / n
    chord = turned(radius * (turned_z(step) - np.eye(3)), np.array([1.0, 0.0, 0.0]))
    size = length(chord)
    bar = box((0.3 * size, size, 0.25 * size), mass / n, 0.5 * chord + 0.05 * size)
    builder = Builder(f"ring_{n}")
    for i in range(n):
        builder.link(f"link_{i}", *bar)
        if i:
            ends, turn = (f"link_{i - 1}", f"link_{i}"), (0.0, 0.0, step)
            builder.joint(f"joint_{i}", "revolute", *ends, chord, turn, axis=_ring_axis(i))
    ends, turn = (f"link_{n - 1}", "link_0"), (0.0, 0.0, step)
    builder.loop("closing", "revolute", *ends, chord, turn, np.zeros(3), axis=_ring_axis(0))
    return closed(builder, {}, gravity, base)


def _ring_axis(i: int) -> tuple[float, float, float]:
    """Axis of joint i, different for adjacent and opposite joints."""
    azimuth, height = 2.4 * i + 0.3, 0.9 * math.sin(1.7 * i + 0.5)
    across = float(np.sqrt(1.0 - height**2))
    return (across * float(math.cos(azimuth)), across * float(math.sin(azimuth)), float(height))


def ladder(
    n: int = 10,
    height: float = 0.5,
    width: float = 0.4,
    lean: float = 0.2,
    gravity: Sequence[float] = STANDARD_GRAVITY,
) -> Mechanism:
    """Ladder of n planar four-bar cells in the x-z plane, each on the rung of the one below; mobility n.

    Cell i has two uprights and a rung, joints `left_i`, `rung_i`, `right_i` about +y, and the loop joint `cell_i`
    between the right upright and the rung. Rungs belong to two loops; right uprights are 1.1 times as long as left
    ones.

    Args:
        n: number of cells.
        height: length of a left upright [m].
        width: length of a rung, and distance of the pivots on the ground [m].
        lean: angle of the left uprights, with alternating sign [rad].
        gravity: gravity vector [m/s²].

    Raises:
        InputError: an argument is out of range, or a cell does not close.
    """
    if n < 1:
        raise InputError(f"n is {n}; a ladder needs at least one cell.", field="n", value=n, allowed=">= 1")
    positive(height=height, width=width)
    tall = 1.1 * height
    builder = Builder(f"ladder_{n}").link("base")
    pose: dict[str, float] = {}
    below = "base"
    for i in range(1, n + 1):
        hinged(builder, f"left_{i}", below, (0.0, 0.0, 0.0), thin_rod(height, 1.0))
        hinged(builder, f"rung_{i}", f"left_{i}", (0.0, 0.0, height), thin_rod(width, 0.7, axis=0))
        hinged(builder, f"right_{i}", below, (width, 0.0, 0.0), thin_rod(tall, 1.1))
        ends = ((0.0, 0.0, tall), (width, 0.0, 0.0))
        builder.loop(f"cell_{i}", "revolute", f"right_{i}", f"rung_{i}", ends[0], child_xyz=ends[1], axis=Y)
        below = f"rung_{i}"
        # In the frame of the lower rung.
        left = lean * (-1.0) ** i
        top, foot = height * along(left), np.array([width, 0.0])
        corner = meeting_point(f"cell {i} of the ladder", top, width, foot, tall, -1)
        rung = angle_of(corner - top) - 0.5 * np.pi  # a rung lies along +x at angle zero
        pose |= {f"left_{i}": left, f"rung_{i}": folded(rung - left), f"right_{i}": angle_of(corner - foot)}
    return closed(builder, pose, gravity)
