# SPDX-License-Identifier: Apache-2.0
"""The pipeline of Awa 2009 on the ground: which foot stands, how the body moves over it, what the ground must give.

The paper holds frame 0 still. Here it moves so that the standing foot does not, and the load of the body is then the
wrench of the ground.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ada_dynamics.analysis.balance import support_margins, zmp_of_wrenches
from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import Model
from ada_dynamics.spatial.orientation import upper_quaternion
from ada_experiments.awa_kinematics import Frame, MotorMotion, foot_stands, vee
from ada_experiments.awa_motors import Motor

FLAT = 2e-4  # [m]: feet whose heights differ less both stand; a lifted one is centimetres up


@dataclass(frozen=True)
class Standing:
    """How a robot walks over its feet.

    Attributes:
        body: motion of frame 0.
        touching: by foot, whether it is on the ground, (N,).
        holds: number of the foot that does not move, (N,).
    """

    body: Frame
    touching: dict[str, Array]
    holds: Array


def over_feet(motors: Sequence[Motor], motions: Sequence[MotorMotion], feet: Sequence[str]) -> Standing:
    """The body's motion over standing feet, from motions in frame 0.

    The lower foot stands; where both do, the one that stood before holds on until it lifts. The first one stands at the
    origin of the world.

    Args:
        motors: of the robot.
        motions: for a body at rest at the origin.
        feet: links whose frames are on the soles, with z upward.
    """
    seen = [motions[index_of(motors, foot)].tip for foot in feet]
    heights = np.array([foot.position[:, 2] for foot in seen])
    touches = heights < heights.min(axis=0) + FLAT
    holds = _holding(touches)
    at = np.eye(4)
    parts: list[Frame] = []
    edges = [0, *(np.flatnonzero(np.diff(holds)) + 1).tolist(), len(holds)]
    for start, end in pairwise(edges):
        foot = seen[holds[start]]
        if parts:
            at = parts[-1].T[-1] @ foot.T[start - 1]  # where the last body left this foot,
            at[2, 3] = 0.0  # which was off the ground by no more than counts as standing
        rows = slice(start, end)
        parts.append(foot_stands(Frame(foot.T[rows], foot.V[rows], foot.A[rows]), at))
    body = Frame(*(np.concatenate([getattr(part, name) for part in parts]) for name in "TVA"))
    return Standing(body, dict(zip(feet, touches, strict=True)), holds)


def _holding(touches: Array) -> Array:
    """Number of the foot that holds, time by time."""
    found = np.empty(touches.shape[1], dtype=int)
    now = int(np.argmax(touches[:, 0]))
    for k in range(touches.shape[1]):
        if not touches[now, k]:
            now = int(np.argmax(touches[:, k]))
        found[k] = now
    return found


def index_of(motors: Sequence[Motor], link: str) -> int:
    """Number of the motor that moves a link.

    Raises:
        InputError: there is none.
    """
    for i, motor in enumerate(motors):
        if motor.link == link:
            return i
    raise InputError(f"no motor moves link {link!r}; there are {', '.join(motor.link for motor in motors)}.")


def zero_moment_points(force: Array, moment: Array) -> Array:
    """Of the ground's wrench about the world's origin, on the ground z = 0, (N, 3) [m]."""
    wrench = np.concatenate([force, moment], axis=1)
    return zmp_of_wrenches({"ground": np.zeros(3)}, {"ground": wrench})


def margins(
    motors: Sequence[Motor], motions: Sequence[MotorMotion], standing: Standing, corners: dict[str, Array], zmp: Array
) -> Array:
    """How far the zero-moment point is inside the soles on the ground, (N,) [m].

    Args:
        motors: of the robot.
        motions: over the ground.
        standing: which feet touch.
        corners: by foot, of its sole, (n, 3) in the foot's frame.
        zmp: from `zero_moment_points`.
    """
    points, loaded = {}, {}
    for foot, places in corners.items():
        frame = motions[index_of(motors, foot)].tip
        for i, place in enumerate(places):
            points[f"{foot} {i}"] = frame.position + frame.rotation @ place
            loaded[f"{foot} {i}"] = standing.touching[foot]
    return support_margins(zmp, points, loaded)


def sole_corners(model: Model, foot: str) -> Array:
    """Lower corners of the box that a foot's link is drawn as, (4, 3) in its frame.

    Raises:
        InputError: the link has no box.
    """
    shapes = [shape for shape in (*model.links[foot].collisions, *model.links[foot].visuals) if shape.kind == "box"]
    if not shapes:
        raise InputError(f"link {foot!r} of {model.name!r} has no box; the corners of its sole are not known.")
    box = shapes[0]
    half = np.array(box.size) / 2.0
    signs = np.array([(x, y, -1.0) for x in (-1.0, 1.0) for y in (-1.0, 1.0)])
    return np.asarray(box.xyz + (signs * half) @ np.asarray(box.rotation).T, dtype=np.float64)


def base_states(body: Frame) -> tuple[Array, Array, Array]:
    """q (N, 7), v and a (N, 6) of a floating base, in the library's coordinates, of a motion of frame 0."""
    R = body.rotation
    back = np.swapaxes(R, 1, 2)

    def local(x: Array) -> Array:
        return np.asarray(np.einsum("nij,nj->ni", back, x), dtype=np.float64)

    w = local(vee(body.V))
    linear = local(body.velocity)
    q = np.concatenate([body.position, np.array([upper_quaternion(r) for r in R])], axis=1)
    v = np.concatenate([linear, w], axis=1)
    a = np.concatenate([local(body.acceleration) - np.cross(w, linear), local(vee(body.A))], axis=1)
    return q, v, a
