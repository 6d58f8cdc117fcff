# SPDX-License-Identifier: Apache-2.0
"""A 2-D array that grows by a factor when it is full."""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array


class GrowingRows:
    """A 2-D array that grows by a factor when it is full, so that a row costs the same however many there are."""

    def __init__(self, width: int, zeros: int = 0) -> None:
        """Args: columns, and how many rows of zeros to begin with."""
        self._array = np.zeros((max(zeros, 16), width))
        self._count = zeros

    def __len__(self) -> int:
        return self._count

    def append(self, rows: Array) -> None:
        """Copy rows to the end."""
        count = self._count + len(rows)
        if count > len(self._array):
            # Rows handed out stay as they are: views of the old array.
            larger = np.empty((max(count, len(self._array) * 3 // 2), self._array.shape[1]))
            larger[: self._count] = self._array[: self._count]
            self._array = larger
        self._array[self._count : count] = rows
        self._count = count

    def cut(self, count: int) -> None:
        """Forget all rows but the first ones; what was handed out stays as it is."""
        self._array = self._array[:count].copy() if count < self._count else self._array
        self._count = min(count, self._count)

    def rows(self) -> Array:
        """All rows, without a copy."""
        return self._array[: self._count]
