# SPDX-License-Identifier: Apache-2.0
"""Poses, velocities and accelerations of all bodies, outward from the base."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from ada_dynamics.model.tree import WORLD, Body, Tree
from ada_dynamics.spatial.inertia import ArticulatedInertia, RigidInertia
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import ZERO, ZERO3, ZERO33, Mat3, Scalar, Vec3, cross

Carried = TypeVar("Carried", Force, RigidInertia, ArticulatedInertia)


class Moving(NamedTuple):
    """Motion of a body in its axes: w, ẇ, the acceleration of its origin, and Ψ = [ẇ×] + [w×]².

    The acceleration of a point r is a + Ψ r; that of a first moment likewise has the form m a + Ψ h.
    """

    w: Vec3
    wd: Vec3
    a: Vec3
    spin: Mat3


def at_rest(a: Vec3 = ZERO3) -> Moving:
    """Motion of a frame that only accelerates, such as the world with a = -gravity to account for weight."""
    return Moving(ZERO3, ZERO3, a, ZERO33)


def spin_matrix(w: Vec3, wd: Vec3) -> Mat3:
    """Ψ = [ẇ×] + [w×]²."""
    x, y, z = w
    xx, yy, zz = x * x, y * y, z * z
    xy, xz, yz = x * y, x * z, y * z
    return Mat3(
        Vec3(-(yy + zz), xy - wd[2], xz + wd[1]),
        Vec3(xy + wd[2], -(xx + zz), yz - wd[0]),
        Vec3(xz - wd[1], yz + wd[0], -(xx + yy)),
    )


def moving_outward(
    body: Body, X: Transform, q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar] | None, parent: Moving
) -> Moving:
    """Motion of a body at the pose X in its parent, from the parent's and q, v and a (None: zero) of its joint."""
    rate = body.joint.bias(q, v)
    if a is not None:
        rate = rate + body.joint.relative_velocity(q, a)
    return moved(X, body.joint.relative_velocity(q, v), rate, parent)


def moved(X: Transform, relative: Motion, rate: Motion, parent: Moving) -> Moving:
    """Motion of a frame that moves in a parent, from the pose, the relative velocity S v and its rate Ṡ v + S v̇.

    w = Rᵀw_p + w_J,  ẇ = Rᵀẇ_p + Rᵀw_p x w_J + ẇ_J,  a = Rᵀ(a_p + Ψ_p r) + 2 Rᵀw_p x v_J + a_J, with w_J, v_J = S v and
    ẇ_J, a_J = Ṡ v + S v̇.
    """
    carried = X.rotation.to_child(parent.w)
    w = carried + relative.angular
    wd = X.rotation.to_child(parent.wd) + cross(carried, relative.angular) + rate.angular
    point = X.rotation.to_child(parent.a + parent.spin @ X.position)
    coriolis = cross(2.0 * carried + relative.angular, relative.linear)
    acceleration = point + coriolis + rate.linear
    return Moving(w, wd, acceleration, spin_matrix(w, wd))


def transforms(tree: Tree, q: Sequence[Scalar]) -> list[Transform]:
    """Pose of every body in its parent."""
    return [body.transform(body.positions(q)) for body in tree.bodies]


def position_rates(tree: Tree, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
    """q̇ of the whole model."""
    rates: list[Scalar] = [0.0] * tree.nq
    for body in tree.bodies:
        if body.is_independent:
            rates[body.q] = body.joint.position_rate(q[body.q], v[body.v])
    return rates


def velocity_gradient(tree: Tree, q: Sequence[Scalar], slopes: Sequence[Scalar]) -> list[Scalar]:
    """Nᵀ g of q̇ = N v: gradient by velocities from the gradient g by positions."""
    units = ([float(i == j) for i in range(tree.nv)] for j in range(tree.nv))
    columns = (position_rates(tree, q, unit) for unit in units)
    return [sum((rate * slope for rate, slope in zip(rates, slopes, strict=True)), ZERO) for rates in columns]


def poses(tree: Tree, X: Sequence[Transform]) -> list[Transform]:
    """Pose of every body in the world, with a single rotation matrix each."""
    result: list[Transform] = []
    for body, x in zip(tree.bodies, X, strict=True):
        result.append((x if body.parent == WORLD else result[body.parent] @ x).flat())
    return result


def velocities(tree: Tree, X: Sequence[Transform], q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Motion]:
    """Velocity of every body in the frame of the body (Takahashi 2012, eq. 2.5)."""
    result: list[Motion] = []
    for body, x in zip(tree.bodies, X, strict=True):
        own = body.joint.relative_velocity(body.positions(q), body.velocities(v))
        result.append(own if body.parent == WORLD else x.to_child(result[body.parent]) + own)
    return result


def motions(
    tree: Tree,
    X: Sequence[Transform],
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar] | None,
    base: Moving,
) -> list[Moving]:
    """Motion of every body by `moving_outward`; `base` is the motion of the world."""
    result: list[Moving] = []
    for body, x in zip(tree.bodies, X, strict=True):
        parent = base if body.parent == WORLD else result[body.parent]
        rates = None if a is None else body.velocities(a)
        result.append(moving_outward(body, x, body.positions(q), body.velocities(v), rates, parent))
    return result


def world_and_bodies(
    tree: Tree, X: Sequence[Transform], q: Sequence[Scalar], v: Sequence[Scalar], gravity: bool = True
) -> dict[int, Moving]:
    """Motion of the world and of every body with zero joint accelerations; weight is an upward acceleration."""
    base = at_rest(-tree.gravity if gravity else ZERO3)
    return {WORLD: base, **dict(enumerate(motions(tree, X, q, v, None, base)))}


def inward_sums(tree: Tree, X: Sequence[Transform], own: Sequence[Carried]) -> list[Carried]:
    """Sum of the wrenches or inertias of each body and of all bodies that it carries, in its frame."""
    total = list(own)
    for body in reversed(tree.bodies):
        if body.parent != WORLD:
            total[body.parent] = total[body.parent] + X[body.index].to_parent(total[body.index])
    return total


def standing_still(tree: Tree) -> dict[int, Moving]:
    """Motion of the world and of every body at rest and without weight, by body."""
    return dict.fromkeys((WORLD, *range(len(tree.bodies))), at_rest())


def link_pose(tree: Tree, q: Sequence[Scalar], link: str) -> Transform:
    """Pose of a link in the world."""
    frame = tree.frames[link]
    if frame.body == WORLD:
        return frame.pose
    X = Transform()
    for i in reversed(tree.ancestry(frame.body)):
        body = tree.bodies[i]
        X = (X @ body.transform(body.positions(q))).flat()
    return X @ frame.pose


def all_link_poses(tree: Tree, q: Sequence[Scalar]) -> dict[str, Transform]:
    """Pose of every link in the world."""
    world = poses(tree, transforms(tree, q))
    return {
        name: frame.pose if frame.body == WORLD else world[frame.body] @ frame.pose
        for name, frame in tree.frames.items()
    }


def link_velocity(tree: Tree, q: Sequence[Scalar], v: Sequence[Scalar], link: str) -> Motion:
    """Velocity of a link at its origin, in world axes."""
    frame = tree.frames[link]
    if frame.body == WORLD:
        return Motion(ZERO3, ZERO3)
    return _turned(tree, q, link, frame.pose.to_child(velocities(tree, transforms(tree, q), q, v)[frame.body]))


def link_acceleration(tree: Tree, q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar], link: str) -> Motion:
    """Angular acceleration of a link and acceleration of its origin, in world axes."""
    frame = tree.frames[link]
    if frame.body == WORLD:
        return Motion(ZERO3, ZERO3)
    body = motions(tree, transforms(tree, q), q, v, a, at_rest())[frame.body]
    point = body.a + body.spin @ frame.pose.position
    # The axes of the link may differ from those of the body, whose joint axis is a coordinate axis.
    local = frame.pose.rotation
    return _turned(tree, q, link, Motion(local.to_child(body.wd), local.to_child(point)))


def _turned(tree: Tree, q: Sequence[Scalar], link: str, own: Motion) -> Motion:
    """A motion in the axes of a link, in world axes."""
    R = link_pose(tree, q, link).rotation
    return Motion(R.to_parent(own.angular), R.to_parent(own.linear))
