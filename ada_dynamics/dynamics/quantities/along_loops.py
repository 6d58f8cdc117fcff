# SPDX-License-Identifier: Apache-2.0
"""All velocities of a mechanism with loops from chosen ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from ada_dynamics.algorithms import closure
from ada_dynamics.algorithms.jacobians import tangent_map as solved
from ada_dynamics.algorithms.kinematics import standing_still, transforms
from ada_dynamics.algorithms.rnea import no_velocity
from ada_dynamics.constraints.tangent_map import SUSPICIOUS, MapOrder
from ada_dynamics.dynamics.quantities.base import (
    Quantity,
    position_guards,
    position_rates,
    quantity,
    reshape,
    substitute,
    tag_of,
)
from ada_dynamics.expr import Traced, jvp, minimum
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.vector import ZERO, Scalar

LEAST_PIVOT = 1e-2  # fraction of its typical size; smaller ones lose digits or belong to a singular configuration


def tangent_map(tree: Tree, order: MapOrder, units: Sequence[float]) -> Quantity:
    """T of v = T y; guarded by the pivots, and by its size, which grows without bound where y does not determine v.

    Args:
        tree: the mechanism.
        order: of elimination.
        units: of the velocities, for the size.
    """

    def body(q: Sequence[Scalar]) -> Traced:
        X, rest = transforms(tree, q), no_velocity(tree)
        still = standing_still(tree)
        found = [
            row.columns
            for loop in tree.loops
            for row in closure.loop_rows(tree, X, q, rest, still, loop, order.rows[loop.name])
        ]
        T, pivots = solved(found, order.pivots, order.chosen)
        guards = [
            (p * p) * (1.0 / typical**2) - LEAST_PIVOT**2 for p, typical in zip(pivots, order.typical, strict=True)
        ]
        size: Scalar = ZERO
        for k, row in T.items():
            for column, x in row.items():
                size = size + (x * x) * (units[order.chosen[column]] / units[k]) ** 2
        whole = [[T[k].get(column, 0.0) for column in range(len(order.chosen))] for k in range(tree.nv)]
        return Traced({"T": whole}, [*guards, SUSPICIOUS**-2 - size])

    name = f"tangent_map_{tag_of(order, tuple(units))}"
    return quantity(name, tree, ("q",), {"T": (tree.nv, len(order.chosen))}, body)


def tangent_map_rate(of_position: Quantity, tree: Tree) -> Quantity:
    """T and its time derivative along v, guarded alike; the least square of a pivot by its typical size, up to 1."""
    shape = of_position.shapes["T"]

    def body(q: Sequence[Scalar], v: Sequence[Scalar]) -> Traced:
        assert of_position.body is not None
        found = of_position.body(q=q)
        changes = substitute(jvp(of_position.trace(), wrt=("q",)), {"q": q, "d_q": position_rates(tree, q, v)})
        least = reduce(minimum, found.guards[len(position_guards(tree, q)) :], 1.0)
        outputs = {"T": found.outputs["T"], "rate": reshape(changes["d_T"], shape), "least": [least]}
        return Traced(outputs, found.guards)

    shapes = {"T": shape, "rate": shape, "least": (1,)}
    return quantity(f"{of_position.name}_rate_least", tree, ("q", "v"), shapes, body)
