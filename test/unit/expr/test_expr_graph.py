# SPDX-License-Identifier: Apache-2.0
"""Nodes, folding, and the refusal of everything that has no meaning before run time."""

from __future__ import annotations

import math
import operator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refused import refused

from ada_dynamics.errors import InputError
from ada_dynamics.expr import Expr, Graph, cos, evaluate, pack, select, sin, sqrt, trace


@pytest.fixture
def xy() -> tuple[Expr, Expr]:
    x, y = Graph().vector("q", 2)
    return x, y


def test_a_result_that_is_constant_is_a_plain_float(xy):
    x, _ = xy
    for value in (0.0 * x, x * 0.0, x - x, 0.0 * (x + 1.0), x + (-x), (2.0 * x) - (2.0 * x), x**0):
        assert type(value) is float
    assert x**0 == 1.0


def test_equal_terms_are_one_node(xy):
    x, y = xy
    assert x + y is y + x
    assert x * y is y * x
    assert x + x is 2.0 * x
    assert 2.0 * (3.0 * x) is 6.0 * x
    assert (x * 0.5) * 4.0 is 2.0 * x
    assert x - 2.0 is x + (-2.0)
    assert (x + 1.0) + 2.0 is x + 3.0
    assert -(x - y) is y - x
    assert -(3.0 - x) is x - 3.0
    assert x / 4.0 is 0.25 * x
    assert sin(-x) is -sin(x)
    assert cos(-x) is cos(x)
    assert x.graph.variable("q", 0) is x


@pytest.mark.parametrize("number", [3, 3.0, np.float64(3), np.float32(3), np.int64(3), Fraction(3), np.longdouble(3)])
def test_numbers_of_every_kind_are_taken_on_both_sides(xy, number):
    x, _ = xy
    assert x + number is number + x is x + 3.0
    assert x * number is number * x is x * 3.0
    assert x - number is x - 3.0
    assert number - x is 3.0 - x
    assert x / number is x / 3.0
    assert number / x is 3.0 / x


@pytest.mark.parametrize("compare", [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge])
def test_comparing_expressions_is_refused_and_select_is_named(xy, compare):
    x, y = xy
    for other in (y, 1.0):
        with pytest.raises(TypeError):
            compare(x, other)


def test_an_expression_has_no_truth_value(xy):
    for convert in (bool, float, math.sin):
        with pytest.raises(TypeError):
            convert(xy[0])


@pytest.mark.parametrize("other", ["a", None, (1.0,), np.zeros(2), 1j])
def test_operands_that_are_not_numbers_are_refused(xy, other):
    for operation in (operator.add, operator.sub, operator.mul, operator.truediv):
        with pytest.raises(TypeError):
            operation(xy[0], other)
        with pytest.raises(TypeError):
            operation(other, xy[0])


def test_division_by_a_constant_zero_is_refused_while_tracing(xy):
    with pytest.raises(ZeroDivisionError):
        xy[0] / 0.0


def test_expressions_of_two_graphs_do_not_mix(xy):
    stranger = Graph().variable("q", 0)
    for make in (lambda: xy[0] + stranger, lambda: xy[0] * stranger, lambda: select(xy[0], stranger, 1.0, 0.0)):
        with refused(InputError, field="graph"):
            make()


# Small whole numbers and a few operations: every result is exact, so folding may change nothing at all.
_numbers = st.integers(-3, 3).map(float)
_steps = st.lists(st.tuples(st.sampled_from("+-*n"), st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=12)


@given(inputs=st.lists(_numbers, min_size=3, max_size=3), constants=st.lists(_numbers, min_size=3), steps=_steps)
def test_folding_never_changes_an_exact_result(inputs, constants, steps):
    def run(pool):
        for op, i, j in steps:
            a, b = pool[i % len(pool)], pool[j % len(pool)]
            pool.append(-a if op == "n" else a + b if op == "+" else a - b if op == "-" else a * b)
        return pool

    expected = run([*inputs, *constants])
    if any(abs(value) > 2.0**50 for value in expected):
        return
    function = trace("f", {"q": 3}, lambda q: {"y": tuple(run([*q, *constants]))})
    assert [float(value) for value in evaluate(function, q=inputs)["y"]] == expected


@given(x=st.floats(0.1, 10.0), y=st.floats(0.1, 10.0), c=st.floats(-5.0, 5.0))
def test_folding_of_quotients_and_functions_agrees_with_plain_arithmetic(x, y, c):
    def body(a, b):
        return (
            c / a,
            (-a) / b,
            a / (b * c + 60.0),
            sin(-a) * cos(-b) + sqrt(a) / b,
            a**3 - c * (c * a),
            select(a, b, a * c, b - c),
            (c - a) - (b - c),
        )

    function = trace("f", {"q": 2}, lambda q: {"y": body(*q)})
    assert evaluate(function, q=[x, y])["y"] == pytest.approx(body(x, y), rel=1e-13, abs=1e-13)


def test_powers_are_whole_and_at_most_64(xy):
    x, _ = xy
    assert x**5 is (x * x) * (x * x) * x
    assert x**-3 is 1.0 / ((x * x) * x)
    assert x**64 is (x**32) * (x**32)
    assert x**-64 is 1.0 / x**64
    for exponent in (65, -65, 2.5, -0.5):
        with pytest.raises(TypeError):
            x**exponent


@pytest.mark.parametrize(
    ("outer", "inner", "merge"),
    [
        (2.0, 3.0, True),
        (1e-100, 1e-100, True),
        (1e100, 1e100, True),
        (1e-100, 1e-250, False),
        (1e100, 1e250, False),
        (1e-300, 1.5, False),
    ],
)
def test_constant_factors_are_one_unless_their_product_is_near_the_ends_of_the_doubles(xy, outer, inner, merge):
    x, y = xy
    assert (outer * (inner * x) is (outer * inner) * x) is merge
    lanes = pack([x, y])
    for sign in (1.0, -1.0):
        product = pack([1.5, sign * outer]) * (pack([1.5, sign * inner]) * lanes)
        assert (product.args[1] is lanes) is merge
