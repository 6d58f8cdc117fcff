# SPDX-License-Identifier: Apache-2.0
"""A quantity: its inputs, the shape of its result, and how it is traced.

Here, and only here, the algorithms' [angular; linear] becomes the public [linear; angular] and [force; moment].
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ada_dynamics.dynamics.preflight import loose_joint, pivot_guards
from ada_dynamics.errors import ModelError
from ada_dynamics.expr import Expr, Function, Traced, trace
from ada_dynamics.expr.evaluation import evaluate_nodes
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import Scalar

Outputs = Mapping[str, Any]


@dataclass(frozen=True)
class Quantity:
    """One thing to compute."""

    name: str  # an identifier, unique for a model
    inputs: dict[str, int]  # name and length of each argument
    shapes: dict[str, tuple[int, ...]]  # name and shape of each result
    trace: Callable[[], Function]
    body: Callable[..., Traced] | None = None  # computes it, guards included, over any scalars


def quantity(
    name: str,
    tree: Tree,
    inputs: Sequence[str],
    shapes: dict[str, tuple[int, ...]],
    body: Callable[..., Outputs | Traced],
    solves: bool = False,
    extra: Mapping[str, int] | None = None,
) -> Quantity:
    """A quantity.

    Args:
        name: an identifier.
        tree: the mechanism.
        inputs: of q, v, tau, a and wrenches.
        shapes: of the results.
        body: computes them, with guards of its own or without.
        solves: whether it divides by the mass matrix, which must then not be singular.
        extra: more inputs, with their lengths.
    """
    sizes = {"q": tree.nq, "v": tree.nv, "tau": tree.nv, "a": tree.nv, "wrenches": 6 * len(tree.bodies)}
    wanted = {**{key: sizes[key] for key in inputs}, **(extra or {})}

    def guarded(**vectors: Sequence[Scalar]) -> Traced:
        guards = position_guards(tree, vectors["q"])
        if solves:
            guards += pivot_guards(tree, vectors["q"])
        result = body(**vectors)
        traced = result if isinstance(result, Traced) else Traced(result)
        return traced._replace(guards=[*guards, *traced.guards])

    def traced() -> Function:
        try:
            return trace(name, wanted, guarded, tuple(shapes))
        except ZeroDivisionError:
            raise ModelError(_singular_everywhere(tree)) from None

    return Quantity(name, wanted, shapes, traced, guarded)


def tag_of(*what: object) -> str:
    """A part of a name: differs where the texts of these do."""
    return hashlib.blake2b(repr(what).encode(), digest_size=6).hexdigest()


def _singular_everywhere(tree: Tree) -> str:
    """Message for a division by a constant zero: a pivot that vanishes in every position."""
    neutral = np.zeros(tree.nq)
    for body in tree.bodies:
        neutral[body.q] = body.joint.neutral()
    joint = loose_joint(tree, neutral.tolist())
    return (
        f"nothing resists joint {joint!r} in any position: the links that it carries have no mass, or no inertia that "
        "another joint does not move as well. Give them inertia, give the joint an armature, or make it fixed."
    )


def position_guards(tree: Tree, q: Sequence[Scalar]) -> list[Scalar]:
    """Quantities that must not be negative for q to be usable."""
    return [g for body in tree.bodies if body.is_independent for g in body.joint.guards(q[body.q])]


# --- public order ---------------------------------------------------------------------------------------------------
def linear_first(m: Motion) -> tuple[Scalar, ...]:
    """[linear; angular]."""
    return (*m.linear, *m.angular)


def force_first(f: Force) -> tuple[Scalar, ...]:
    """[force; moment]."""
    return (*f.force, *f.moment)


def as_matrix(X: Transform) -> list[list[Scalar]]:
    """Homogeneous 4x4 matrix."""
    R = X.rotation.matrix()
    return [[*R[i], X.position[i]] for i in range(3)] + [[0.0, 0.0, 0.0, 1.0]]


def body_wrenches(tree: Tree, flat: Sequence[Scalar]) -> dict[int, Force]:
    """External wrenches, [force; moment] about each body's origin in its axes, body after body."""
    parts = {b.index: flat[6 * b.index : 6 * b.index + 6] for b in tree.bodies}
    return {i: Force.force_first(x) for i, x in parts.items()}


# --- tracing ---------------------------------------------------------------------------------------------------------
def position_rates(tree: Tree, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
    """q̇ of the whole model."""
    rates: list[Scalar] = [0.0] * tree.nq
    for body in tree.bodies:
        if body.is_independent:
            rates[body.q] = body.joint.position_rate(q[body.q], v[body.v])
    return rates


def substitute(function: Function, arguments: Mapping[str, Sequence[Scalar]]) -> dict[str, list[Scalar]]:
    """Results of a traced function for arguments that may be expressions of another graph."""
    values = evaluate_nodes(function.nodes(), arguments)
    return {
        name: [values[x.index] if isinstance(x, Expr) else x for x in elements]
        for name, elements in function.outputs.items()
    }


def reshape(flat: Sequence[Scalar], shape: tuple[int, ...]) -> Any:
    """Nested lists of the given shape."""
    if len(shape) <= 1:
        return list(flat)
    step = len(flat) // shape[0]
    return [reshape(flat[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]
