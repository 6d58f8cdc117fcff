# SPDX-License-Identifier: Apache-2.0
"""Elementary functions on every kind of scalar."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ada_dynamics.expr import Expr, Graph, absolute, cos, maximum, minimum, select, sign, sin, sqrt, trace
from ada_dynamics.expr.evaluate import evaluate


@pytest.mark.parametrize(("ours", "reference"), [(sin, math.sin), (cos, math.cos), (sqrt, math.sqrt)])
def test_floats_stay_floats(ours, reference):
    assert type(ours(0.7)) is float
    assert ours(0.7) == reference(0.7)
    assert ours(2) == reference(2)


@pytest.mark.parametrize("ours", [sin, cos, sqrt])
def test_extended_precision_is_kept(ours):
    value = ours(np.longdouble(2) / 3)
    assert value.dtype == np.longdouble
    assert value != np.longdouble(ours(2.0 / 3.0))


@pytest.mark.parametrize(("ours", "reference"), [(sin, np.sin), (cos, np.cos), (sqrt, np.sqrt), (absolute, np.abs)])
def test_arrays_go_element_by_element(ours, reference):
    values = np.array([0.5, 1.5, 2.5])
    assert np.array_equal(ours(values), reference(values))


def test_expressions_give_nodes():
    x = Graph().variable("q", 0)
    assert all(isinstance(f(x), Expr) for f in (sin, cos, sqrt, absolute, sign))


def test_select_folds_whatever_is_known():
    x, y = Graph().vector("q", 2)
    assert select(1.0, 2.0, x, y) is x
    assert select(2.0, 1.0, x, y) is y
    assert select(x, x, 1.0, 2.0) == 2.0
    assert select(x, y, x, x) is x
    assert select(x, y, 3.0, 3.0) == 3.0
    assert select(1.0, 2.0, 3.0, 4.0) == 3.0
    assert isinstance(select(x, y, 1.0, np.float64(2.0)), Expr)


@pytest.mark.parametrize("value", [-2.5, -0.0, 0.0, 3.5])
def test_the_functions_made_of_select_agree_on_all_scalars(value):
    function = trace(
        "f", {"q": 1}, lambda q: {"y": (absolute(q[0]), sign(q[0]), minimum(q[0], 1.0), maximum(q[0], 1.0))}
    )
    expected = (abs(value), float(np.sign(value)), min(value, 1.0), max(value, 1.0))
    for scalar in (value, np.longdouble(value), np.array([value])):
        direct = [absolute(scalar), sign(scalar), minimum(scalar, 1.0), maximum(scalar, 1.0)]
        assert [float(np.ravel(x)[0]) for x in direct] == list(expected)
    assert tuple(evaluate(function, q=[value])["y"]) == expected


def test_select_takes_the_second_branch_for_nan():
    assert select(math.nan, 1.0, 5.0, 6.0) == 6.0
    assert select(np.array([math.nan, 0.0]), 1.0, 5.0, 6.0).tolist() == [6.0, 5.0]
