# SPDX-License-Identifier: Apache-2.0
"""Rigid frames in motion over generic scalars: carried by a body, seen from another frame; wrenches elsewhere.

Poses are 16 numbers, the rows of 4x4; twists and accelerations [linear, angular], wrenches [f, n].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ada_dynamics.spatial import vec3 as v3
from ada_dynamics.spatial.scalar import Mat3, Scalar, Vec3

Vector = Sequence[Scalar]
Six = tuple[Vec3, Vec3]


def carried_law(pose: Vector, twist: Vector, acceleration: Vector, fixed: Vector) -> dict[str, Any]:
    """A frame that is fixed to a body, from the body's motion; see `frames.carried`."""
    R, p = _parts(pose)
    S, s = _parts(fixed)
    (v, w), (a, turning) = _six(twist), _six(acceleration)
    arm = v3.mat_vec(R, s)
    across = v3.cross(w, arm)
    rate = v3.add(a, v3.add(v3.cross(turning, arm), v3.cross(w, across)))
    return {
        "found": _pose(v3.mat_mat(R, S), v3.add(p, arm)),
        "rate": [*v3.add(v, across), *w],
        "bend": [*rate, *turning],
    }


def seen_law(
    pose_1: Vector, twist_1: Vector, acceleration_1: Vector, pose_2: Vector, twist_2: Vector, acceleration_2: Vector
) -> dict[str, Any]:
    """Frame two as frame one sees it; see `frames.seen_from`."""
    R, p = _parts(pose_1)
    S, s = _parts(pose_2)
    (v_1, w), (a_1, turning) = _six(twist_1), _six(acceleration_1)
    (v_2, w_2), (a_2, turning_2) = _six(twist_2), _six(acceleration_2)
    back = v3.transpose(R)
    r, v, a, spin = v3.sub(s, p), v3.sub(v_2, v_1), v3.sub(a_2, a_1), v3.sub(w_2, w)
    rate = v3.sub(v, v3.cross(w, r))
    coriolis = v3.scale(2.0, v3.cross(w, v))
    bend = v3.add(v3.sub(v3.sub(a, v3.cross(turning, r)), coriolis), v3.cross(w, v3.cross(w, r)))
    twisting = v3.sub(v3.sub(turning_2, turning), v3.cross(w, spin))
    return {
        "found": _pose(v3.mat_mat(back, S), v3.mat_vec(back, r)),
        "rate": [*v3.mat_vec(back, rate), *v3.mat_vec(back, spin)],
        "bend": [*v3.mat_vec(back, bend), *v3.mat_vec(back, twisting)],
    }


def wrench_law(pose: Vector, wrench: Vector) -> dict[str, Any]:
    """A wrench about the origin of a frame, in its axes, about the origin that its pose is given in."""
    R, p = _parts(pose)
    f, n = _six(wrench)
    force = v3.mat_vec(R, f)
    return {"found": [*force, *v3.add(v3.mat_vec(R, n), v3.cross(p, force))]}


def opposite_law(tip: Vector, face: Vector, on_tip: Vector) -> dict[str, Any]:
    """A wrench on a tip, in its axes, as one about it in the world's, and its opposite about the face's origin."""
    R, p = _parts(tip)
    _, q = _parts(face)
    f, n = _six(on_tip)
    force, moment = v3.mat_vec(R, f), v3.mat_vec(R, n)
    about_face = v3.add(moment, v3.cross(v3.sub(p, q), force))
    return {"first": [*force, *moment], "second": [*v3.negate(force), *v3.negate(about_face)]}


def inverse_law(pose: Vector) -> dict[str, Any]:
    """The pose of A in B from that of B in A."""
    R, p = _parts(pose)
    back = v3.transpose(R)
    return {"found": _pose(back, v3.negate(v3.mat_vec(back, p)))}


def _parts(pose: Vector) -> tuple[Mat3, Vec3]:
    rows = tuple((pose[4 * i], pose[4 * i + 1], pose[4 * i + 2]) for i in range(3))
    return (rows[0], rows[1], rows[2]), (pose[3], pose[7], pose[11])


def _pose(R: Mat3, p: Vec3) -> list[Scalar]:
    return [x for i in range(3) for x in (*R[i], p[i])] + [0.0, 0.0, 0.0, 1.0]


def _six(values: Vector) -> Six:
    return (values[0], values[1], values[2]), (values[3], values[4], values[5])
