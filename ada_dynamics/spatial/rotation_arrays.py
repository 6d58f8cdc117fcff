# SPDX-License-Identifier: Apache-2.0
"""Many rotations at once, as arrays of numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def quaternions(R: Array) -> Array:
    """Unit quaternions w, x, y, z of rotation matrices (n, 3, 3), each from its largest entry (Shepperd's method).

    One matrix alone has its quaternion faster by `model.writers.numbers.to_quaternion`.
    """
    diagonal = np.einsum("nii->ni", R)
    trace = diagonal.sum(axis=1, keepdims=True)
    outer = np.empty((len(R), 4, 4))  # 4 p pᵀ of the quaternion p
    outer[:, 0, 0] = trace[:, 0] + 1.0
    outer[:, [1, 2, 3], [1, 2, 3]] = 2.0 * diagonal - trace + 1.0
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        outer[:, 0, i + 1] = outer[:, i + 1, 0] = R[:, k, j] - R[:, j, k]
        outer[:, j + 1, k + 1] = outer[:, k + 1, j + 1] = R[:, j, k] + R[:, k, j]
    largest = np.argmax(np.einsum("nii->ni", outer), axis=1)
    rows = outer[np.arange(len(R)), largest]
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))
