# SPDX-License-Identifier: Apache-2.0
"""An evaluation that is really run depth by depth, in lanes and on threads, gives what the recursion gives."""

from __future__ import annotations

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
    model = parallel_run.chain(links)
    chain = parallel_run.Chain(model, steps, threads)
    rng = np.random.default_rng(links)
    for _ in range(2):  # the second time, the arrays hold what was before
        q, v, tau = (rng.normal(size=links) for _ in range(3))
        chain.set(q, v, tau)
        chain.run()
        expected = ada.Dynamics(model, "aba").forward(q, v, tau)
        assert np.abs(chain.acceleration - expected).max() < 1e-13 * np.abs(expected).max()


@pytest.mark.parametrize(("links", "threads"), [(6, 1), (8, 3), (4, 4)])
def test_blocks_are_powers_of_two(steps: parallel_run.Steps, links: int, threads: int) -> None:
    with pytest.raises(InputError, match=f"{links} links and {threads} threads: give powers of two"):
        parallel_run.Chain(parallel_run.chain(links), steps, threads)
