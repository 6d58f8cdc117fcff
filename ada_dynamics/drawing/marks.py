# SPDX-License-Identifier: Apache-2.0
"""Simple shapes that stand for something beside a robot, such as a force, and how long they are to be seen."""

from __future__ import annotations

import enum
from typing import NamedTuple

import numpy as np

from ada_dynamics.arrays import Array

Colour = tuple[float, float, float, float]
FORCE: Colour = (0.86, 0.24, 0.12, 1.0)
SUPPORT: Colour = (0.47, 0.24, 0.70, 1.0)
LINE_WIDTH = 0.008  # of the robot's size
_SHAFT, _HEAD, _TIP = 0.012, 0.03, 0.04  # of arrows, likewise: diameters, and length of the tip


class Kind(enum.Enum):
    """Shapes of marks."""

    ARROW = enum.auto()  # from the first point to the second
    SPHERE = enum.auto()  # at the only point
    LINE = enum.auto()  # through all points


class Mark(NamedTuple):
    """One thing that is drawn.

    Attributes:
        space: what it belongs to: joint_force, joint_moment, contact, loop, com, zmp or support.
        number: which one of these it is; always the same for the same joint, contact or loop.
        kind: its shape.
        points: in the world, (n, 3) [m].
        size: diameter of a sphere or of a line; diameters of shaft and head, and length of the tip of an arrow [m].
        colour: red, green, blue and opacity, from 0 to 1.
    """

    space: str
    number: int
    kind: Kind
    points: Array
    size: tuple[float, ...]
    colour: Colour


def arrow_mark(space: str, number: int, at: Array, reach: Array, size: float, colour: Colour) -> Mark:
    """An arrow from a point of the world, as thick as fits a robot of some size [m]."""
    widths = _SHAFT * size, _HEAD * size, _TIP * size
    return Mark(space, number, Kind.ARROW, np.array([at, at + reach]), widths, colour)


class KeptMarks:
    """Marks of somebody who tells what is new and what is gone; each fades when it is not renewed in time."""

    def __init__(self) -> None:
        """Begin with none."""
        self._kept: dict[tuple[str, int], tuple[float, Mark]] = {}

    def put(self, mark: Mark, until: float) -> None:
        """Keep a mark, in place of the one of its space and number.

        Args:
            mark: to keep.
            until: when it fades [s], on the clock of `present`.
        """
        self._kept[mark.space, mark.number] = until, mark

    def drop(self, space: str, number: int) -> None:
        """Forget a mark, if it is there."""
        self._kept.pop((space, number), None)

    def clear(self) -> None:
        """Forget all."""
        self._kept.clear()

    def present(self, now: float) -> list[Mark]:
        """Those that have not faded. Args: the time [s]."""
        self._kept = {key: (until, mark) for key, (until, mark) in self._kept.items() if now <= until}
        return [mark for _, mark in self._kept.values()]
