# SPDX-License-Identifier: Apache-2.0
"""Centre of mass of all moving bodies, and its Jacobian."""

from __future__ import annotations

from collections.abc import Sequence

from ada_dynamics.algorithms.centroidal import momentum_columns
from ada_dynamics.algorithms.kinematics import poses, transforms
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.vector import ZERO, ZERO3, Scalar, Vec3


def moving_mass(tree: Tree) -> Scalar:
    """Mass of the bodies that can move [kg]."""
    return sum((body.inertia.mass for body in tree.bodies), ZERO)


def first_moment(tree: Tree, q: Sequence[Scalar]) -> Vec3:
    """Σ m c in the world's axes [kg m]."""
    total: Vec3 = ZERO3
    for body, pose in zip(tree.bodies, poses(tree, transforms(tree, q)), strict=True):
        h = body.inertia.first_moment
        total = total + (body.inertia.mass * pose.position + pose.rotation.to_parent(h))
    return total


def position(tree: Tree, q: Sequence[Scalar]) -> Vec3:
    """Position of the centre of mass in the world."""
    centre: Vec3 = first_moment(tree, q) / moving_mass(tree)
    return centre


def jacobian(tree: Tree, q: Sequence[Scalar]) -> list[Vec3]:
    """Velocity of the centre of mass per unit velocity of each coordinate."""
    k = 1.0 / moving_mass(tree)
    return [k * column.force for column in momentum_columns(tree, q)]
