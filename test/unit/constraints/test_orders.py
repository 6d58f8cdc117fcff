# SPDX-License-Identifier: Apache-2.0
"""Every mechanism that assembles gets an order of elimination, and moves as a dense solution says."""

from typing import Any

import numpy as np
import pytest
from mechanism_oracle import Oracle

import ada_dynamics as ada
from ada_dynamics.algorithms import closed_aba
from ada_dynamics.constraints import elimination
from trials.random_mechanism import random_mechanism

Array = Any
Y = (0, 1, 0)


def rails(cells: int, base: str = "fixed", both_ends: bool = False) -> ada.Model:
    """Two rails of hinged links on one base; rung k is hinged to the left one, its loop joint is on the right one."""
    builder = ada.Builder(f"rails_{cells}").link("base", 5.0, (0.5, 0, 0), (0.4, 0.5, 0.6))
    below = {"left": "base", "right": "base"}
    for k in range(1, cells + 1):
        for side, place in (("left", 0.0), ("right", 1.0)):
            link = f"{side}_{k}"
            builder.link(link, 1.0, (0, 0, 0.25), (0.02, 0.02, 0.001))
            foot = (place if k == 1 else 0.0, 0.0, 0.0 if k == 1 else 0.5)
            builder.joint(f"{link}_joint", "revolute", below[side], link, foot, axis=Y)
            below[side] = link
        builder.link(f"rung_{k}", 0.7, (0.5, 0, 0), (0.001, 0.06, 0.06))
        builder.joint(f"rung_{k}_joint", "revolute", f"left_{k}", f"rung_{k}", (0, 0, 0.5), axis=Y)
        builder.loop(f"cell_{k}", "revolute", f"rung_{k}", f"right_{k}", (1, 0, 0), child_xyz=(0, 0, 0.5), axis=Y)
    if both_ends:
        builder.link("diagonal", 0.5, (0.3, 0, 0), (0.001, 0.02, 0.02))
        builder.joint("diagonal_joint", "revolute", "base", "diagonal", axis=Y)
        builder.loop(
            "to_the_last", "spherical", "diagonal", f"right_{cells}", (1, 0, 0.5 * cells), child_xyz=(0, 0, 0.5)
        )
    return builder.build(base)


def dense(oracle: Oracle, q: Array, v: Array, tau: Array) -> Array:
    """Accelerations: a particular one of J a = -γ, and M a = τ - h along the motions that J leaves."""
    M, J, gamma = oracle.tree.mass_matrix(q), oracle.jacobian(q), oracle.gamma(q, v)
    N = np.linalg.svd(J)[2][oracle.rank(q) :].T
    start = np.linalg.lstsq(J, -gamma, rcond=1e-10)[0]
    return start + N @ np.linalg.solve(N.T @ M @ N, N.T @ (tau - oracle.tree.bias(q, v) - M @ start))


@pytest.mark.parametrize(
    ("cells", "base", "both_ends"),
    [
        (21, "fixed", False),
        pytest.param(30, "fixed", True, marks=pytest.mark.fuzz),
        pytest.param(24, "floating", False, marks=pytest.mark.fuzz),
    ],
)
def test_a_ladder_of_two_rails_moves_as_a_dense_solution_says(cells: int, base: str, both_ends: bool) -> None:
    model = rails(cells, base, both_ends)
    rng = np.random.default_rng(3)
    oracle = Oracle(model)
    q = oracle.nearby(model.neutral(), rng, 0.05)
    v, tau = oracle.admissible(q, rng.normal(size=model.nv)), rng.normal(size=model.nv)
    dynamics = ada.Dynamics(model, q0=q)
    wanted = dense(oracle, q, v, tau)
    # both solutions lose the digits that the mass matrix of a chain of 30 links takes: its condition is 1e7
    np.testing.assert_allclose(dynamics.forward(q, v, tau), wanted, atol=1e-8 * np.max(np.abs(wanted)))
    assert dynamics.constraints.state(q, v).mobility == oracle.mobility(q)


def assert_order_holds(model: ada.Model, start: Array, rng: np.random.Generator) -> bool:
    """The long order moves the mechanism as the reference does; False where constraints are redundant."""
    try:
        analysis, plans = elimination.analyse_large(model, start)
    except elimination.RedundantConstraintsError:
        return False
    assert sorted(plans.late.order) == list(range(model.nv + analysis.rank))
    q, oracle = analysis.configurations[0], Oracle(model)
    v, tau = oracle.admissible(q, rng.normal(size=model.nv)), rng.normal(size=model.nv)
    found = closed_aba.forward_dynamics(analysis.constraints.tree, q.tolist(), v.tolist(), tau.tolist(), plans.late)
    wanted = oracle.forward(q, v, tau)
    assert wanted.rank == analysis.rank
    # an early pivot may be 1e-4 of its typical size, and loses its square
    np.testing.assert_allclose(
        found.accelerations, wanted.acceleration, atol=1e-8 * (1.0 + np.max(np.abs(wanted.acceleration)))
    )
    return True


@pytest.mark.parametrize("first", [0, pytest.param(1, marks=pytest.mark.fuzz)])
def test_orders_along_the_tree_hold_for_any_topology(first: int) -> None:
    tried = 0
    for seed in range(first, 16, 2):
        rng = np.random.default_rng(seed)
        n_loops, floating, spatial = int(rng.integers(1, 7)), bool(rng.integers(2)), bool(rng.integers(4))
        model, q = random_mechanism(rng, n_loops, floating=floating, spatial=spatial)
        tried += assert_order_holds(model, q, rng)
    assert tried > 2


def test_orders_by_the_fewest_couplings_hold_where_the_last_joints_first_take_too_much_work() -> None:
    model = rails(8)
    assert assert_order_holds(model, model.neutral(), np.random.default_rng(3))


def test_a_pivot_that_is_rounding_does_not_eliminate_a_constraint() -> None:
    builder = ada.Builder("nearly_parallel").link("base")
    axes = [(1, 0, 0), (1, 0, 1e-8), (1, 0, 0), (1e-8, 1, 0), (0, 1, 0), (-1e-8, 1, 0)]
    for i, axis in enumerate(axes):
        builder.link(f"link_{i}", 1.0, (0, 0.1, 0.2), (0.02, 0.03, 0.01))
        parent, place = (f"link_{i - 1}", (0.1, 0.2, 0.4)) if i else ("base", (0, 0, 0))
        builder.joint(f"joint_{i}", "revolute", parent, f"link_{i}", place, axis=axis)
    # the last joints feel moments about x to 1e-8, the first ones feel them fully
    builder.loop("table", "planar", "world", f"link_{len(axes) - 1}", axis=(0, 0, 1))
    model = builder.build()
    assert assert_order_holds(model, ada.close_loops(model), np.random.default_rng(3))
