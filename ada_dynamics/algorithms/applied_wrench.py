# SPDX-License-Identifier: Apache-2.0
"""Wrenches that act on links over time, and what they are about the origin of the body, in its axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ada_dynamics import expr
from ada_dynamics.algorithms.kinematics import poses, transforms
from ada_dynamics.model.tree import WORLD, Tree
from ada_dynamics.spatial.motion import Force
from ada_dynamics.spatial.rotation import constant_rotation
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import Mat3, Scalar, Vec3

PARAMETERS = 20  # of a piece of a profile: t0, ω, c0, c1, c2


class AppliedWrench(NamedTuple):
    """Where a wrench acts, and in which axes it is given."""

    body: int  # or WORLD, which takes any wrench
    axes: Mat3  # orientation of the link in the body
    point: Vec3  # where it acts, in the body's frame [m]
    is_world: bool  # given in the world's axes, not in the link's


def profile_wrench(parameters: Sequence[Scalar], t: Scalar) -> tuple[Scalar, ...]:
    """w(t) = c0 + c1 (t - t0) + c2 sin(ω (t - t0)), [force; moment].

    Args:
        parameters: t0, ω, and six numbers each of c0, c1 and c2.
        t: time [s].
    """
    since = t - parameters[0]
    wave = expr.sin(parameters[1] * since)
    c0, c1, c2 = parameters[2:8], parameters[8:14], parameters[14:20]
    return tuple(a + b * since + c * wave for a, b, c in zip(c0, c1, c2, strict=True))


def on_body(applied: AppliedWrench, pose: Transform, wrench: Sequence[Scalar]) -> Force:
    """[force; moment] about the point as a wrench about the body's origin, in the body's axes.

    Args:
        applied: where.
        pose: of the body in the world.
        wrench: in the axes that `applied` says.
    """
    rotation = pose.rotation.inverse() if applied.is_world else constant_rotation(applied.axes)
    return Transform(rotation, applied.point).to_parent(Force.force_first(wrench))


def applied_loads(
    tree: Tree, applied: Sequence[AppliedWrench], wrenches: Sequence[Sequence[Scalar]], q: Sequence[Scalar]
) -> dict[int, Force]:
    """Sums by body, as `external` of `aba.forward_dynamics`; what acts on the world is left out.

    Args:
        tree: the mechanism that the wrenches were resolved for.
        applied: where each of them acts.
        wrenches: six numbers each.
        q: positions.
    """
    world = poses(tree, transforms(tree, q)) if any(a.is_world and a.body != WORLD for a in applied) else None
    total: dict[int, Force] = {}
    for where, wrench in zip(applied, wrenches, strict=True):
        if where.body == WORLD:
            continue
        force = on_body(where, Transform() if world is None else world[where.body], wrench)
        total[where.body] = total[where.body] + force if where.body in total else force
    return total
