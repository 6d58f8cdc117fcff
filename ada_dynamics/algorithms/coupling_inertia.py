# SPDX-License-Identifier: Apache-2.0
"""Coupling inertia between a support link and the joints (Takahashi 2012, eqs. 6.1-6.4), over generic scalars.

The support link f is any link of a robot with a floating base, or a link at rest of a robot with a fixed base. All
quantities refer to its origin and axes. With velocity V_f and acceleration A_f of f, its row of the equations of motion
(eq. 6.2) without weight is

    M_f A_f + M_fl θ̈ + b = F,

where F is the external wrench on f. With f at rest, b is Ṁ_fl θ̇ (eq. 6.3), and M_fl θ̇ is the momentum of the robot.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import NamedTuple

from ada_dynamics.algorithms.crba import composite_inertias
from ada_dynamics.algorithms.kinematics import at_rest, inward_sums, motions, transforms
from ada_dynamics.algorithms.rnea import inverse_dynamics, needed_force
from ada_dynamics.model.joints import Floating
from ada_dynamics.model.tree import WORLD, Tree
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.motion import NO_FORCE, NO_MOTION, Force, Motion
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import Scalar


class Coupling(NamedTuple):
    """Coupling of a support link with the joints, about its origin in its axes.

    Attributes:
        inertia: M_f, of the whole robot.
        columns: M_fl, one column per joint velocity, without those of the base.
        bias: b: wrench for zero accelerations of f and of the joints; Ṁ_fl θ̇ if f is at rest.
        motions: Jacobian of f relative to the base, one column per joint velocity.
        acceleration: acceleration of f for zero accelerations of base and joints.
        place: pose of f in the base.
    """

    inertia: RigidInertia
    columns: tuple[Force, ...]
    bias: Force
    motions: tuple[Motion, ...]
    acceleration: Motion
    place: Transform


def floating_base(tree: Tree) -> bool:
    """Return True if the first body is a floating base."""
    return bool(tree.bodies) and tree.bodies[0].joint.kind == Floating.kind


def coupling(tree: Tree, q: Sequence[Scalar], v: Sequence[Scalar], support: str) -> Coupling:
    """M_f, M_fl and b of eq. 6.2 for the support link f; the base of the robot floats, or f is at rest."""
    X = transforms(tree, q)
    base = 0 if floating_base(tree) else WORLD
    places = _places(tree, X, base)
    frame = tree.frames[support]
    to_f = (places[frame.body] @ frame.pose).flat()
    back = to_f.inverse()
    composite = composite_inertias(tree, X)
    roots = [body.index for body in tree.bodies if body.parent == WORLD]
    whole = back.to_parent(reduce(add, (places[i].to_parent(composite[i]) for i in roots)))
    carried = set(tree.ancestry(frame.body)) if frame.body != WORLD else set()
    first = 6 if base != WORLD else 0
    columns, moves = [NO_FORCE] * (tree.nv - first), [NO_MOTION] * (tree.nv - first)
    for body in tree.bodies[base + 1 :]:
        for j, s in enumerate(body.joint.subspace(body.positions(q)), start=body.v.start - first):
            seen = to_f.to_child(places[body.index].to_parent(composite[body.index] @ s))
            if body.index in carried:
                move = to_f.to_child(places[body.index].to_parent(s))
                # f does not move: the whole robot moves by the opposite of the motion of f
                seen = seen - whole @ move
                moves[j] = moves[j] + body.multiplier * move
            columns[j] = columns[j] + body.multiplier * seen
    moving = motions(tree, X, q, v, None, at_rest())
    own = [needed_force(body.inertia, m) for body, m in zip(tree.bodies, moving, strict=True)]
    through = inward_sums(tree, X, own)
    needed = to_f.to_child(reduce(add, (places[i].to_parent(through[i]) for i in roots)))
    drift = NO_MOTION
    if frame.body != WORLD:
        m, R = moving[frame.body], frame.pose.rotation
        point = m.a + m.spin @ frame.pose.position
        drift = Motion(R.to_child(m.wd), R.to_child(point))
        needed = needed - whole @ drift
    return Coupling(whole, tuple(columns), needed, tuple(moves), drift, to_f)


def wrench_on_support(found: Coupling, joints: Sequence[Scalar], support: Motion = NO_MOTION) -> Force:
    """F of eq. 6.2 without weight, for given accelerations of joints and f."""
    wrench = found.bias + found.inertia @ support
    for column, a in zip(found.columns, joints, strict=True):
        wrench = wrench + a * column
    return wrench


def efforts_of_joints(
    tree: Tree,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    found: Coupling,
    joints: Sequence[Scalar],
    support: Motion = NO_MOTION,
) -> list[Scalar]:
    """Joint efforts for given accelerations of joints and f, including weight and friction; the world supports f.

    If f is free and its acceleration results from those of the joints, the world supports only its weight.
    """
    if not floating_base(tree):
        return inverse_dynamics(tree, q, v, joints)
    wanted = support - found.acceleration
    for move, a in zip(found.motions, joints, strict=True):
        wanted = wanted - a * move
    base = found.place.to_parent(wanted)
    needed = inverse_dynamics(tree, q, v, [*base.linear, *base.angular, *joints])
    on_base = Force.force_first(needed)
    on_f = found.place.to_child(on_base)
    return [tau - move @ on_f for tau, move in zip(needed[6:], found.motions, strict=True)]


def _places(tree: Tree, X: Sequence[Transform], base: int) -> dict[int, Transform]:
    """Pose of every body in the base's frame."""
    places = {base: Transform(), WORLD: Transform()}
    for body in tree.bodies[base + 1 :]:
        x = X[body.index]
        places[body.index] = (x if body.parent in (base, WORLD) else places[body.parent] @ x).flat()
    return places
