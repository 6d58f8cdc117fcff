# SPDX-License-Identifier: Apache-2.0
"""Exponential and logarithm of rotations and poses on numbers, for integration on the configuration manifold."""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array

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
        return np.concatenate([(0.5 - square / 48.0 + square**2 / 3840.0) * w, [_half_cosine(square)]])
    angle = np.sqrt(square)
    return np.concatenate([np.sin(0.5 * angle) / angle * w, [np.cos(0.5 * angle)]])


def _half_cosine(square: float) -> float:
    return 1.0 - square / 8.0 + square**2 / 384.0 - square**3 / 46080.0


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
