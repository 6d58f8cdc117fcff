# SPDX-License-Identifier: Apache-2.0
"""An evaluation that is run depth by depth, in lanes, on threads or on a device, gives what the recursion gives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.on_device import machine_of
from benchmarks import parallel_run
from benchmarks.parallel_sites import OnThreads


@pytest.fixture(scope="module")
def steps() -> parallel_run.Steps:
    return parallel_run.Steps()


@pytest.fixture(scope="module", params=["host", pytest.param("cuda", marks=pytest.mark.gpu)])
def launches(request) -> parallel_run.Steps:
    return parallel_run.Steps(OnThreads(machine_of(request.param)))


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


@pytest.mark.parametrize(
    ("links", "threads"),
    [(8, 1), (8, 4), (16, 2)],
)
def test_accelerations_of_a_ring_are_those_of_the_elimination_of_its_loop(
    steps: parallel_run.Steps, links: int, threads: int
) -> None:
    """As near as the library's own ADA is in the same order: operators of long loose chains cost it digits."""
    start = parallel_run.on_ring(links)
    ring = parallel_run.Chain(start.model, steps, threads)
    dynamics = ada.Dynamics(start.model, "aba", pose=start.q)
    assembled = ada.Dynamics(start.model, "ada", order="balanced", pose=start.q)
    for state in states(start):
        ring.set(*state)
        ring.run()
        expected = dynamics.forward(*state)
        allowed = 10.0 * np.abs(assembled.forward(*state) - expected).max() + 1e-14 * np.abs(expected).max()
        assert allowed < 1e-10 * np.abs(expected).max()
        assert np.abs(ring.acceleration - expected).max() < allowed


@pytest.mark.parametrize(
    ("begin", "links"),
    [(parallel_run.on_chain, 4), (parallel_run.on_chain, 64), (parallel_run.on_ring, 16)],
)
def test_a_launch_for_each_depth_gives_the_same_accelerations(
    steps: parallel_run.Steps, launches: parallel_run.Steps, begin: Callable[[int], parallel_run.Start], links: int
) -> None:
    start = begin(links)
    here, there = (parallel_run.Chain(start.model, of) for of in (steps, launches))
    for state in states(start):
        for one in (here, there):
            one.set(*state)
            one.run()
        assert np.abs(there.acceleration - here.acceleration).max() < 1e-10 * np.abs(here.acceleration).max()
