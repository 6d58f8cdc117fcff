# SPDX-License-Identifier: Apache-2.0
"""Momentum of the whole mechanism about its centre of mass, in the world's axes."""

from __future__ import annotations

from collections.abc import Sequence

from ada_dynamics.algorithms.crba import composite_inertias
from ada_dynamics.algorithms.kinematics import poses, transforms, velocities
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.motion import NO_FORCE, Force
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import ZERO3, Scalar, Vec3


def momentum(tree: Tree, q: Sequence[Scalar], v: Sequence[Scalar]) -> Force:
    """Angular and linear momentum about the centre of mass (Takahashi 2012, eqs. A.23-A.25, summed up)."""
    X = transforms(tree, q)
    world = poses(tree, X)
    total = NO_FORCE
    for body, V in zip(tree.bodies, velocities(tree, X, q, v), strict=True):
        total = total + world[body.index].to_parent(body.inertia @ V)
    return total.at(_centre(tree, world))


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
    mass: Scalar = 0.0
    moment: Vec3 = ZERO3
    for body, pose in zip(tree.bodies, world, strict=True):
        m, h, _ = body.inertia
        mass = mass + m
        moment = moment + (m * pose.position + pose.rotation.to_parent(h))
    centre: Vec3 = moment / mass
    return centre
