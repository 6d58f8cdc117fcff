# SPDX-License-Identifier: Apache-2.0
"""Checks before dynamics are computed: algorithms that a model allows, and joints without inertia.

A joint without inertia makes the mass matrix singular, in every configuration or in one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics.algorithms import crba
from ada_dynamics.algorithms.ldl import SymmetricMatrix, factorise
from ada_dynamics.errors import InputError, ModelError
from ada_dynamics.model.inertia_regularization import has_singular_inertias
from ada_dynamics.model.joints import JointType
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import WORLD, Tree
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.vector import Scalar

# Resistance under this share of the carried inertia is rounding.
NEGLIGIBLE = 1e-14
# Of a diagonal entry of the mass matrix, elimination must leave this share; less is rounding.
SMALLEST_PIVOT = 1e-12
# Algorithms of forward dynamics that close loops.
CLOSES_LOOPS = ("auto", "aba", "ada", "crba", "dca", "lagrange")


def refuse_algorithm(model: Model, algorithm: str, generic: bool) -> None:
    """Raise InputError if an algorithm, or the generic kernels, do not support a model."""
    if model.has_mimics and algorithm not in ("auto", "crba"):
        raise InputError(
            f"model {model.name!r} has mimic joints; algorithm {algorithm!r} cannot couple them. Use 'auto' or "
            "'crba', or load the model with mimic='free'.",
            field="algorithm",
            value=algorithm,
            allowed=("auto", "crba"),
        )
    if model.loops and generic:
        message = f"model {model.name!r} has loops, which the generic kernels cannot close; use kernel='auto'."
        raise InputError(message, field="kernel", value="generic", allowed=("auto", "specialised"))
    if model.loops and algorithm not in CLOSES_LOOPS:
        raise InputError(
            f"model {model.name!r} has loops, which algorithm {algorithm!r} cannot close; use one of "
            f"{', '.join(map(repr, CLOSES_LOOPS))}.",
            field="algorithm",
            value=algorithm,
            allowed=CLOSES_LOOPS,
        )
    if generic and algorithm not in ("auto", "aba", "ada"):
        raise InputError(
            f"generic kernels run the algorithms 'aba' and 'ada', not {algorithm!r}; use kernel='specialised'.",
            field="algorithm",
            value=algorithm,
            allowed=("auto", "aba", "ada"),
        )


def refuse_unusable(model: Model, tree: Tree) -> None:
    """Raise ModelError if a joint at the end of a branch carries no inertia about its axis.

    The mass matrix is then singular in every configuration. Only outermost joints are checked: the bodies behind other
    joints add inertia through them.
    """
    columns = tree.columns
    mass, _, about = columns.inertias
    size = mass + about[:, 0, 0] + about[:, 1, 1] + about[:, 2, 2]
    armature = columns.loads[:, 0]
    outermost = np.ones(len(size), dtype=bool)
    outermost[[parent for parent in columns.parents if parent != WORLD]] = False
    for i in np.flatnonzero(outermost & (armature == 0.0)).tolist():
        if _resistance(columns.kinds[i], columns.inertia(i)) <= NEGLIGIBLE * size[i]:
            carried = [f.link for f in tree.frames.values() if f.body == i]
            links = ", ".join(map(repr, carried))
            raise ModelError(
                f"model {model.name!r}: joint {tree.bodies[i].name!r} carries no mass or inertia that resists it (link "
                f"{links}), so its acceleration is undefined. Give the link an inertia about the joint's axis, give "
                "the joint an armature, or make the joint fixed.",
                joint=tree.bodies[i].name,
                link=carried[0] if carried else None,
                field="inertia",
            )
    _refuse_massless_subtrees(model, tree, (size + armature).tolist())


def _resistance(joint: JointType, inertia: RigidInertia) -> float:
    """Smallest Sᵀ I S over the velocities of the joint, at the zero position."""
    q = joint.neutral().tolist()
    smallest: float = min(s @ (inertia @ s) for s in joint.subspace(q))
    return smallest


def _refuse_massless_subtrees(model: Model, tree: Tree, size: list[float]) -> None:
    """Raise ModelError if a joint and its whole subtree have neither inertia nor armature; `size` is per body."""
    for i in reversed(range(len(size))):
        if not size[i]:
            raise ModelError(
                f"model {model.name!r}: nothing that joint {tree.bodies[i].name!r} carries has mass, so its "
                "acceleration is undefined. Give a link mass, give the joint an armature, or make the joint fixed.",
                joint=tree.bodies[i].name,
                field="mass",
            )
        parent = tree.columns.parents[i]
        if parent != WORLD:
            size[parent] += size[i]


# --- in one configuration ---------------------------------------------------------------------------------------------
def pivot_guards(tree: Tree, q: Sequence[Scalar]) -> list[Scalar]:
    """Quantities that are non-negative if the mass matrix is regular; none if it always is."""
    if not has_singular_inertias(tree):
        return []
    return _left(crba.mass_matrix(tree, q))


def _left(M: SymmetricMatrix) -> list[Scalar]:
    """Pivots minus the rounding share of their diagonal entries; one is negative unless M is positive definite."""
    return [pivot - SMALLEST_PIVOT * M[k, k] for k, pivot in enumerate(factorise(M).pivots)]


def loose_joint(tree: Tree, q: Sequence[float]) -> str | None:
    """Joint without inertia in configuration q, or None."""
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
