# SPDX-License-Identifier: Apache-2.0
"""Wrench profiles on links over time, and the equivalent wrenches about body origins, in body axes."""

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

PARAMETERS = 14  # parameters of a segment of a profile: t0, ω, c0, c1


class AppliedWrench(NamedTuple):
    """Point of action of a wrench, and the axes in which it is given."""

    body: int  # or WORLD
    axes: Mat3  # orientation of the link in the body
    point: Vec3  # point of action in the body's frame [m]
    is_world: bool  # in world axes, not in those of the link


def profile_wrench(parameters: Sequence[Scalar], t: Scalar) -> tuple[Scalar, ...]:
    """w(t) = c0 + c1 sin(ω (t - t0)), [force; moment].

    Args:
        parameters: t0, ω, and six numbers each of c0 and c1.
        t: time [s].
    """
    wave = expr.sin(parameters[1] * (t - parameters[0]))
    return tuple(a + b * wave for a, b in zip(parameters[2:8], parameters[8:14], strict=True))


def on_body(applied: AppliedWrench, pose: Transform, wrench: Sequence[Scalar]) -> Force:
    """Wrench about the origin of a body in its axes, from [force; moment] about the point of action.

    Args:
        applied: point of action and axes.
        pose: pose of the body in the world.
        wrench: [force; moment] in the axes of `applied`.
    """
    rotation = pose.rotation.inverse() if applied.is_world else constant_rotation(applied.axes)
    return Transform(rotation, applied.point).to_parent(Force.force_first(wrench))


def applied_loads(
    tree: Tree, applied: Sequence[AppliedWrench], wrenches: Sequence[Sequence[Scalar]], q: Sequence[Scalar]
) -> dict[int, Force]:
    """Sums of wrenches by body, as `external` of `aba.forward_dynamics`; wrenches on the world are omitted.

    Args:
        tree: the mechanism for which the wrenches were resolved.
        applied: point of action of each wrench.
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
