# SPDX-License-Identifier: Apache-2.0
"""Singular mass matrices: watched for by the kernels of robots that can have them, and explained by joint."""

from __future__ import annotations

from collections.abc import Sequence

from ada_dynamics.algorithms import crba
from ada_dynamics.algorithms.ldl import SymmetricMatrix, factorise
from ada_dynamics.model.inertia_regularization import has_singular_inertias
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.vector import Scalar

# Of a diagonal entry of the mass matrix, elimination must leave this share; less is rounding.
SMALLEST_PIVOT = 1e-12


def pivot_guards(tree: Tree, q: Sequence[Scalar]) -> list[Scalar]:
    """Quantities that must not be negative for the mass matrix to be regular; none where it always is."""
    if not has_singular_inertias(tree):
        return []
    return _left(crba.mass_matrix(tree, q))


def _left(M: SymmetricMatrix) -> list[Scalar]:
    """Pivots less the share of their diagonal entries that is rounding; one is negative unless M is definite."""
    return [pivot - SMALLEST_PIVOT * M[k, k] for k, pivot in enumerate(factorise(M).pivots)]


def loose_joint(tree: Tree, q: Sequence[float]) -> str | None:
    """The joint that nothing resists in position q; None where there is none."""
    M = crba.mass_matrix(tree, q)
    for body in tree.bodies:
        if body.is_independent and not all(float(M[i, i]) > 0.0 for i in range(body.v.start, body.v.stop)):
            return body.name
    try:
        left = _left(M)
    except ZeroDivisionError:
        left = None
    for body in tree.bodies:
        # an exact zero has stopped the elimination: of two joints that move the same thing, the first one is named
        if body.is_independent and (left is None or not min(left[body.v], default=1.0) >= 0.0):
            return body.name
    return None
