# SPDX-License-Identifier: Apache-2.0
"""Takahashi 2012, table 2.3, measured: what each algorithm can do, what it inverts, and how its cost grows.

Costs are counted as `ada_experiments.algorithm_table` does; loops and joint forces are held against a dense system.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from mechanism_oracle import Oracle

import ada_dynamics as ada
from ada_dynamics.algorithms import aba, dca, kinematics, rnea
from ada_dynamics.algorithms import ada as assembly_disassembly
from ada_dynamics.algorithms.assemble import Solution
from ada_dynamics.expr import cost, trace
from ada_dynamics.model.tree import Tree
from ada_dynamics.robots import mechanisms
from ada_dynamics.spatial.vec3 import Vec3
from ada_experiments.algorithm_table import FREEDOMS, count, differences, of_chain, of_pair, star


# --- complexity -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["aba", "order_n", "ada", "dca"])
def test_operations_grow_with_the_first_power_of_the_joints(name: str) -> None:
    assert set(differences(name, 2)) == {0}
    assert min(differences(name, 1)) > 0


@pytest.mark.parametrize("name", ["lagrange", "crba"])
def test_operations_of_joint_space_equations_grow_with_the_third_power(name: str) -> None:
    # eliminating a full symmetric matrix of n columns takes n³/3 operations, whose third difference over rounds of
    # three joints is 3! · 3³/3 = 54; what the first joints save is not the same in all rounds
    third = differences(name, 3)
    assert min(third) > 0.9 * 54
    assert max(third) < 1.15 * 54


def test_one_worker_does_least_with_aba_and_less_with_ada_than_with_dca() -> None:
    per_round = {name: differences(name, 1)[-1] for name in ("aba", "ada", "dca")}
    assert per_round["aba"] < per_round["ada"] < per_round["dca"]


@pytest.mark.parametrize("name", ["ada balanced", "dca balanced"])
def test_dependent_operations_grow_with_the_logarithm_and_the_sum_of_all_with_the_first_power(name: str) -> None:
    paths = {n: of_chain(name, n).critical_path for n in (8, 16, 32)}
    sequential = {n: of_chain("aba", n).critical_path for n in paths}
    grown = [paths[16] - paths[8], paths[32] - paths[16]]
    # doubling the chain adds one step of assembly and one of disassembly to the path, some 200 cycles, whatever n
    assert max(grown) < 1.2 * min(grown)
    assert sequential[32] - sequential[16] > 1.8 * (sequential[16] - sequential[8])
    assert paths[32] < 0.6 * sequential[32]
    work = {n: of_chain(name, n).flops for n in paths}
    assert work[32] - work[16] < 2.3 * (work[16] - work[8])


@pytest.mark.parametrize("name", ["lagrange", "crba", "order_n", "aba", "dca", "ada"])
def test_without_a_balanced_order_dependent_operations_grow_with_the_joints(name: str) -> None:
    # what the first joint saves is not doubled
    assert of_chain(name, 12).critical_path > 1.9 * of_chain(name, 6).critical_path


# --- parallel computation -------------------------------------------------------------------------------------------
def test_aba_is_parallel_over_branches_only() -> None:
    one, four = (count(aba.forward_dynamics, star(b)) for b in (1, 4))
    assert four.flops > 3 * one.flops
    assert four.critical_path == one.critical_path
    chain = count(aba.forward_dynamics, ada.chain_3d(16).tree)
    assert chain.critical_path > 3 * one.critical_path


# --- size of the inverse --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [*FREEDOMS])
def test_ada_inverts_6_less_n_and_aba_n_and_dca_6_and_n(kind: str) -> None:
    n = FREEDOMS[kind]
    assert of_pair("ada", kind)[0] == (6 - n) + 5
    assert of_pair("aba", kind)[0] == n + 1
    # SᵀYS of one velocity is the inverse of Y's last pivot and costs nothing
    assert of_pair("dca", kind)[0] == (6 + n if n > 1 else 6) + 6


# --- closed chains; `test_closed` has the algorithms that close them -------------------------------------------------
def test_aba_by_itself_leaves_loops_open() -> None:
    model, q = mechanisms.four_bar()
    oracle = Oracle(model)
    rest = np.zeros(model.nv)
    a = np.array(aba.forward_dynamics(model.tree, q.tolist(), rest.tolist(), rest.tolist()))
    held = oracle.forward(q, rest, rest).acceleration
    # at rest the loop allows accelerations in the null space of J alone
    assert np.max(np.abs(oracle.jacobian(q) @ held)) < 1e-9
    assert np.max(np.abs(oracle.jacobian(q) @ a)) > 0.1


# --- joint forces ---------------------------------------------------------------------------------------------------
def solve(algorithm: Any, tree: Tree, state: Sequence[Any], order: str | None = None) -> Solution:
    found: Solution = algorithm.solve(tree, *state, None, order)
    return found


@pytest.mark.parametrize("algorithm", [assembly_disassembly, dca], ids=["ada", "dca"])
@pytest.mark.parametrize("order", ["chain", "balanced"])
def test_assembly_gives_the_wrench_of_every_joint(algorithm: Any, order: str) -> None:
    model = ada.chain_3d(6)
    rng = np.random.default_rng(2)
    q, v, tau = rng.normal(size=(3, model.nv))
    found = solve(algorithm, model.tree, [x.tolist() for x in (q, v, tau)], order)
    oracle = Oracle(model)
    wanted = oracle.forward(q, v, tau)
    for body, wrench in zip(model.tree.bodies, found.wrenches, strict=True):
        own = np.array([*wrench.force, *wrench.moment])
        theirs = wanted.tree_wrenches[body.name]
        # some thousand roundings; the chain's equations have a condition of 1e4
        assert np.max(np.abs(own - theirs)) < 1e-10 * np.max(np.abs(theirs))


def test_wrenches_cost_nothing_in_ada_and_a_pass_over_all_links_after_aba() -> None:
    tree = ada.chain_3d(9).tree

    def assembled(q: Any, v: Any, tau: Any) -> dict[str, Any]:
        found = solve(assembly_disassembly, tree, (q, v, tau), "chain")
        return {"a": found.accelerations, "wrenches": [[*w.moment, *w.force] for w in found.wrenches]}

    def recursive(q: Any, v: Any, tau: Any) -> dict[str, Any]:
        a = aba.forward_dynamics(tree, q, v, tau)
        X = kinematics.transforms(tree, q)
        moving = kinematics.motions(tree, X, q, v, a, kinematics.at_rest(Vec3(0.0, 0.0, 9.81)))
        own = [rnea.needed_force(b.inertia, m) for b, m in zip(tree.bodies, moving, strict=True)]
        return {"a": a, "wrenches": [[*w.moment, *w.force] for w in rnea.wrenches_inward(tree, X, own)]}

    sizes = {"q": tree.nq, "v": tree.nv, "tau": tree.nv}
    with_wrenches = {name: cost(trace(name, sizes, f)).flops for name, f in (("ada", assembled), ("aba", recursive))}
    # the last joint's wrench is all that the accelerations alone do not need
    assert with_wrenches["ada"] < 1.02 * of_chain("ada", 9).flops
    assert with_wrenches["aba"] > 1.3 * of_chain("aba", 9).flops
