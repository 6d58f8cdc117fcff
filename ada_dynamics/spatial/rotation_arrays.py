# SPDX-License-Identifier: Apache-2.0
"""Many rotations at once, as arrays of numbers."""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array


def _outer_of_entries() -> tuple[Array, Array]:
    """The map from the 9 entries of R to the 16 of 4 p pᵀ, p being its quaternion: a matrix, and what is added."""
    of_entries, constant = np.zeros((3, 3, 4, 4)), np.diag(np.ones(4))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        of_entries[i, i] += np.diag([1.0, *(1.0 if axis == i else -1.0 for axis in range(3))])
        for a, b, sign in ((0, i + 1, 1.0), (i + 1, 0, 1.0)):
            of_entries[k, j, a, b] += sign
            of_entries[j, k, a, b] -= sign
        for a, b in ((j + 1, k + 1), (k + 1, j + 1)):
            of_entries[j, k, a, b] += 1.0
            of_entries[k, j, a, b] += 1.0
    return of_entries.reshape(9, 16), constant.reshape(16)


_OF_ENTRIES, _CONSTANT = _outer_of_entries()
_ONES = np.ones(4)


def quaternions(R: Array) -> Array:
    """Unit quaternions w, x, y, z of rotation matrices (n, 3, 3), each from its largest entry (Shepperd's method).

    One matrix alone has its quaternion faster by `model.writers.numbers.to_quaternion`.
    """
    outer = R.reshape(-1, 9) @ _OF_ENTRIES + _CONSTANT
    largest = outer[:, ::5].argmax(axis=1)  # of the diagonal
    rows = outer.reshape(-1, 4).take(np.arange(0, 4 * len(R), 4) + largest, axis=0)
    return np.asarray(rows / np.sqrt((rows * rows) @ _ONES)[:, None])
