# SPDX-License-Identifier: Apache-2.0
"""Mass matrix by the unit-vector method (CRB note): column j is the effort that unit acceleration of j alone needs."""

from __future__ import annotations

from collections.abc import Sequence

from ada_dynamics.algorithms.rnea import gather_efforts, joint_wrenches, no_velocity, rotor_efforts
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.vector import Scalar


def mass_matrix(tree: Tree, q: Sequence[Scalar]) -> list[list[Scalar]]:
    """The matrix with its armature, one inverse dynamics per column."""
    columns = []
    for j in range(tree.nv):
        a = [1.0 if i == j else 0.0 for i in range(tree.nv)]
        wrenches = joint_wrenches(tree, q, no_velocity(tree), a, gravity=False)
        efforts = gather_efforts(tree, q, wrenches)
        columns.append([e + r for e, r in zip(efforts, rotor_efforts(tree, a), strict=True)])
    return [[columns[j][i] for j in range(tree.nv)] for i in range(tree.nv)]
