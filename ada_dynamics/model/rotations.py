# SPDX-License-Identifier: Apache-2.0
"""Rotation matrices and poses as numpy arrays: products, axis alignment and rounding of constants.

Products of small arrays are written out: BLAS adds in another order, or fuses, on each processor, so that the constants
of a robot would differ in their last digits.
"""

from __future__ import annotations

import math

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.spatial.vector import Mat3, Vec3

# Entries of a rotation matrix this close to 0 or 1 are rounding errors of sin and cos of multiples of 90 deg.
ROUNDING = 1e-15
Pose = tuple[Array, Array]  # rotation 3x3 and position

UNIT: Array = np.eye(3)  # rotation of frames that are not rotated; products with it are skipped
UNIT.setflags(write=False)
NO_MOVE: Pose = (UNIT, np.zeros(3))
NO_MOVE[1].setflags(write=False)


def product(A: Array, B: Array) -> Array:
    """Matrix product A B of 3x3 matrices or of stacks of them."""
    first, second, third = (A[..., :, k, None] * B[..., None, k, :] for k in range(3))
    return np.asarray(first + second + third)


def turned(R: Array, p: Array) -> Array:
    """Rotated vector R p, or a stack of them."""
    return np.asarray(R[..., 0] * p[..., 0, None] + R[..., 1] * p[..., 1, None] + R[..., 2] * p[..., 2, None])


def conjugated(R: Array, I: Array) -> Array:
    """R I Rᵀ of a symmetric matrix, symmetrised."""
    out = product(product(R, I), R.T)
    return np.asarray(0.5 * (out + out.T))


def dot(a: Array, b: Array) -> float:
    """Scalar product of two 3-vectors."""
    (ax, ay, az), (bx, by, bz) = a.tolist(), b.tolist()
    return float(ax * bx + ay * by + az * bz)


def length(a: Array) -> float:
    """Length of a 3-vector."""
    return math.sqrt(dot(a, a))


def clean_rotation(R: Array) -> Array:
    """Replace entries within rounding of 0 and ±1 by these."""
    out = np.where(np.abs(R) < ROUNDING, 0.0, R)
    return np.where(np.abs(np.abs(out) - 1.0) < ROUNDING, np.sign(out), out)


def clean_relative(x: Array, axes: int | tuple[int, ...] | None = None) -> Array:
    """Replace entries that are rounding errors relative to the largest one by zero.

    Args:
        x: an array, or a stack of arrays.
        axes: axes of one array of the stack.
    """
    size = np.abs(x)
    return np.where(size <= 4.0 * ROUNDING * size.max(axis=axes, initial=0.0, keepdims=axes is not None), 0.0, x)


def align(axis: Array, onto: int | None = None) -> tuple[Array, int]:
    """Return a rotation Q and a coordinate axis k with Q e_k = axis.

    Args:
        axis: unit vector.
        onto: k; by default the coordinate axis nearest to `axis`, for which Q is the smallest rotation possible.
    """
    k = int(np.argmax(np.abs(axis))) if onto is None else onto
    e = np.eye(3)[k]
    cosine = float(axis[k])
    # The cosine is not used: it rounds to one for an axis that deviates by 4e-8 rad.
    aligned = max(abs(float(axis[(k + 1) % 3])), abs(float(axis[(k + 2) % 3]))) < ROUNDING
    if aligned and cosine > 0.0:
        return np.eye(3), k
    if aligned:
        half_turn = -np.eye(3)
        half_turn[(k + 1) % 3, (k + 1) % 3] = 1.0
        return half_turn, k
    # The shortest rotation from e to the axis, or to its opposite followed by a half turn if that is shorter.
    if cosine < 0.0:
        Q, _ = align(-axis, k)
        half_turn, _ = align(-e, k)
        return clean_rotation(product(Q, half_turn)), k
    w = np.cross(e, axis)
    K = np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])
    return clean_rotation(np.eye(3) + K + product(K, K) / (1.0 + cosine)), k


def to_mat3(R: Array) -> Mat3:
    """Convert a numpy matrix to a matrix of Python floats."""
    return Mat3.of((R + 0.0).tolist())  # + 0.0: no negative zeros


def to_vec3(x: Array) -> Vec3:
    """Convert a numpy vector to a vector of Python floats."""
    return Vec3(*(x + 0.0).tolist())


def compose(outer: Pose, inner: Pose) -> Pose:
    """Pose of C in A from the poses of B in A and of C in B."""
    (R, p), (S, s) = outer, inner
    if R is UNIT:
        return S, p + s
    return (R if S is UNIT else clean_rotation(product(R, S))), p + turned(R, s)


def inverse(pose: Pose) -> Pose:
    """Pose of A in B from the pose of B in A."""
    R, p = pose
    return (UNIT, -p) if R is UNIT else (R.T, -turned(R.T, p))


def about(axis: Array, angle: float) -> Array:
    """Rotation matrix about an axis of any length (Rodrigues' formula)."""
    if angle == 0.0:
        return UNIT
    x, y, z = axis / length(axis)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return clean_rotation(np.eye(3) + math.sin(angle) * K + (1.0 - math.cos(angle)) * product(K, K))


def shortest_turn(start: Array, end: Array) -> Array:
    """Smallest rotation from one direction to another."""
    a, b = start / length(start), end / length(end)
    w, cosine = np.cross(a, b), dot(a, b)
    share = 1.0 + cosine
    if cosine < -0.9:  # the sum and w have lost digits: recompute both from the component perpendicular to a
        w = w - dot(w, a) * a
        square = dot(w, w)
        if square < 1e-30:  # opposite directions: half a turn about a perpendicular axis, x for z as in MuJoCo
            k = int(np.argmin(np.abs(a)))
            return about(np.eye(3)[k] - a[k] * a, np.pi)
        share = square / (1.0 - cosine)
    K = np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])
    return clean_rotation(np.eye(3) + K + product(K, K) / share)


def is_unit(R: Array) -> bool:
    """Return True for the identity."""
    return R is UNIT or bool((R == UNIT).all())
