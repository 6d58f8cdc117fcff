# SPDX-License-Identifier: Apache-2.0
"""Takahashi 2012, table 2.3, measured: what each algorithm can do, what it inverts, and how its cost grows.

Costs are counted as `ada_experiments.algorithm_table` does; loops and joint forces are held against a dense system.
"""

from __future__ import annotations

import pytest

import ada_dynamics as ada
from ada_dynamics.algorithms import aba
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
# --- joint forces ---------------------------------------------------------------------------------------------------
