# SPDX-License-Identifier: Apache-2.0
"""Mass matrix from its definition, Σ m J_Gᵀ J_G + J_Aᵀ I J_A (CRB note)."""

from __future__ import annotations

from collections.abc import Sequence

from ada_dynamics.algorithms.jacobian import columns_at
from ada_dynamics.algorithms.kinematics import poses, transforms
from ada_dynamics.algorithms.rnea import rotor_efforts
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.motion import Motion
from ada_dynamics.spatial.vector import Scalar


def mass_matrix(tree: Tree, q: Sequence[Scalar]) -> list[list[Scalar]]:
    """The matrix with its armature, body by body."""
    world = poses(tree, transforms(tree, q))
    n = tree.nv
    M: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    for body in tree.bodies:
        R = world[body.index].rotation
        columns = [
            Motion(R.to_child(c.angular), R.to_child(c.linear))
            for c in columns_at(tree, q, world, body.index, world[body.index].position)
        ]
        momenta = [body.inertia @ c for c in columns]
        for i in range(n):
            for j in range(i + 1):
                M[i][j] = M[i][j] + columns[i] @ momenta[j]
    for i in range(n):
        unit = [1.0 if j == i else 0.0 for j in range(n)]
        M[i][i] = M[i][i] + rotor_efforts(tree, unit)[i]
        for j in range(i):
            M[j][i] = M[i][j]
    return M
