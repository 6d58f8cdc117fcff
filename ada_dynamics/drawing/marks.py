# SPDX-License-Identifier: Apache-2.0
"""Simple shapes that mark quantities in a 3D view, such as forces, and their lifetime."""

from __future__ import annotations

import enum
from typing import NamedTuple

import numpy as np

from ada_dynamics.arrays import Array

Colour = tuple[float, float, float, float]
FORCE: Colour = (0.86, 0.24, 0.12, 1.0)
SUPPORT: Colour = (0.47, 0.24, 0.70, 1.0)
LINE_WIDTH = 0.008  # relative to the size of the robot
_SHAFT, _HEAD, _TIP = 0.012, 0.03, 0.04  # relative to the size of the robot: diameters of shaft and head, tip length


class MarkKind(enum.Enum):
    """Shapes of marks."""

    ARROW = enum.auto()  # from the first point to the second
    SPHERE = enum.auto()  # at the only point
    LINE = enum.auto()  # through all points


class Mark(NamedTuple):
    """A shape to draw.

    Attributes:
        space: group: joint_force, joint_moment, contact, loop, com, zmp or support.
        number: index in the group, constant for a joint, contact or loop.
        kind: shape.
        points: points in the world frame, (n, 3) [m].
        size: diameter of a sphere or a line; diameters of shaft and head and length of the tip of an arrow [m].
        colour: red, green, blue and opacity, from 0 to 1.
    """

    space: str
    number: int
    kind: MarkKind
    points: Array
    size: tuple[float, ...]
    colour: Colour


def arrow_mark(space: str, number: int, at: Array, reach: Array, size: float, colour: Colour) -> Mark:
    """Arrow with an origin and a direction in the world frame, scaled to the size of a robot [m]."""
    widths = _SHAFT * size, _HEAD * size, _TIP * size
    return Mark(space, number, MarkKind.ARROW, np.array([at, at + reach]), widths, colour)


class MarkStore:
    """Marks with an expiry time, identified by space and number."""

    def __init__(self) -> None:
        """Create an empty store."""
        self._kept: dict[tuple[str, int], tuple[float, Mark]] = {}

    def put(self, mark: Mark, until: float) -> None:
        """Add a mark until a time on the clock of `present` [s], or replace the one of its space and number."""
        self._kept[mark.space, mark.number] = until, mark

    def drop(self, space: str, number: int) -> None:
        """Remove a mark if it exists."""
        self._kept.pop((space, number), None)

    def clear(self) -> None:
        """Remove all marks."""
        self._kept.clear()

    def present(self, now: float) -> list[Mark]:
        """Marks that have not expired at a time [s]."""
        self._kept = {key: (until, mark) for key, (until, mark) in self._kept.items() if now <= until}
        return [mark for _, mark in self._kept.values()]
