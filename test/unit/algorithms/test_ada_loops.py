# SPDX-License-Identifier: Apache-2.0
"""ADA and DCA on mechanisms with loops: closed forms, a dense reference in extended precision, any cut and order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mechanism_oracle import Case, case_of
from random_trees import Array, floats

import ada_dynamics as ada
from ada_dynamics.algorithms import ada as assembly_disassembly
from ada_dynamics.algorithms import dca
from ada_dynamics.algorithms.assembly_order import ORDERS
from ada_dynamics.constraints.analysis import analyse
from ada_dynamics.model.joints import LOOP_KINDS
from ada_dynamics.spatial.motion import Force
from trials.random_mechanism import random_mechanism

ALGORITHMS = {"ada": assembly_disassembly, "dca": dca}


def six(force: Force) -> Array:
    return np.array([*force.force, *force.moment], dtype=float)


def loop_wrench(model: ada.Model, index: int, force: Force) -> Array:
    """[force, moment] in the child-side frame of the description."""
    return six(model.tree.loops[index].turn.to_parent(force))


def solved(case: Case, algorithm: str, **options: Any) -> Any:
    return ALGORITHMS[algorithm].solve(case.model.tree, *floats(*case.state), **options)


def assert_same(case: Case, solution: Any) -> None:
    # the system solved has the square of the conditions' condition number
    case.assert_same(solution.accelerations, 1e-13 / case.smallest**2)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@settings(max_examples=15)
@given(seed=st.integers(0, 10**5), kinds=st.lists(st.sampled_from(LOOP_KINDS), min_size=1, max_size=2))
def test_random_loops_of_every_type_close_and_carry_the_reference_wrenches(
    algorithm: str, seed: int, kinds: list[str]
) -> None:
    rng = np.random.default_rng(seed)
    model, q = random_mechanism(rng, len(kinds), floating=seed % 3 == 0, loop_kinds=kinds, losses=seed % 2 == 0)
    case = Case(model, q, seed)
    if case.answer.rank < len(case.answer.multipliers) or case.smallest < 1e-3:
        return  # redundant: below; nearly singular: what is left of the digits says nothing
    for order in ORDERS:
        solution = solved(case, algorithm, order=order)
        assert_same(case, solution)
        size = max(float(np.max(np.abs(w))) for w in case.answer.wrenches.values())
        for k, name in enumerate(model.loop_names):
            error = np.max(np.abs(loop_wrench(model, k, solution.loop_wrenches[k]) - case.answer.wrenches[name]))
            assert error < 1e-12 * size / case.smallest**2
        for body, wrench in zip(model.tree.bodies, solution.wrenches, strict=True):
            link = model.joints[body.name].child
            ours = six(model.tree.frames[link].pose.to_child(wrench))
            theirs = case.answer.tree_wrenches[body.name]
            if not any(j.kind == "fixed" for j in model.joints.values()):
                assert np.max(np.abs(ours - theirs)) < 1e-12 * max(size, np.max(np.abs(theirs))) / case.smallest**2


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("order", ORDERS)
def test_an_independent_set_of_redundant_conditions_gives_the_accelerations_of_the_mechanism(
    algorithm: str, order: str
) -> None:
    case = case_of("bennett")
    found = analyse(case.model, case.q)
    assert found.is_redundant
    case.assert_same(solved(case, algorithm, order=order, rows=found.by_loop(found.independent)).accelerations, 1e-12)
