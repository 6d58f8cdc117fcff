# SPDX-License-Identifier: Apache-2.0
"""Coupling inertia between a support link and the joints (Takahashi 2012, eqs. 6.1-6.4), over generic scalars.

The support link f is any link of a robot whose base floats, or a link at rest of one whose base is fixed. Everything is
about its origin in its axes. With the velocity and the acceleration of f as V_f and A_f, its row of the equations of
motion (eq. 6.2) without weight is

    M_f A_f + M_fl θ̈ + b = F,

F the wrench on f from outside. With f at rest b is Ṁ_fl θ̇ (eq. 6.3), and M_fl θ̇ the momentum of the robot.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    """Of a support link with the joints, about its origin in its axes.

    Attributes:
        inertia: M_f, of the whole robot.
        columns: M_fl, one for each velocity of the joints, those of the base left out.
        bias: b: the wrench that keeps f from accelerating while no joint does; Ṁ_fl θ̇ where f is at rest.
        motions: Jacobian of f by the joints, seen from the base.
        acceleration: of f while neither base nor joints accelerate.
        place: pose of f in the base.
    """

    inertia: RigidInertia
    columns: tuple[Force, ...]
    bias: Force
    motions: tuple[Motion, ...]
    acceleration: Motion
    place: Transform


def floating_base(tree: Tree) -> bool:
    """True if the first body is a base that floats."""
    return bool(tree.bodies) and tree.bodies[0].joint.kind == Floating.kind


def coupling(tree: Tree, q: Sequence[Scalar], v: Sequence[Scalar], support: str) -> Coupling:
    """M_f, M_fl and b of eq. 6.2.

    Args:
        tree: the robot; its base floats, or the support link does not move.
        q: positions.
        v: velocities.
        support: name of the link f.
    """
    X = transforms(tree, q)
    base = 0 if floating_base(tree) else WORLD
    places = _places(tree, X, base)
    frame = tree.frames[support]
    to_f = (places[frame.body] @ frame.pose).flat()
    back = to_f.inverse()
    composite = composite_inertias(tree, X)
    roots = [body.index for body in tree.bodies if body.parent == WORLD]
    whole = back.to_parent(_total([places[i].to_parent(composite[i]) for i in roots]))
    carried = set(tree.ancestry(frame.body)) if frame.body != WORLD else set()
    first = 6 if base != WORLD else 0
    columns, moves = [NO_FORCE] * (tree.nv - first), [NO_MOTION] * (tree.nv - first)
    for body in tree.bodies[base + 1 :]:
        for j, s in enumerate(body.joint.subspace(body.positions(q)), start=body.v.start - first):
            seen = to_f.to_child(places[body.index].to_parent(composite[body.index] @ s))
            if body.index in carried:
                move = to_f.to_child(places[body.index].to_parent(s))
                # f stays where it is: what the joint moves f by, the whole robot moves back
                seen = seen - whole @ move
                moves[j] = moves[j] + body.multiplier * move
            columns[j] = columns[j] + body.multiplier * seen
    moving = motions(tree, X, q, v, None, at_rest())
    own = [needed_force(body.inertia, m) for body, m in zip(tree.bodies, moving, strict=True)]
    through = inward_sums(tree, X, own)
    needed = NO_FORCE
    for i in roots:
        needed = needed + to_f.to_child(places[i].to_parent(through[i]))
    drift = NO_MOTION
    if frame.body != WORLD:
        m, R = moving[frame.body], frame.pose.rotation
        point = m.a + m.spin @ frame.pose.position
        drift = Motion(R.to_child(m.wd), R.to_child(point))
        needed = needed - whole @ drift
    return Coupling(whole, tuple(columns), needed, tuple(moves), drift, to_f)


def wrench_on_support(found: Coupling, joints: Sequence[Scalar], support: Motion = NO_MOTION) -> Force:
    """F of eq. 6.2 without weight, for accelerations of the joints and of f."""
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
    """Joint efforts for accelerations of the joints and of f, weight and friction included; the world holds f.

    Where f is free and its acceleration is what the joints' one leaves it, the world holds nothing but weight.
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


def _total(inertias: Sequence[RigidInertia]) -> RigidInertia:
    total = inertias[0]
    for other in inertias[1:]:
        total = total + other
    return total
