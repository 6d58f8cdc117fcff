# SPDX-License-Identifier: Apache-2.0
"""Products and lengths of small arrays, with the same bits on every processor.

BLAS adds in another order, or fuses, on each of them; a robot's constants would differ in their last digits.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from ada_dynamics.arrays import Array


def product(A: Array, B: Array) -> Array:
    """A B for 3x3 matrices, or for stacks of them."""
    first, second, third = (A[..., :, k, None] * B[..., None, k, :] for k in range(3))
    return np.asarray(first + second + third)


def turned(R: Array, p: Array) -> Array:
    """R p for a matrix and a vector, or for stacks of them."""
    return np.asarray(R[..., 0] * p[..., 0, None] + R[..., 1] * p[..., 1, None] + R[..., 2] * p[..., 2, None])


def conjugated(R: Array, I: Array) -> Array:
    """R I Rᵀ of a symmetric matrix, symmetric again."""
    out = product(product(R, I), R.T)
    return np.asarray(0.5 * (out + out.T))


def dot(a: Array, b: Array) -> float:
    """Scalar product of two vectors of three."""
    (ax, ay, az), (bx, by, bz) = a.tolist(), b.tolist()
    return float(ax * bx + ay * by + az * bz)


def length(a: Array) -> float:
    """Length of a vector of three."""
    return sqrt(dot(a, a))
