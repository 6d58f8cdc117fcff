# SPDX-License-Identifier: Apache-2.0
"""An evaluation that is really run depth by depth, in lanes and on threads, gives what the recursion gives."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.errors import InputError
from benchmarks import parallel_run


@pytest.fixture(scope="module")
def steps() -> parallel_run.Steps:
    return parallel_run.Steps()


@pytest.mark.parametrize(("links", "threads"), [(2, 1), (4, 2), (16, 1), (64, 2), (64, 8)])
def test_accelerations_are_those_of_aba(steps: parallel_run.Steps, links: int, threads: int) -> None:
    _compare(parallel_run.on_chain(links), "aba", steps, threads, 1e-13)


@pytest.mark.parametrize(("links", "threads"), [(8, 1), (8, 4), (16, 2), (64, 2)])
def test_accelerations_of_a_ring_are_those_of_the_elimination_of_its_loop(
    steps: parallel_run.Steps, links: int, threads: int
) -> None:
    _compare(parallel_run.on_ring(links), "auto", steps, threads, 1e-12)


def _compare(
    start: parallel_run.Start,
    algorithm: Literal["aba", "auto"],
    steps: parallel_run.Steps,
    threads: int,
    tolerance: float,
) -> None:
    model, q, v, tau = start
    chain = parallel_run.Chain(model, steps, threads)
    dynamics = ada.Dynamics(model, algorithm, pose=q if model.loops else None)
    for k in range(2):  # the second time, the arrays hold what was before
        state = q, (1.0 - 2.0 * k) * v, tau[::-1].copy() if k else tau
        chain.set(*state)
        chain.run()
        expected = dynamics.forward(*state)
        assert np.abs(chain.acceleration - expected).max() < tolerance * np.abs(expected).max()


@pytest.mark.parametrize(("links", "threads"), [(6, 1), (8, 3), (4, 4)])
def test_blocks_are_powers_of_two(steps: parallel_run.Steps, links: int, threads: int) -> None:
    with pytest.raises(InputError, match=f"{links} links and {threads} threads: give powers of two"):
        parallel_run.Chain(parallel_run.chain(links), steps, threads)
