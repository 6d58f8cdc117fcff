# SPDX-License-Identifier: Apache-2.0
"""The pipeline of Awa 2009 on the ground: supporting foot, motion of the body over it, and ground reaction.

The paper fixes frame 0. Here frame 0 moves so that the supporting foot does not, and the load of the body is then the
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

FLAT = 2e-4  # [m]: feet with a smaller height difference are both on the ground; a lifted foot is centimetres higher


@dataclass(frozen=True)
class FootMotion:
    """Motion of a robot over its supporting feet.

    Attributes:
        body: motion of frame 0.
        touching: by foot, whether it is on the ground, (N,).
        holds: index of the fixed foot, (N,).
    """

    body: Frame
    touching: dict[str, Array]
    holds: Array


def over_feet(motors: Sequence[Motor], motions: Sequence[MotorMotion], feet: Sequence[str]) -> FootMotion:
    """Motion of the body over supporting feet, from motions relative to frame 0.

    The lower foot is the supporting one; with both on the ground the previous one remains fixed until it lifts. The
    first supporting foot is at the world origin.

    Args:
        motors: motors of the robot.
        motions: motions with the body at rest at the origin.
        feet: links with frames on the soles, z upward.
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
            at = parts[-1].T[-1] @ foot.T[start - 1]  # pose of this foot at the end of the last part,
            at[2, 3] = 0.0  # which was off the ground by less than FLAT
        rows = slice(start, end)
        parts.append(foot_stands(Frame(foot.T[rows], foot.V[rows], foot.A[rows]), at))
    body = Frame(*(np.concatenate([getattr(part, name) for part in parts]) for name in "TVA"))
    return FootMotion(body, dict(zip(feet, touches, strict=True)), holds)


def _holding(touches: Array) -> Array:
    """Index of the fixed foot at each time."""
    found = np.empty(touches.shape[1], dtype=int)
    now = int(np.argmax(touches[:, 0]))
    for k in range(touches.shape[1]):
        if not touches[now, k]:
            now = int(np.argmax(touches[:, k]))
        found[k] = now
    return found


def index_of(motors: Sequence[Motor], link: str) -> int:
    """Index of the motor that moves a link.

    Raises:
        InputError: no motor moves it.
    """
    for i, motor in enumerate(motors):
        if motor.link == link:
            return i
    raise InputError(f"no motor moves link {link!r}; moved links are {', '.join(motor.link for motor in motors)}.")


def zero_moment_points(force: Array, moment: Array) -> Array:
    """Zero-moment points of the ground wrench about the world origin, on z = 0, (N, 3) [m]."""
    wrench = np.concatenate([force, moment], axis=1)
    return zmp_of_wrenches({"ground": np.zeros(3)}, {"ground": wrench})


def margins(
    motors: Sequence[Motor], motions: Sequence[MotorMotion], standing: FootMotion, corners: dict[str, Array], zmp: Array
) -> Array:
    """Distance of the zero-moment point from the edge of the soles on the ground, positive inside, (N,) [m].

    Args:
        motors: motors of the robot.
        motions: motions over the ground.
        standing: feet on the ground.
        corners: corners of each sole, (n, 3) in the foot frame.
        zmp: points from `zero_moment_points`.
    """
    points, loaded = {}, {}
    for foot, places in corners.items():
        frame = motions[index_of(motors, foot)].tip
        for i, place in enumerate(places):
            points[f"{foot} {i}"] = frame.position + frame.rotation @ place
            loaded[f"{foot} {i}"] = standing.touching[foot]
    return support_margins(zmp, points, loaded)


def sole_corners(model: Model, foot: str) -> Array:
    """Lower corners of the box shape of a foot link, (4, 3) in its frame.

    Raises:
        InputError: the link has no box.
    """
    shapes = [shape for shape in (*model.links[foot].collisions, *model.links[foot].visuals) if shape.kind == "box"]
    if not shapes:
        raise InputError(f"link {foot!r} of {model.name!r} has no box shape; its sole is unknown.")
    box = shapes[0]
    half = np.array(box.size) / 2.0
    signs = np.array([(x, y, -1.0) for x in (-1.0, 1.0) for y in (-1.0, 1.0)])
    return np.asarray(box.xyz + (signs * half) @ np.asarray(box.rotation).T, dtype=np.float64)


def base_states(body: Frame) -> tuple[Array, Array, Array]:
    """q (N, 7), v and a (N, 6) of a floating base for a motion of frame 0."""
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
