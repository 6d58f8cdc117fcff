# SPDX-License-Identifier: Apache-2.0
"""Quantities of the equations of motion: accelerations, efforts, the mass matrix and its companions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ada_dynamics.algorithms import aba, crba, jacobian_method, lagrange, order_n, rnea, unit_vector
from ada_dynamics.dynamics.quantities.base import Outputs, Quantity, body_wrenches, quantity
from ada_dynamics.hybrid import lanes
from ada_dynamics.model.regroup import for_efforts
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.scalar import Scalar

FORWARD: dict[str, Callable[..., list[Scalar]]] = {
    "aba": aba.forward_dynamics,
    "crba": crba.forward_dynamics,
    "order_n": order_n.forward_dynamics,
    "lagrange": lagrange.forward_dynamics,
    "lanes": lanes.forward_dynamics,
}
MASS_MATRIX: dict[str, Callable[[Tree, Sequence[Scalar]], list[list[Scalar]]]] = {
    "crba": lambda tree, q: crba.mass_matrix(tree, q).dense(),
    "unit_vector": unit_vector.mass_matrix,
    "jacobian": jacobian_method.mass_matrix,
}


def forward(tree: Tree, algorithm: str, external: bool) -> Quantity:
    """Joint accelerations."""
    # The order-n algorithm works at centres of mass, which regrouped bodies do not have.
    short = tree if algorithm == "order_n" else for_efforts(tree)

    def body(q: Sequence[Scalar], v: Sequence[Scalar], tau: Sequence[Scalar]) -> Outputs:
        return {"a": FORWARD[algorithm](short, q, v, tau)}

    def with_wrenches(
        q: Sequence[Scalar], v: Sequence[Scalar], tau: Sequence[Scalar], wrenches: Sequence[Scalar]
    ) -> Outputs:
        solver = FORWARD["crba" if algorithm == "lagrange" else algorithm]
        return {"a": solver(short, q, v, tau, body_wrenches(tree, wrenches))}

    shapes: dict[str, tuple[int, ...]] = {"a": (tree.nv,)}
    if external:
        inputs = ("q", "v", "tau", "wrenches")
        return quantity(f"forward_{algorithm}_external", tree, inputs, shapes, with_wrenches, solves=True)
    return quantity(f"forward_{algorithm}", tree, ("q", "v", "tau"), shapes, body, solves=True)


def inverse(tree: Tree, external: bool) -> Quantity:
    """Joint efforts."""
    short = for_efforts(tree)
    shapes: dict[str, tuple[int, ...]] = {"tau": (tree.nv,)}
    if external:
        return quantity(
            "inverse_external",
            tree,
            ("q", "v", "a", "wrenches"),
            shapes,
            lambda q, v, a, wrenches: {"tau": rnea.inverse_dynamics(short, q, v, a, body_wrenches(tree, wrenches))},
        )
    return quantity(
        "inverse", tree, ("q", "v", "a"), shapes, lambda q, v, a: {"tau": rnea.inverse_dynamics(short, q, v, a)}
    )


def mass_matrix(tree: Tree, method: str) -> Quantity:
    """Joint-space mass matrix."""
    short = for_efforts(tree)
    return quantity(
        f"mass_matrix_{method}",
        tree,
        ("q",),
        {"M": (tree.nv, tree.nv)},
        lambda q: {"M": MASS_MATRIX[method](short, q)},
    )


def bias(tree: Tree) -> Quantity:
    """Efforts at zero acceleration."""
    short = for_efforts(tree)
    return quantity(
        "bias", tree, ("q", "v"), {"h": (tree.nv,)}, lambda q, v: {"h": rnea.inverse_dynamics(short, q, v, None)}
    )


def gravity(tree: Tree) -> Quantity:
    """Efforts that hold the weight."""
    short = for_efforts(tree)
    return quantity("gravity", tree, ("q",), {"g": (tree.nv,)}, lambda q: {"g": rnea.gravity_efforts(short, q)})
