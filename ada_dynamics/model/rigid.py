# SPDX-License-Identifier: Apache-2.0
"""Poses as a rotation matrix and a position: composition, inverse, and rotations from what files give."""

from __future__ import annotations

import math

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.align import clean_rotation
from ada_dynamics.model.small import dot, length, product, turned

Pose = tuple[Array, Array]  # rotation 3x3 and position

UNIT: Array = np.eye(3)  # of frames that are not turned: products with it are left out
UNIT.setflags(write=False)
NO_MOVE: Pose = (UNIT, np.zeros(3))
NO_MOVE[1].setflags(write=False)


def compose(outer: Pose, inner: Pose) -> Pose:
    """Pose of C in A from those of B in A and of C in B."""
    (R, p), (S, s) = outer, inner
    if R is UNIT:
        return S, p + s
    return (R if S is UNIT else clean_rotation(product(R, S))), p + turned(R, s)


def inverse(pose: Pose) -> Pose:
    """Pose of A in B from that of B in A."""
    R, p = pose
    return (UNIT, -p) if R is UNIT else (R.T, -turned(R.T, p))


def about(axis: Array, angle: float) -> Array:
    """Rotation about an axis of any length (Rodrigues)."""
    if angle == 0.0:
        return UNIT
    x, y, z = axis / length(axis)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return clean_rotation(np.eye(3) + math.sin(angle) * K + (1.0 - math.cos(angle)) * product(K, K))


def shortest_turn(start: Array, end: Array) -> Array:
    """The smallest rotation that brings one direction onto another."""
    a, b = start / length(start), end / length(end)
    w, cosine = np.cross(a, b), dot(a, b)
    share = 1.0 + cosine
    if cosine < -0.9:  # there the sum has lost digits, and so has w: they are found again across the start
        w = w - dot(w, a) * a
        square = dot(w, w)
        if square < 1e-30:  # opposite: half a turn about an axis across, which is x for z as in MuJoCo
            k = int(np.argmin(np.abs(a)))
            return about(np.eye(3)[k] - a[k] * a, np.pi)
        share = square / (1.0 - cosine)
    K = np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])
    return clean_rotation(np.eye(3) + K + product(K, K) / share)


def is_unit(R: Array) -> bool:
    """True if a rotation turns nothing."""
    return R is UNIT or bool((R == UNIT).all())
