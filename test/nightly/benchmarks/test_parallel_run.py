# SPDX-License-Identifier: Apache-2.0
"""An evaluation that is run depth by depth, in lanes, on threads or on a device, gives what the recursion gives."""

from __future__ import annotations

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.arrays import Array
from benchmarks import parallel_run


@pytest.fixture(scope="module")
def steps() -> parallel_run.Steps:
    return parallel_run.Steps()


def states(start: parallel_run.Start) -> list[tuple[Array, Array, Array]]:
    """Two states: at the second one, arrays hold what was before."""
    _, q, v, tau = start
    return [(q, v, tau), (q, -v, tau[::-1].copy())]


@pytest.mark.parametrize(("links", "threads"), [(4, 2), (16, 1), (64, 2), (64, 8)])
def test_accelerations_are_those_of_aba(steps: parallel_run.Steps, links: int, threads: int) -> None:
    start = parallel_run.on_chain(links)
    chain, dynamics = parallel_run.Chain(start.model, steps, threads), ada.Dynamics(start.model, "aba")
    for state in states(start):
        chain.set(*state)
        chain.run()
        expected = dynamics.forward(*state)
        assert np.abs(chain.acceleration - expected).max() < 1e-13 * np.abs(expected).max()


@pytest.mark.parametrize(("links", "threads"), [(8, 1), (8, 4), (16, 2)])
def test_accelerations_of_a_ring_are_those_of_the_elimination_of_its_loop(
    steps: parallel_run.Steps, links: int, threads: int
) -> None:
    start = parallel_run.on_ring(links)
    ring = parallel_run.Chain(start.model, steps, threads)
    dynamics = ada.Dynamics(start.model, "aba", q0=start.q)
    assembled = ada.Dynamics(start.model, "ada", order="balanced", q0=start.q)
    for state in states(start):
        ring.set(*state)
        ring.run()
        expected = dynamics.forward(*state)
        allowed = 10.0 * np.abs(assembled.forward(*state) - expected).max() + 1e-14 * np.abs(expected).max()
        assert allowed < 1e-10 * np.abs(expected).max()
        assert np.abs(ring.acceleration - expected).max() < allowed
