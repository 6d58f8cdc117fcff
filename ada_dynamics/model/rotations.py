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
    if axis[k] >= 0.0:
        return shortest_turn(UNIT[k], axis), k
    # The shortest rotation from e_k to the opposite of the axis is less than a right angle; a half turn follows.
    half_turn = -np.eye(3)
    half_turn[(k + 1) % 3, (k + 1) % 3] = 1.0
    return clean_rotation(product(shortest_turn(UNIT[k], -axis), half_turn)), k


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


# --- exponential and logarithm of rotations and poses, for integration on the configuration manifold ---------------
# Squared angle below which series are used; the first neglected term is then below 1e-18.
SMALL = 1e-5


def quaternion_product(p: Array, q: Array) -> Array:
    """p ∘ q for quaternions (x, y, z, w)."""
    a, b = p[:3], q[:3]
    return np.concatenate([p[3] * b + q[3] * a + _cross(a, b), [p[3] * q[3] - a @ b]])


def conjugate(p: Array) -> Array:
    """The inverse of a unit quaternion."""
    return np.concatenate([-p[:3], p[3:]])


def normalized(p: Array) -> Array:
    """Return p scaled to unit length."""
    return np.asarray(p / np.linalg.norm(p))


def quaternion_exp(w: Array) -> Array:
    """Quaternion of the rotation vector w."""
    square = float(w @ w)
    if square < SMALL:
        cosine = 1.0 - square / 8.0 + square**2 / 384.0 - square**3 / 46080.0
        return np.concatenate([(0.5 - square / 48.0 + square**2 / 3840.0) * w, [cosine]])
    angle = np.sqrt(square)
    return np.concatenate([np.sin(0.5 * angle) / angle * w, [np.cos(0.5 * angle)]])


def quaternion_log(p: Array) -> Array:
    """The rotation vector of a unit quaternion, at most π long."""
    if p[3] < 0.0:
        p = -p
    sine = float(np.linalg.norm(p[:3]))
    if sine * sine < SMALL:
        # 2 asin(s)/s
        return np.asarray((2.0 + sine**2 / 3.0 + 0.15 * sine**4) * p[:3])
    return np.asarray(2.0 * np.arctan2(sine, p[3]) / sine * p[:3])


def rotate(p: Array, x: Array) -> Array:
    """R(p) x for a unit quaternion."""
    t = 2.0 * _cross(p[:3], x)
    return np.asarray(x + p[3] * t + _cross(p[:3], t))


def _cross(a: Array, b: Array) -> Array:
    """Cross product a x b; np.cross takes ten times as long for single vectors."""
    (x, y, z), (u, v, w) = a.tolist(), b.tolist()
    return np.array([y * w - z * v, z * u - x * w, x * v - y * u])


def pose_integrate(q: Array, step: Array) -> Array:
    """[r, p] moved by the body velocity [v, w] for unit time."""
    v, w = step[:3], step[3:]
    r, p = q[:3], normalized(q[3:])
    wv = _cross(w, v)
    b, c = _screw_coefficients(float(w @ w))
    moved = v + b * wv + c * _cross(w, wv)
    return np.concatenate([r + rotate(p, moved), normalized(quaternion_product(p, quaternion_exp(w)))])


def _screw_coefficients(square: float) -> tuple[float, float]:
    """(1 - cos θ)/θ² and (θ - sin θ)/θ³ for θ² = square."""
    if square < SMALL:
        return 0.5 - square / 24.0 + square**2 / 720.0, 1.0 / 6.0 - square / 120.0 + square**2 / 5040.0
    angle = np.sqrt(square)
    half = np.sin(0.5 * angle)
    return float(2.0 * half * half / square), float((angle - np.sin(angle)) / (square * angle))


def pose_difference(q0: Array, q1: Array) -> Array:
    """The body velocity that leads from pose q0 to q1 in unit time."""
    p0, p1 = normalized(q0[3:]), normalized(q1[3:])
    w = quaternion_log(quaternion_product(conjugate(p0), p1))
    d = rotate(conjugate(p0), q1[:3] - q0[:3])
    wd = _cross(w, d)
    square = float(w @ w)
    b, c = _screw_coefficients(square)
    # V⁻¹ = 1 - ½ [w] + k [w]², with k = (1 - (1 - c θ²) / (2 b)) / θ²
    k = 1.0 / 12.0 + square / 720.0 if square < SMALL else (1.0 - (1.0 - c * square) / (2.0 * b)) / square
    return np.concatenate([d - 0.5 * wd + k * _cross(w, wd), w])


def plane_integrate(q: Array, step: Array) -> Array:
    """[x, y, angle] moved by the body velocity [vx, vy, w] for unit time."""
    s, c = np.sin(q[2]), np.cos(q[2])
    a, b = _arc_coefficients(float(step[2]))
    dx, dy = a * step[0] - b * step[1], b * step[0] + a * step[1]
    return np.array([q[0] + c * dx - s * dy, q[1] + s * dx + c * dy, q[2] + step[2]])


def plane_difference(q0: Array, q1: Array) -> Array:
    """The body velocity that leads from q0 to q1 in unit time."""
    s, c = np.sin(q0[2]), np.cos(q0[2])
    ex, ey, w = q1 - q0
    dx, dy = c * ex + s * ey, -s * ex + c * ey
    a, b = _arc_coefficients(float(w))
    k = 1.0 / (a * a + b * b)
    return np.array([k * (a * dx + b * dy), k * (a * dy - b * dx), w])


def _arc_coefficients(w: float) -> tuple[float, float]:
    """sin(w)/w and (1 - cos(w))/w."""
    if w * w < SMALL:
        return 1.0 - w * w / 6.0 + w**4 / 120.0, 0.5 * w - w**3 / 24.0 + w**5 / 720.0
    return float(np.sin(w) / w), float(2.0 * np.sin(0.5 * w) ** 2 / w)
