# SPDX-License-Identifier: Apache-2.0
"""Outputs that are columns of one function: the same numbers written out, compiled, in batches and differentiated."""

from __future__ import annotations

import numpy as np
import pytest

from ada_dynamics.expr import Traced, cos, evaluate, expand, jvp, trace
from ada_dynamics.expr.function import COLUMN, SHARED, Columns, Function
from ada_dynamics.jit import Kernel, Signature

COUNTS = (1, 3, 8, 11)  # columns: fewer than lanes, as many, more


def example(count: int) -> Function:
    """X = cos(p0) times the columns [p0 + i p1; p1 i²; 2], beside a plain output and a constant matrix."""
    each = trace("each", {SHARED: 1, COLUMN: 3}, lambda shared, column: {"x": [shared[0] * c for c in column]})

    def body(p):
        rows = [[p[0] + i * p[1] for i in range(count)], [p[1] * i * i for i in range(count)], [2.0] * count]
        constant = [[float(i + j) for i in range(count)] for j in range(3)]
        columns = [
            Columns(name, each, (cos(p[0]),), tuple(map(tuple, m))) for name, m in (("X", rows), ("C", constant))
        ]
        return Traced({"y": [p[0] * p[1]]}, columns=columns)

    return trace("example", {"p": 2}, body, ("X", "y", "C"))


def expected(p, count):
    i = np.arange(count)
    X = np.cos(p[0]) * np.array([p[0] + i * p[1], p[1] * i * i, np.full(count, 2.0)])
    return X, np.array([p[0] * p[1]]), np.cos(p[0]) * (i + np.arange(3.0)[:, None])


@pytest.mark.parametrize("count", COUNTS)
def test_all_ways_to_run_it_agree(count):
    function = example(count)
    kernel = Kernel(Signature.of(function), lambda: function, f"columns {count}")
    states = np.random.default_rng(count).normal(size=(19, 2))
    batch, turned = kernel.batch(states), kernel.batch(np.asfortranarray(states))
    for k, p in enumerate(states):
        wanted = expected(p, count)
        found = evaluate(function, p=p.tolist())
        for name, whole, of_batch, of_turned, one in zip("XyC", wanted, batch, turned, kernel.single(p), strict=True):
            for value in (found[name], of_batch[k], of_turned[k], one):
                assert np.allclose(value, whole, rtol=0.0, atol=1e-14 * max(1.0, np.max(np.abs(whole))))


def test_written_out_and_differentiated_it_is_a_plain_function():
    function = example(3)
    assert not expand(function).columns
    p, d = [0.3, 0.7], [0.2, -0.4]
    along = evaluate(jvp(function), p=p, d_p=d)["d_X"]
    ahead, behind = (expected([x + h * y for x, y in zip(p, d, strict=True)], 3)[0] for h in (1e-6, -1e-6))
    assert np.allclose(along, (ahead - behind) / 2e-6, rtol=0.0, atol=1e-9)


def test_a_number_that_is_not_finite_in_a_column_is_told_of():
    function = example(11)
    kernel = Kernel(Signature.of(function), lambda: function, "columns 11")
    assert kernel.single_status(np.array([0.1, 1e308]))[1] == 1
    assert kernel.single_status(np.array([0.1, 1.0]))[1] == 0
