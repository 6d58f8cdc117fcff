# SPDX-License-Identifier: Apache-2.0
"""Long chains are as accurate as short ones: against two recursions in 80-bit floats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ada_dynamics as ada
from ada_dynamics.algorithms import aba, dca, order_n
from ada_dynamics.algorithms import ada as assembly_disassembly
from ada_dynamics.algorithms.assembly_order import ORDERS

Array = NDArray[Any]


def state(n: int, seed: int) -> tuple[ada.Model, Array, Array, Array]:
    rng = np.random.default_rng(seed)
    return ada.chain_3d(n), rng.uniform(-3.0, 3.0, n), rng.normal(size=n), rng.normal(size=n)


def exact(model: ada.Model, *given: Array) -> tuple[Array, float]:
    """Accelerations in extended precision, and the largest of them."""
    extended = [[np.longdouble(x) for x in values] for values in given]
    one, other = (np.array(by.forward_dynamics(model.tree, *extended)) for by in (aba, order_n))
    size = float(np.max(np.abs(one)))
    assert one.dtype == np.longdouble and float(np.max(np.abs(one - other))) < 1e-15 * size
    return one.astype(float), size


@pytest.mark.parametrize(
    ("n", "kernel"),
    [
        (7, "specialised"),
        (32, "specialised"),
        (32, "generic"),
        (128, "generic"),
        pytest.param(1024, "generic", marks=pytest.mark.fuzz),
    ],
)
def test_chains_are_right_to_the_last_digits(n: int, kernel: Any) -> None:
    model, q, v, tau = state(n, 0)
    wanted, size = exact(model, q, v, tau)
    found = ada.Dynamics(model, kernel=kernel).forward(q, v, tau)
    assert float(np.max(np.abs(found - wanted))) < 1e-13 * size


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("solve", [assembly_disassembly, dca], ids=["ada", "dca"])
def test_assembling_a_chain_loses_no_digits_in_any_order(solve: Any, order: str) -> None:
    model, q, v, tau = state(64, 2)
    wanted, size = exact(model, q, v, tau)
    found = solve.forward_dynamics(model.tree, q.tolist(), v.tolist(), tau.tolist(), order=order)
    assert float(np.max(np.abs(found - wanted))) < 1e-12 * size
