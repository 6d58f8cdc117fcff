# SPDX-License-Identifier: Apache-2.0
"""Joint-space mass matrix by the composite-rigid-body method (CRB note; Walker and Orin 1982), and forward dynamics.

If only one joint accelerates, all bodies that it carries move as one rigid body. The wrench of this motion, projected
on the joint and its ancestors, is a block column of the matrix. Two slower methods of the CRB note serve as references.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ada_dynamics.algorithms.aba import articulated_bodies
from ada_dynamics.algorithms.jacobians import columns_at
from ada_dynamics.algorithms.kinematics import inward_sums, poses, transforms
from ada_dynamics.algorithms.ldl import SymmetricMatrix, factorise
from ada_dynamics.algorithms.passive import unloaded
from ada_dynamics.algorithms.rnea import inverse_dynamics, no_velocity, rotor_efforts
from ada_dynamics.model.tree import WORLD, Body, Tree
from ada_dynamics.spatial.inertia import ArticulatedInertia, RigidInertia
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import Scalar


def composite_inertias(tree: Tree, X: Sequence[Transform]) -> list[RigidInertia]:
    """Inertia of each body and of all bodies that it carries, in the frame of the body."""
    return inward_sums(tree, X, [body.inertia for body in tree.bodies])


def mass_matrix(
    tree: Tree,
    q: Sequence[Scalar],
    added: Mapping[int, ArticulatedInertia] | None = None,
    added_armature: Sequence[Scalar] | None = None,
) -> SymmetricMatrix:
    """The mass matrix including armature; entries of joints on different branches are absent.

    With `added` and `added_armature`, M + Σ JᵀAJ + R as in `aba.forward_dynamics`.
    """
    X = transforms(tree, q)
    composite: Sequence[RigidInertia | ArticulatedInertia] = (
        inward_sums(tree, X, articulated_bodies(tree, added)) if added else composite_inertias(tree, X)
    )
    M = SymmetricMatrix(tree.nv)
    for i, rotor in enumerate(added_armature or ()):
        M.add(i, i, rotor)
    for body in tree.bodies:
        S = body.joint.subspace(body.positions(q))
        for j, s in enumerate(S):
            wrench = composite[body.index] @ s
            for k in range(j, len(S)):
                # a mimicking joint shares the coordinate, so H_ij is added for both (i, j) and (j, i)
                M.add(body.v.start + j, body.v.start + k, body.multiplier**2 * (S[k] @ wrench))
            M.add(body.v.start + j, body.v.start + j, body.multiplier**2 * body.armature)
            _project_on_ancestors(tree, X, q, M, body, body.v.start + j, wrench)
    return M


def _project_on_ancestors(
    tree: Tree, X: Sequence[Transform], q: Sequence[Scalar], M: SymmetricMatrix, body: Body, i: int, wrench: Force
) -> None:
    """Add the entries of column i, one of a body's velocities, in the rows of its ancestors."""
    multiplier = body.multiplier
    while body.parent != WORLD:
        wrench = X[body.index].to_parent(wrench)
        body = tree.bodies[body.parent]
        for j, s in zip(range(body.v.start, body.v.stop), body.joint.subspace(body.positions(q)), strict=True):
            entry = (body.multiplier * multiplier) * (s @ wrench)
            # a joint and one that mimics it share a coordinate: their coupling is in both triangles
            M.add(i, j, 2.0 * entry if i == j else entry)


def forward_dynamics(*state: Any, **options: Any) -> list[Scalar]:
    """Compute the joint accelerations M⁻¹ (τ - h) by elimination from the leaves to the root.

    Arguments are those of `equations_of_motion`.
    """
    M, rest = equations_of_motion(*state, **options)
    return factorise(M).solve(rest)


def equations_of_motion(
    tree: Tree,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    tau: Sequence[Scalar],
    external: Mapping[int, Force] | None = None,
    added: Mapping[int, ArticulatedInertia] | None = None,
    added_armature: Sequence[Scalar] | None = None,
) -> tuple[SymmetricMatrix, list[Scalar]]:
    """M by composite inertias, and τ - h by recursive Newton-Euler.

    `added` and `added_armature` are those of `aba.forward_dynamics`.
    """
    h = inverse_dynamics(tree, q, v, None, external)
    return mass_matrix(tree, q, added, added_armature), [t - b for t, b in zip(tau, h, strict=True)]


def mass_matrix_by_jacobians(tree: Tree, q: Sequence[Scalar]) -> list[list[Scalar]]:
    """The mass matrix including armature from its definition, Σ m J_Gᵀ J_G + J_Aᵀ I J_A (CRB note)."""
    world = poses(tree, transforms(tree, q))
    M = SymmetricMatrix(tree.nv)
    for i, rotor in enumerate(rotor_efforts(tree, (1.0,) * tree.nv)):
        M.add(i, i, rotor)
    for body in tree.bodies:
        R = world[body.index].rotation
        columns = [
            Motion(R.to_child(c.angular), R.to_child(c.linear))
            for c in columns_at(tree, q, world, body.index, world[body.index].position)
        ]
        momenta = [body.inertia @ c for c in columns]
        for i, column in enumerate(columns):
            for j in range(i + 1):
                M.add(i, j, column @ momenta[j])
    return M.dense()


def mass_matrix_by_unit_vectors(tree: Tree, q: Sequence[Scalar]) -> list[list[Scalar]]:
    """The mass matrix including armature by the unit-vector method (CRB note).

    Column j is the joint effort for unit acceleration of velocity j and zero accelerations of all other ones.
    """
    still, units = unloaded(tree), ([float(i == j) for i in range(tree.nv)] for j in range(tree.nv))
    columns = [inverse_dynamics(still, q, no_velocity(tree), unit) for unit in units]
    return [list(row) for row in zip(*columns, strict=True)]
