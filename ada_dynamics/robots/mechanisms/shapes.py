# SPDX-License-Identifier: Apache-2.0
"""Visual shapes of the mechanisms: bars, pins, balls and layered flat bars."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.model.elements import Shape
from ada_dynamics.model.rotations import length, shortest_turn

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


def block(at: ArrayLike, sizes: Sequence[float], colour: Colour) -> Shape:
    """Box along the axes of the link."""
    return Shape("box", tuple(sizes), np.asarray(at, dtype=float), rgba=colour)


class Layers:
    """Flat bars of a planar linkage in the x-z plane; layer k is offset by k thicknesses along -y.

    Args:
        size: a typical length of the bars [m].
    """

    def __init__(self, size: float) -> None:
        self.width, self.thickness = 0.09 * size, 0.045 * size

    def bar(self, layer: int, start: ArrayLike, end: ArrayLike, colour: Colour) -> list[Shape]:
        """Bar with round ends between two points of the plane."""
        flat = self._shift(layer)
        a, b = np.asarray(start, dtype=float) + flat, np.asarray(end, dtype=float) + flat
        turn = shortest_turn(np.array([0.0, 0.0, 1.0]), b - a)
        thin = 0.8 * self.thickness
        body = Shape("box", (self.width, thin, length(b - a)), 0.5 * (a + b), turn, colour)
        return [body, *(pin(end, (0.0, 1.0, 0.0), 0.5 * self.width, thin, colour) for end in (a, b))]

    def pin(self, at: ArrayLike, first: int, last: int) -> Shape:
        """Pin through the bars from one layer to another."""
        point, spare = np.asarray(at, dtype=float), np.array([0.0, 0.6 * self.thickness, 0.0])
        return bar(point + self._shift(first) + spare, point + self._shift(last) - spare, 0.28 * self.width, DARK)

    def motor(self, at: ArrayLike) -> Shape:
        """Motor behind layer 0."""
        front = np.asarray(at, dtype=float) + self._shift(-1)
        return bar(front - 0.4 * self._shift(1), front - 3.0 * self._shift(1), 0.9 * self.width, DARK)

    def _shift(self, layer: int) -> Array:
        return np.array([0.0, -layer * self.thickness, 0.0])
