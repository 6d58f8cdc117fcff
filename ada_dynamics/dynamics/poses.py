# SPDX-License-Identifier: Apache-2.0
"""Poses as 4x4 matrices: differences of two poses (Yamada's ∨), motion by a twist, transforms of twists and wrenches.

Twists are [linear, angular], wrenches [f, n], both of a body frame in its axes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ada_dynamics import expr
from ada_dynamics.arrays import Array
from ada_dynamics.jit import Kernel
from ada_dynamics.jit.compiled import Vector, compiled, compiled_kernel
from ada_dynamics.spatial.vector import Mat3, Scalar, Vec3, matrix, skew

_SWAPPED = [3, 4, 5, 0, 1, 2]  # linear and angular parts
_SMALL = 1e-8  # squared angle under which the first two terms of a series are exact to rounding


def inverse(pose: Array) -> Array:
    """Inverse of a pose."""
    back = np.eye(4)
    back[:3, :3] = pose[:3, :3].T
    back[:3, 3] = -pose[:3, :3].T @ pose[:3, 3]
    return back


def twist_between(pose: Array, other: Array) -> Array:
    """{T⁻¹ T'}^∨: the constant body velocity that moves one pose to the other in unit time, along a screw."""
    return np.asarray(_between()(pose.ravel(), other.ravel())[0])


def pose_difference(pose: Array, other: Array) -> Array:
    """Translation and rotation vector from one pose to the other, in the axes of the first, (6,)."""
    return np.asarray(_between()(pose.ravel(), other.ravel())[1])


def pose_differences(poses: Array, others: Array) -> Array:
    """Translations and rotation vectors of pairs of poses, (..., 2, 3); a single pose pairs with each other."""
    if poses.ndim == others.ndim == 2:
        return pose_difference(poses, others).reshape(2, 3)
    poses, others = (np.ascontiguousarray(x) for x in np.broadcast_arrays(poses, others))
    whole = _between_kernel().batch(poses.reshape(-1, 16), others.reshape(-1, 16))[1]
    return np.asarray(whole).reshape(-1, 2, 3)


def moved(pose: Array, twist: Array) -> Array:
    """Pose after motion with a body velocity for unit time."""
    change = np.eye(4)
    change[:3] = np.reshape(_screw()(twist), (3, 4))
    return pose @ change


def twist_matrix(pose: Array) -> Array:
    """ᴬH_B (6x6) for ᴬT_B: the twist of frame B, in A's axes at A."""
    R, p = pose[:3, :3], pose[:3, 3]
    H = np.zeros((6, 6))
    H[:3, :3] = H[3:, 3:] = R
    H[:3, 3:] = cross_matrix(p) @ R
    return H


def wrench_matrix(pose: Array) -> Array:
    """6x6 matrix that transforms a wrench from B to A, for the pose ᴬT_B; inverse transpose of `twist_matrix`."""
    return twist_matrix(pose)[_SWAPPED][:, _SWAPPED]


def cross_matrix(p: Array) -> Array:
    """Cross-product matrix [p x]."""
    x, y, z = p.tolist()
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def length(a: Array) -> float:
    """Euclidean norm of a vector."""
    return math.sqrt(float(a @ a))


# --- over generic scalars ---------------------------------------------------------------------------------------------
def rotation_vector(R: Mat3) -> tuple[Vec3, Scalar]:
    """Axis times angle of a rotation, at most π long, and k of V⁻¹ = 1 - ½ [w] + k [w]².

    By the unit quaternion of its largest entry (Shepperd), with half angle h: k = (1 - h cot h) / (2 h)².
    """
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = R
    rows = (
        (1.0 + xx + yy + zz, zy - yz, xz - zx, yx - xy),
        (zy - yz, 1.0 + xx - yy - zz, xy + yx, xz + zx),
        (xz - zx, xy + yx, 1.0 - xx + yy - zz, yz + zy),
        (yx - xy, xz + zx, yz + zy, 1.0 - xx - yy + zz),
    )
    best, largest = list(rows[0]), rows[0][0]
    for i in (1, 2, 3):
        best = [expr.select(largest, rows[i][i], new, old) for new, old in zip(rows[i], best, strict=True)]
        largest = expr.maximum(largest, rows[i][i])
    size = 1.0 / expr.sqrt(sum((value * value for value in best[1:]), best[0] * best[0]))
    size = expr.select(best[0], 0.0, -size, size)  # of p and -p the one with the smaller angle
    w, x, y, z = (size * value for value in best)
    square = x * x + y * y + z * z
    sine = expr.sqrt(square)
    safe = expr.sqrt(expr.maximum(square, _SMALL))
    half = expr.atan2(sine, w)
    factor = expr.select(square, _SMALL, 2.0 + square / 3.0, 2.0 * half / safe)
    k = expr.select(square, _SMALL, 1.0 / 12.0 + square / 180.0, (1.0 - half * w / safe) / (4.0 * half * half + 1e-300))
    return Vec3(factor * x, factor * y, factor * z), k


def rotated(vector: Vec3) -> tuple[Mat3, tuple[Scalar, Scalar]]:
    """The rotation of a rotation vector w, and b, c of V = 1 + b [w] + c [w]² (Rodrigues)."""
    square = vector @ vector
    angle = expr.sqrt(expr.maximum(square, _SMALL))
    sine, half = expr.sin(angle), expr.sin(0.5 * angle)
    a = expr.select(square, _SMALL, 1.0 - square / 6.0, sine / angle)
    b = expr.select(square, _SMALL, 0.5 - square / 24.0, 2.0 * half * half / (angle * angle))
    c = expr.select(square, _SMALL, 1.0 / 6.0 - square / 120.0, (1.0 - sine / angle) / (angle * angle))
    return _one_and(vector, a, b), (b, c)


def _one_and(w: Vec3, first: Scalar, second: Scalar) -> Mat3:
    """1 + first [w] + second [w]²."""
    once = skew(w)
    return matrix(
        lambda i, j: (1.0 if i == j else 0.0) + first * once[i][j] + second * (w[i] * w[j] - (w @ w if i == j else 0.0))
    )


@cache
def _between() -> Callable[..., Any]:
    kernel = _between_kernel()
    return kernel.python_call(kernel.single)


@cache
def _between_kernel() -> Kernel:
    """(T, T') -> {T⁻¹ T'}^∨, and its translation and rotation vector."""

    def body(pose: Vector, other: Vector) -> Any:
        R, S = (Mat3.of(T[4 * i : 4 * i + 3] for i in range(3)) for T in (pose, other))
        way = R.T @ Vec3(*(other[4 * i + 3] - pose[4 * i + 3] for i in range(3)))
        w, k = rotation_vector(R.T @ S)
        return {"screw": [*(_one_and(w, -0.5, k) @ way), *w], "straight": [*way, *w]}

    return compiled_kernel("twist_between", {"pose": 16, "other": 16}, body)


@cache
def _screw() -> Callable[..., Any]:
    """Twist -> upper three rows of the pose after unit time."""

    def body(twist: Vector) -> Any:
        w = Vec3(*twist[3:])
        R, (b, c) = rotated(w)
        way = _one_and(w, b, c) @ Vec3(*twist[:3])
        return {"rows": [value for row, x in zip(R, way, strict=True) for value in (*row, x)]}

    return compiled("screw", {"twist": 6}, body)
