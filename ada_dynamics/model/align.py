# SPDX-License-Identifier: Apache-2.0
"""Bring joint axes onto coordinate axes by a constant rotation, so that the algorithms only meet coordinate axes."""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.small import product
from ada_dynamics.spatial.vector import Mat3, Vec3

# Entries of a rotation matrix this near to 0 or 1 are rounding of sin and cos of multiples of 90 deg.
ROUNDING = 1e-15


def clean_rotation(R: Array) -> Array:
    """R with the rounding of its exact zeros and ones removed."""
    out = np.where(np.abs(R) < ROUNDING, 0.0, R)
    return np.where(np.abs(np.abs(out) - 1.0) < ROUNDING, np.sign(out), out)


def clean_relative(x: Array, axes: int | tuple[int, ...] | None = None) -> Array:
    """x without entries that are rounding beside its largest one; of a stack, along the axes of one piece."""
    size = np.abs(x)
    return np.where(size <= 4.0 * ROUNDING * size.max(axis=axes, initial=0.0, keepdims=axes is not None), 0.0, x)


def align(axis: Array, onto: int | None = None) -> tuple[Array, int]:
    """A rotation Q and a coordinate axis k with Q e_k = axis (unit length).

    Without `onto`, k is the coordinate axis nearest to the given one, so that Q is the identity, a half turn or the
    smallest turn possible.
    """
    k = int(np.argmax(np.abs(axis))) if onto is None else onto
    e = np.eye(3)[k]
    cosine = float(axis[k])
    # Not by the cosine: that of an axis which is off by 4e-8 rad still rounds to one.
    aligned = max(abs(float(axis[(k + 1) % 3])), abs(float(axis[(k + 2) % 3]))) < ROUNDING
    if aligned and cosine > 0.0:
        return np.eye(3), k
    if aligned:
        half_turn = -np.eye(3)
        half_turn[(k + 1) % 3, (k + 1) % 3] = 1.0
        return half_turn, k
    # The shortest rotation from e to the axis, or to its opposite followed by a half turn where that is shorter.
    if cosine < 0.0:
        Q, _ = align(-axis, k)
        half_turn, _ = align(-e, k)
        return clean_rotation(product(Q, half_turn)), k
    w = np.cross(e, axis)
    K = np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])
    return clean_rotation(np.eye(3) + K + product(K, K) / (1.0 + cosine)), k


def to_mat3(R: Array) -> Mat3:
    """A numpy matrix as one of Python floats."""
    return Mat3.of((R + 0.0).tolist())  # + 0.0: no negative zeros


def to_vec3(x: Array) -> Vec3:
    """A numpy vector as one of Python floats."""
    return Vec3(*(x + 0.0).tolist())
