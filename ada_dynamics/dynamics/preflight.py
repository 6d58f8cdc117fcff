# SPDX-License-Identifier: Apache-2.0
"""Find joints that nothing resists before any number is computed: their accelerations would be without meaning."""

from __future__ import annotations

import numpy as np

from ada_dynamics.errors import InputError, ModelError
from ada_dynamics.model.joints import JointType
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import WORLD, Tree
from ada_dynamics.spatial.inertia import RigidInertia

# Resistance under this share of the carried inertia is rounding.
NEGLIGIBLE = 1e-14
# Algorithms of forward dynamics that close loops.
CLOSES_LOOPS = ("auto", "aba", "ada", "crba", "dca", "lagrange")


def refuse_algorithm(model: Model, algorithm: str, generic: bool) -> None:
    """Raise where an algorithm, or the generic kernels, cannot serve a model."""
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
    """Raise where a joint at the end of a branch carries no inertia about its axis.

    That is what makes a mass matrix singular in every pose. Only the outermost joints need a look: what a joint carries
    through other joints resists through them.
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
    """The smallest Sᵀ I S over the joint's velocities, at the zero position."""
    q = joint.neutral().tolist()
    smallest: float = min(s @ (inertia @ s) for s in joint.subspace(q))
    return smallest


def _refuse_massless_subtrees(model: Model, tree: Tree, size: list[float]) -> None:
    """Raise where inertia and armature of a joint and all that it carries are nothing; `size` is each body's own."""
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
