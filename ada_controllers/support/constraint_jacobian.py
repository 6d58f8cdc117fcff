# SPDX-License-Identifier: Apache-2.0
"""Constraint Jacobian, and weight carried by loops, over generic scalars, for control laws."""

from __future__ import annotations

from collections.abc import Sequence

from ada_controllers.support.null_space import row_space
from ada_dynamics.algorithms.closure import loop_rows
from ada_dynamics.algorithms.kinematics import transforms, world_and_bodies
from ada_dynamics.algorithms.rnea import gravity_efforts
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.vector import Scalar

_DEPENDENT = 1e-6  # tolerance of dependent rows, relative to the largest; planar loops in space are redundant


def constraint_jacobian(
    tree: Tree, q: Sequence[Scalar], v: Sequence[Scalar]
) -> tuple[list[list[Scalar]], list[Scalar]]:
    """Return the constraint Jacobian J and bias γ of the loops: J v = 0 and J a + γ = 0."""
    X = transforms(tree, q)
    moving = world_and_bodies(tree, X, q, v, gravity=False)
    rows, rates = [], []
    for loop in tree.loops:
        for row in loop_rows(tree, X, q, v, moving, loop):
            rows.append([row.columns.get(k, 0.0) for k in range(tree.nv)])
            rates.append(row.rate)
    return rows, rates


def carried_weight(tree: Tree, q: Sequence[Scalar]) -> list[Scalar]:
    """Return the minimum-norm efforts of all joints that hold the weight; constraint forces carry the rest.

    Constraint forces act along the rows of J, so that the part of the tree's efforts in the row space is removed.
    """
    efforts = gravity_efforts(tree, q)
    if not tree.loops:
        return efforts
    rows, _ = constraint_jacobian(tree, q, (0.0,) * tree.nv)
    return row_space(rows, _DEPENDENT).inside(efforts)
