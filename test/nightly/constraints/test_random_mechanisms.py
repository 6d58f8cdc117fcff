# SPDX-License-Identifier: Apache-2.0
"""Random mechanisms with loops of every type move as a dense reference in extended precision says."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from mechanism_oracle import Case, Oracle, same_motion
from numpy.typing import NDArray
from spanning_trees import exchanged, exchanges

import ada_dynamics as ada
from ada_dynamics.constraints.analysis import analyse, unique_in_general
from ada_dynamics.constraints.elimination import make_plans
from ada_dynamics.dynamics.closed_quantities import SOLVERS
from trials.random_mechanism import random_mechanism

Array = NDArray[np.float64]

# The conditions of random mechanisms have condition numbers up to some 1e4, whose square the elimination sees.
SAME = 1e-9
NEARLY_SINGULAR = 3e-4  # smallest singular value, under which the kernels hand over to the dense tier


def case_of(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    made = random_mechanism(rng, floating=seed % 3 == 0, spatial=seed % 4 != 1, losses=seed % 5 == 0)
    return Case(*made, seed)


def all_plans(model: ada.Model, q: Array, v: Array, tau: Array) -> Mapping[str, Array]:
    """Accelerations by every algorithm and order of elimination."""
    found = analyse(model, q)
    plans = make_plans(found)
    state = (q.tolist(), v.tolist(), tau.tolist())
    return {
        name: np.array(SOLVERS[name.split()[0]](model.tree, *state, plan).accelerations)
        for name, plan in plans.candidates.items()
    }


def check(seed: int) -> None:
    """One mechanism: rank, accelerations of every plan, and the same for another spanning tree."""
    case = case_of(seed)
    if case.smallest < NEARLY_SINGULAR:
        return
    found = analyse(case.model, case.q)
    assert found.rank == case.answer.rank
    for a in all_plans(case.model, *case.state).values():
        case.assert_same(a, SAME)
    flags = unique_in_general(found)
    for loop, unique in case.answer.unique.items():
        # what is unique in general is so here; a special pose may lose some
        assert not np.any(flags[loop] & ~np.asarray(unique)), f"loop {loop}, seed {seed}"


def unturned(one: ada.Model, other: ada.Model) -> list[str]:
    """Joints of both trees that carry the same link on the same link."""
    shared = [name for name in one.joint_names if name in other.joint_names]
    first, second = ({n: (m.joints[n].parent, m.joints[n].child) for n in shared} for m in (one, other))
    return [n for n in shared if first[n] == second[n]]


def check_cuts(seed: int) -> int:
    """Accelerations and unique wrenches are the same for other spanning trees; returns how many were tried."""
    case = case_of(seed)
    if case.smallest < NEARLY_SINGULAR:
        return 0
    choices = list(exchanges(case.model))
    chosen = np.random.default_rng(seed).permutation(len(choices))[:2].tolist()
    for other, q in (exchanged(case.model, case.q, *choices[i]) for i in chosen):
        shared = unturned(case.model, other)
        tau = np.zeros(case.model.nv)
        tau_other = np.zeros(other.nv)
        for name in shared:
            tau[case.model.v_index(name)] = tau_other[other.v_index(name)] = case.tau[case.model.v_index(name)]
        v = np.asarray(same_motion(case.oracle, case.q, case.v, Oracle(other), q), dtype=np.float64)
        ours = next(iter(all_plans(case.model, case.q, case.v, tau).values()))
        for name, a in all_plans(other, q, v, tau_other).items():
            for joint in shared:
                one, two = ours[case.model.v_index(joint)], a[other.v_index(joint)]
                assert np.allclose(one, two, atol=SAME * max(1.0, np.max(np.abs(ours)))), (
                    f"{name}, {joint}, seed {seed}"
                )
    return len(chosen)


def test_other_spanning_trees_of_random_mechanisms_move_alike() -> None:
    assert sum(check_cuts(seed) for seed in range(4)) >= 4


@pytest.mark.parametrize("seed", range(12))
def test_random_mechanisms_move_as_the_reference_says(seed: int) -> None:
    check(seed)


@pytest.mark.fuzz
@pytest.mark.parametrize("start", range(0, 3000, 50))
def test_thousands_of_random_mechanisms_move_as_the_reference_says(start: int) -> None:
    for seed in range(start, start + 50):
        check(seed)
        if seed % 5 == 0:
            check_cuts(seed)
