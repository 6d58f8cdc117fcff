# SPDX-License-Identifier: Apache-2.0
"""Quantities of the equations of motion: accelerations, efforts, the mass matrix and its companions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ada_dynamics.algorithms import aba, ada, coriolis, crba, dca, lagrange, order_n, rnea
from ada_dynamics.algorithms.assembly_order import Nesting
from ada_dynamics.algorithms.ldl import factorise, solve_factorised
from ada_dynamics.dynamics.quantities.base import Outputs, Quantity, body_wrenches, position_rates, quantity, tag_of
from ada_dynamics.expr import directional
from ada_dynamics.hybrid import cut_selection as hybrid
from ada_dynamics.hybrid import lane_dynamics
from ada_dynamics.model.regroup import for_efforts
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.motion import Motion
from ada_dynamics.spatial.vector import Scalar, Vec3

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
MASS_MATRIX: dict[str, Callable[[Tree, Sequence[Scalar]], list[list[Scalar]]]] = {
    "crba": lambda tree, q: crba.mass_matrix(tree, q).dense(),
    "unit_vector": crba.mass_matrix_by_unit_vectors,
    "jacobian": crba.mass_matrix_by_jacobians,
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
    """Efforts that hold the tree at rest: bias without velocities."""
    short = for_efforts(tree)
    return quantity("gravity", tree, ("q",), {"g": (tree.nv,)}, lambda q: {"g": rnea.gravity_efforts(short, q)})


def inverse_mass_matrix(tree: Tree) -> Quantity:
    """Inverse of the joint-space mass matrix, by its sparse factors."""
    short = for_efforts(tree)

    def body(q: Sequence[Scalar]) -> Outputs:
        factors = factorise(crba.mass_matrix(short, q))
        columns = [solve_factorised(factors, [float(i == j) for i in range(tree.nv)]) for j in range(tree.nv)]
        return {"M_inv": [[columns[max(i, j)][min(i, j)] for j in range(tree.nv)] for i in range(tree.nv)]}

    return quantity("inverse_mass_matrix", tree, ("q",), {"M_inv": (tree.nv, tree.nv)}, body, solves=True)


def coriolis_matrix(tree: Tree) -> Quantity:
    """Coriolis matrix."""

    def body(q: Sequence[Scalar], v: Sequence[Scalar]) -> Outputs:
        rates = dict(zip(q, position_rates(tree, q, v), strict=True))
        changes = [
            [
                Motion(Vec3(*x[:3]), Vec3(*x[3:]))
                for s in body.joint.subspace(body.positions(q))
                for x in [directional((*s.angular, *s.linear), rates)]
            ]
            for body in tree.bodies
        ]
        return {"C": coriolis.coriolis_matrix(tree, q, v, changes)}

    return quantity("coriolis_matrix", tree, ("q", "v"), {"C": (tree.nv, tree.nv)}, body)
