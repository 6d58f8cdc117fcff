# SPDX-License-Identifier: Apache-2.0
"""Stick figure in the terminal: side view of the x-z plane in Braille characters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics.arrays import Array

# Bits of a Braille character for its 4 rows by 2 columns of dots.
_DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
_FIRST = 0x2800


def draw(lines: Sequence[tuple[Array, Array]], reach: float, columns: int, rows: int) -> str:
    """Draw line segments in space as text.

    Args:
        lines: pairs of end points [m].
        reach: distance from the origin to the edge of the picture [m].
        columns: width in characters.
        rows: height in characters.
    """
    width, height = 2 * max(columns, 2), 4 * max(rows, 2)
    scale = 0.5 * (min(width, height) - 1) / reach
    cells = np.zeros((height // 4, width // 2), dtype=int)
    for start, end in lines:
        count = int(np.ceil(scale * float(np.linalg.norm(end - start)))) + 1
        points = start + np.linspace(0.0, 1.0, count)[:, np.newaxis] * (end - start)
        x = np.rint(0.5 * (width - 1) + scale * points[:, 0]).astype(int)
        y = np.rint(0.5 * (height - 1) - scale * points[:, 2]).astype(int)
        seen = (x >= 0) & (x < width) & (y >= 0) & (y < height)
        for px, py in zip(x[seen], y[seen], strict=True):
            cells[py // 4, px // 2] |= _DOTS[py % 4, px % 2]
    return "\n".join("".join(chr(_FIRST + cell) for cell in row) for row in cells)
