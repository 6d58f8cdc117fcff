# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics by each algorithm, and inverse dynamics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ada_dynamics.algorithms import aba, ada, crba, dca, lagrange, order_n, rnea
from ada_dynamics.algorithms.assembly_order import Nesting
from ada_dynamics.dynamics.quantities.base import Outputs, Quantity, body_wrenches, quantity, tag_of
from ada_dynamics.hybrid import cut_selection as hybrid
from ada_dynamics.hybrid import lane_dynamics
from ada_dynamics.model.tree import Tree, for_efforts
from ada_dynamics.spatial.vector import Scalar

Order = Nesting | str | None  # of assembly: "chain", "balanced", "few_handles", or links in nested brackets
# Algorithms that take an order of assembly.
ASSEMBLIES: dict[str, Callable[..., list[Scalar]]] = {"ada": ada.forward_dynamics, "dca": dca.forward_dynamics}
HYBRID = "hybrid"  # which takes cuts in its place
FORWARD: dict[str, Callable[..., list[Scalar]]] = {
    "aba": aba.forward_dynamics,
    "crba": crba.forward_dynamics,
    "order_n": order_n.forward_dynamics,
    "lagrange": lagrange.forward_dynamics,
    "lanes": lane_dynamics.forward_dynamics,
    HYBRID: hybrid.forward_dynamics,
    **ASSEMBLIES,
}


def forward(tree: Tree, algorithm: str, external: bool, order: Order = None) -> Quantity:
    """Joint accelerations; `order` is that of assembly, or the cuts of hybrid modelling, where there is one."""
    # The order-n algorithm works at centres of mass, which regrouped bodies do not have; assembly regroups by itself.
    short = tree if algorithm in ("order_n", HYBRID, *ASSEMBLIES) else for_efforts(tree)
    solver = FORWARD["crba" if external and algorithm == "lagrange" else algorithm]
    if algorithm in ASSEMBLIES:
        solver = partial(solver, order=order)
    if algorithm == HYBRID:
        solver = partial(solver, cuts="auto" if order is None else order)

    def body(
        q: Sequence[Scalar], v: Sequence[Scalar], tau: Sequence[Scalar], wrenches: Sequence[Scalar] | None = None
    ) -> Outputs:
        given = () if wrenches is None else (body_wrenches(tree, wrenches),)
        return {"a": solver(short, q, v, tau, *given)}

    name = f"forward_{algorithm}" + order_tag(order) + ("_external" if external else "")
    inputs = ("q", "v", "tau", "wrenches") if external else ("q", "v", "tau")
    return quantity(name, tree, inputs, {"a": (tree.nv,)}, body, solves=True)


def order_tag(order: Order) -> str:
    """An order of assembly as part of a name."""
    return "" if order is None else f"_{tag_of(order)}"


def inverse(tree: Tree, external: bool) -> Quantity:
    """Joint efforts."""
    short = for_efforts(tree)

    def body(
        q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar], wrenches: Sequence[Scalar] | None = None
    ) -> Outputs:
        acting = None if wrenches is None else body_wrenches(tree, wrenches)
        return {"tau": rnea.inverse_dynamics(short, q, v, a, acting)}

    if external:
        return quantity("inverse_external", tree, ("q", "v", "a", "wrenches"), {"tau": (tree.nv,)}, body)
    return quantity("inverse", tree, ("q", "v", "a"), {"tau": (tree.nv,)}, body)
