# SPDX-License-Identifier: Apache-2.0
"""Find joints that nothing resists before any number is computed: their accelerations would be without meaning."""

from __future__ import annotations

from ada_dynamics.errors import InputError, ModelError
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import WORLD, Body, Tree
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
            "'crba', or load the model with mimic='free'."
        )
    if model.loops and generic:
        raise InputError(f"model {model.name!r} has loops, which the generic kernels cannot close; use kernel='auto'.")
    if model.loops and algorithm not in CLOSES_LOOPS:
        raise InputError(
            f"model {model.name!r} has loops, which algorithm {algorithm!r} cannot close; use one of "
            f"{', '.join(map(repr, CLOSES_LOOPS))}."
        )
    if generic and algorithm not in ("auto", "aba", "ada"):
        raise InputError(
            f"generic kernels run the algorithms 'aba' and 'ada', not {algorithm!r}; use kernel='specialised'."
        )


def refuse_unusable(model: Model, tree: Tree) -> None:
    """Raise where a joint at the end of a branch carries no inertia about its axis.

    That is what makes a mass matrix singular in every pose. Only the outermost joints need a look: what a joint carries
    through other joints resists through them.
    """
    carries = {body.parent for body in tree.bodies}
    for body in tree.bodies:
        if body.index in carries or body.armature:
            continue
        if _resistance(body) <= NEGLIGIBLE * _size(body.inertia):
            links = ", ".join(repr(f.link) for f in tree.frames.values() if f.body == body.index)
            raise ModelError(
                f"model {model.name!r}: joint {body.name!r} carries no mass or inertia that resists it (link {links}), "
                "so its acceleration is undefined. Give the link an inertia about the joint's axis, give the joint an "
                "armature, or make the joint fixed."
            )
    _refuse_massless_subtrees(model, tree)


def _resistance(body: Body) -> float:
    """The smallest Sᵀ I S over the joint's velocities, at the zero position."""
    q = body.joint.neutral().tolist()
    return min((s @ (body.inertia @ s) for s in body.joint.subspace(q)), default=1.0)


def _size(inertia: RigidInertia) -> float:
    about = inertia.about_origin
    return float(inertia.mass + about[0][0] + about[1][1] + about[2][2])


def _refuse_massless_subtrees(model: Model, tree: Tree) -> None:
    size = [_size(body.inertia) + float(body.armature) for body in tree.bodies]
    for body in reversed(tree.bodies):
        if size[body.index] == 0.0:
            raise ModelError(
                f"model {model.name!r}: nothing that joint {body.name!r} carries has mass, so its acceleration is "
                "undefined. Give a link mass, give the joint an armature, or make the joint fixed."
            )
        if body.parent != WORLD:
            size[body.parent] += size[body.index]
