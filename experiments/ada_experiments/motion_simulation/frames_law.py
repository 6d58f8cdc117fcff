# SPDX-License-Identifier: Apache-2.0
"""Equations of moving rigid frames and wrenches over generic scalars.

Poses are 16 numbers, the rows of 4x4; twists and accelerations [linear, angular], wrenches [f, n].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ada_dynamics.spatial.vector import Mat3, Scalar, Vec3, cross

Vector = Sequence[Scalar]
Six = tuple[Vec3, Vec3]


def carried_law(pose: Vector, twist: Vector, acceleration: Vector, fixed: Vector) -> dict[str, Any]:
    """Motion of a frame fixed to a moving body; see `frames.carried`."""
    R, p = _parts(pose)
    S, s = _parts(fixed)
    (v, w), (a, turning) = _six(twist), _six(acceleration)
    arm = R @ s
    across = cross(w, arm)
    rate = a + (cross(turning, arm) + cross(w, across))
    return {"found": _pose(R @ S, p + arm), "rate": [*v + across, *w], "bend": [*rate, *turning]}


def seen_law(
    pose_1: Vector, twist_1: Vector, acceleration_1: Vector, pose_2: Vector, twist_2: Vector, acceleration_2: Vector
) -> dict[str, Any]:
    """Motion of frame two relative to frame one; see `frames.seen_from`."""
    R, p = _parts(pose_1)
    S, s = _parts(pose_2)
    (v_1, w), (a_1, turning) = _six(twist_1), _six(acceleration_1)
    (v_2, w_2), (a_2, turning_2) = _six(twist_2), _six(acceleration_2)
    back = R.T
    r, v, a, spin = s - p, v_2 - v_1, a_2 - a_1, w_2 - w
    rate = v - cross(w, r)
    coriolis = 2.0 * cross(w, v)
    bend = a - cross(turning, r) - coriolis + cross(w, cross(w, r))
    twisting = turning_2 - turning - cross(w, spin)
    return {
        "found": _pose(back @ S, back @ r),
        "rate": [*back @ rate, *back @ spin],
        "bend": [*back @ bend, *back @ twisting],
    }


def wrench_law(pose: Vector, wrench: Vector) -> dict[str, Any]:
    """Wrench about a frame origin in its axes, transformed to the reference frame of its pose."""
    R, p = _parts(pose)
    f, n = _six(wrench)
    force = R @ f
    return {"found": [*force, *R @ n + cross(p, force)]}


def opposite_law(tip: Vector, face: Vector, on_tip: Vector) -> dict[str, Any]:
    """Wrench on a tip in tip axes, as a wrench about the tip in world axes and its opposite about the face origin."""
    R, p = _parts(tip)
    _, q = _parts(face)
    f, n = _six(on_tip)
    force, moment = R @ f, R @ n
    about_face = moment + cross(p - q, force)
    return {"first": [*force, *moment], "second": [*-force, *-about_face]}


def inverse_law(pose: Vector) -> dict[str, Any]:
    """Inverse of a pose."""
    R, p = _parts(pose)
    back = R.T
    return {"found": _pose(back, -(back @ p))}


def _parts(pose: Vector) -> tuple[Mat3, Vec3]:
    return Mat3.of((pose[0:3], pose[4:7], pose[8:11])), Vec3(pose[3], pose[7], pose[11])


def _pose(R: Mat3, p: Vec3) -> list[Scalar]:
    return [x for i in range(3) for x in (*R[i], p[i])] + [0.0, 0.0, 0.0, 1.0]


def _six(values: Vector) -> Six:
    return Vec3(*values[0:3]), Vec3(*values[3:6])
