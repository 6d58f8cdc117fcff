# SPDX-License-Identifier: Apache-2.0
"""Centre of mass and centroidal momentum, in the world frame."""

from __future__ import annotations

from collections.abc import Sequence

from ada_dynamics.algorithms.crba import composite_inertias
from ada_dynamics.algorithms.kinematics import at_rest, motions, poses, transforms, velocities
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.motion import NO_FORCE, Force
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import ZERO, ZERO3, Scalar, Vec3


def momentum(tree: Tree, q: Sequence[Scalar], v: Sequence[Scalar]) -> Force:
    """Angular and linear momentum about the centre of mass (Takahashi 2012, sum of eqs. A.23-A.25)."""
    return momentum_about_origin(tree, q, v).at(com(tree, q))


def momentum_about_origin(tree: Tree, q: Sequence[Scalar], v: Sequence[Scalar]) -> Force:
    """Momentum about the origin of the world; also of trees with base parameters, whose total mass may be zero."""
    X = transforms(tree, q)
    moving = zip(tree.bodies, poses(tree, X), velocities(tree, X, q, v), strict=True)
    return sum((pose.to_parent(body.inertia @ V) for body, pose, V in moving), NO_FORCE)


def momentum_columns(tree: Tree, q: Sequence[Scalar]) -> list[Force]:
    """Columns of the centroidal momentum matrix: momentum per unit velocity of each coordinate."""
    X = transforms(tree, q)
    world = poses(tree, X)
    centre = _centre(tree, world)
    columns = [NO_FORCE] * tree.nv
    for body, inertia in zip(tree.bodies, composite_inertias(tree, X), strict=True):
        for j, s in zip(range(body.v.start, body.v.stop), body.joint.subspace(body.positions(q)), strict=True):
            seen = world[body.index].to_parent(inertia @ s).at(centre)
            columns[j] = columns[j] + body.multiplier * seen
    return columns


def _centre(tree: Tree, world: Sequence[Transform]) -> Vec3:
    centre: Vec3 = _first_moment(tree, world) / moving_mass(tree)
    return centre


def moving_mass(tree: Tree) -> Scalar:
    """Total mass of the bodies [kg]."""
    return sum((body.inertia.mass for body in tree.bodies), ZERO)


def first_moment(tree: Tree, q: Sequence[Scalar]) -> Vec3:
    """Σ m c in world axes [kg m]."""
    return _first_moment(tree, poses(tree, transforms(tree, q)))


def _first_moment(tree: Tree, world: Sequence[Transform]) -> Vec3:
    inertias = zip([body.inertia for body in tree.bodies], world, strict=True)
    return sum((I.mass * X.position + X.rotation.to_parent(I.first_moment) for I, X in inertias), ZERO3)


def com(tree: Tree, q: Sequence[Scalar]) -> Vec3:
    """Position of the centre of mass of all bodies in the world [m]."""
    return _centre(tree, poses(tree, transforms(tree, q)))


def com_jacobian(tree: Tree, q: Sequence[Scalar]) -> list[Vec3]:
    """Jacobian of the centre of mass, one column per velocity."""
    k = 1.0 / moving_mass(tree)
    return [k * column.force for column in momentum_columns(tree, q)]


def com_acceleration(tree: Tree, q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar]) -> Vec3:
    """Acceleration of the centre of mass [m/s²]: Σ m a_c divided by the total mass."""
    X = transforms(tree, q)
    total: Vec3 = ZERO3
    for body, pose, moving in zip(tree.bodies, poses(tree, X), motions(tree, X, q, v, a, at_rest()), strict=True):
        total = total + pose.rotation.to_parent(body.inertia.mass * moving.a + moving.spin @ body.inertia.first_moment)
    acceleration: Vec3 = total / moving_mass(tree)
    return acceleration
