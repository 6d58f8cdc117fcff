# SPDX-License-Identifier: Apache-2.0
"""Kinetic and potential energy."""

from __future__ import annotations

from collections.abc import Sequence

from ada_dynamics.algorithms.centre_of_mass import first_moment
from ada_dynamics.algorithms.kinematics import transforms, velocities
from ada_dynamics.algorithms.rnea import rotor_efforts
from ada_dynamics.algorithms.springs import stored_energy
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.vector import ZERO, Scalar


def kinetic_of_links(tree: Tree, q: Sequence[Scalar], v: Sequence[Scalar]) -> Scalar:
    """½ Σ V . I V [J]."""
    moved = velocities(tree, transforms(tree, q), q, v)
    return 0.5 * sum((V @ (b.inertia @ V) for b, V in zip(tree.bodies, moved, strict=True)), ZERO)


def kinetic(tree: Tree, q: Sequence[Scalar], v: Sequence[Scalar]) -> Scalar:
    """The links' kinetic energy and that of the rotors, ½ Σ armature v² [J]."""
    rotors = sum((r * x for r, x in zip(rotor_efforts(tree, v), v, strict=True)), ZERO)
    return kinetic_of_links(tree, q, v) + 0.5 * rotors


def potential(tree: Tree, q: Sequence[Scalar]) -> Scalar:
    """That of the weight and that of the joints' springs [J]."""
    return potential_of_weight(tree, q) + stored_energy(tree, q)


def potential_of_weight(tree: Tree, q: Sequence[Scalar]) -> Scalar:
    """-g . Σ m c, zero at the world's origin [J]."""
    return -(tree.gravity @ first_moment(tree, q))
