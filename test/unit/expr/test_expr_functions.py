# SPDX-License-Identifier: Apache-2.0
"""Elementary functions on every kind of scalar."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ada_dynamics.expr import (
    Expr,
    Graph,
    PerLane,
    absolute,
    atan2,
    cos,
    maximum,
    minimum,
    select,
    sign,
    sin,
    sqrt,
    trace,
)
from ada_dynamics.expr.evaluate import evaluate


@pytest.mark.parametrize("ours", [sin, cos, sqrt])
def test_extended_precision_is_kept(ours):
    value = ours(np.longdouble(2) / 3)
    assert value.dtype == np.longdouble
    assert value != np.longdouble(ours(2.0 / 3.0))


_SIGNED = (0.0, -0.0, 1.5, -1.5, 1e-320, -1e200)


@pytest.mark.parametrize("y", _SIGNED)
@pytest.mark.parametrize("x", _SIGNED)
def test_the_arctangent_of_two_numbers_agrees_on_all_scalars(y, x):
    function = trace("f", {"p": 2}, lambda p: {"a": (atan2(p[0], p[1]), atan2(p[0], x), atan2(y, p[1]))})
    expected = math.atan2(y, x)
    assert atan2(y, x) == expected
    assert atan2(np.longdouble(y), np.longdouble(x)) == pytest.approx(expected)
    assert atan2(np.array([y]), x)[0] == pytest.approx(expected)
    assert atan2(PerLane([y, 2.5]), PerLane([x, 3.5])) == PerLane([expected, math.atan2(2.5, 3.5)])
    # a zero that is a constant of an expression has no sign
    unsigned = [math.atan2(y, x + 0.0), math.atan2(y + 0.0, x)]
    assert evaluate(function, p=[y, x])["a"].tolist() == [expected, *unsigned]


def test_an_arctangent_lets_the_sign_of_its_first_number_out():
    y, x = Graph().vector("p", 2)
    assert isinstance(atan2(y, 1.0), Expr)
    assert atan2(y, x) is atan2(y, x)
    assert -atan2(-y, x) is atan2(y, x)


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
