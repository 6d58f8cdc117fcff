# SPDX-License-Identifier: Apache-2.0
"""The judge of linkages in motion is right: against pinocchio, a closed form, other references and itself."""

from __future__ import annotations

import numpy as np
import pytest
from mechanism_oracle import Oracle
from tiers import nightly

from benchmarks.linkages.families import FAMILIES
from benchmarks.linkages.judge import Judge
from benchmarks.linkages.linkage import GROUND, Linkage, Long, Pin, Solid, model_of
from benchmarks.linkages.marching import ORDER_8, march
from benchmarks.linkages.trials import largest, start_rates

QUICK = ("bennett", "spherical_4", "sarrus")
SMALL = 1e-16  # a thousand units in the last place of an extended number


def states(judge: Judge, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    q = np.zeros((len(judge.linkages), judge.n), dtype=Long)
    return q, start_rates(judge, q, rng.normal(size=q.shape))


@pytest.mark.parametrize("family", [f if f in QUICK else nightly(f) for f in FAMILIES])
def test_a_linkage_closes_exactly_moves_and_has_the_mobility_it_says(family: str) -> None:
    rng = np.random.default_rng(5)
    judge = Judge([FAMILIES[family](rng) for _ in range(3)])
    q, v = states(judge)
    J = judge.residual(judge.place(q))[1].astype(float)
    assert judge.gap(q).max() < SMALL
    assert [np.linalg.matrix_rank(one, 1e-10) for one in J] == [judge.n - judge.m] * 3
    course = march(judge, q, v, 0.05, 0.005, 0.01, ORDER_8)
    assert not course.lost.any()
    assert largest(course.angles[-1]) > 0.05
    assert max(course.gap) < SMALL
    assert max(course.defect) < 1000 * SMALL  # of accelerations of up to some hundred rad/s²


@pytest.mark.parametrize("family", [f if f in QUICK else nightly(f) for f in FAMILIES])
def test_masses_forces_and_accelerations_are_those_of_another_reference(family: str) -> None:
    rng = np.random.default_rng(6)
    judge = Judge([FAMILIES[family](rng)])
    made = model_of(judge.linkages[0], rng)
    oracle = Oracle(made.model)
    q, v = rng.uniform(-1, 1, (1, judge.n)).astype(Long), rng.normal(size=(1, judge.n)).astype(Long)
    M, h = judge.mass_matrix_and_bias(q, v)
    angles, rates = made.q(judge.all_angles(q)[0]), made.v(judge.all_rates(q, v)[0])
    assert made.pins.tolist() == list(range(judge.n))
    assert largest(oracle.tree.mass_matrix(angles) - M[0]) < 1e-14 * largest(M)
    assert largest(oracle.tree.bias(angles, rates) - h[0]) < 1e-14 * largest(h)
    q, v = states(judge, 7)
    charts = judge.charts(q)
    q, at, J = judge.close(q, charts)
    tau = rng.normal(size=judge.n)
    motion = judge.move(at, J, np.take_along_axis(v, charts.free, 1), charts, tau)
    answer = oracle.forward(made.q(judge.all_angles(q)[0]), made.v(judge.all_rates(q, v)[0]), tau)
    assert answer.rank == judge.n - judge.m
    assert largest(answer.acceleration - motion.a[0]) < 1e-11 * (1.0 + largest(motion.a))


@pytest.mark.parametrize("elevation", [0.3, 1.2])
def test_a_rhombus_swings_as_its_closed_form_says(elevation: float) -> None:
    x, y = np.eye(3, dtype=Long)[:2]
    e = np.array([np.cos(Long(elevation)), 0, np.sin(Long(elevation))], dtype=Long)
    rods = [(e / 2, e), (e + x / 2, x), (x + e / 2, e)]
    solids = tuple(Solid(Long(1), com, (np.eye(3) - np.outer(u, u)) / Long(12)) for com, u in rods)
    tree = (Pin(GROUND, 0, y, 0 * e), Pin(0, 1, y, e), Pin(1, 2, y, e + x))
    judge = Judge([Linkage("rhombus", solids, tree, (Pin(2, GROUND, y, x),), 1)])
    charts = judge.charts(np.zeros((1, 3)))
    _, at, J = judge.close(np.zeros((1, 3), dtype=Long), charts)
    motion = judge.move(at, J, np.array([[2.0]], dtype=Long), charts)
    # About +y an angle takes x to -z: it grows while the elevation falls.
    assert float(motion.a[0, 0]) == pytest.approx(1.2 * 9.81 * np.cos(elevation), rel=1e-15)
