# SPDX-License-Identifier: Apache-2.0
"""Terms that cancel are gone before run time, others stay; and how a node is shown."""

from __future__ import annotations

import pytest

from ada_dynamics.expr import Expr, Graph, pack
from ada_dynamics.expr.functions import product_and_sum
from ada_dynamics.expr.graph import multiply_add


@pytest.fixture
def xyz() -> tuple[Expr, Expr, Expr]:
    x, y, z = Graph().vector("q", 3)
    return x, y, z


def test_what_is_taken_off_and_added_again_is_gone(xyz):
    x, y, _ = xyz
    assert x + (y - x) is y
    assert (y - x) + x is y
    for value in (x + (3.0 - x), (3.0 - x) + x):
        assert type(value) is float and value == 3.0


def test_a_difference_stays_where_another_term_is_added(xyz):
    x, y, z = xyz
    for value, operands in (
        (y + (y - x), (y, y - x)),
        ((y - x) + y, (y, y - x)),
        (z + (y - x), (z, y - x)),
        ((y + x) + x, (x, y + x)),
    ):
        assert value.op == "add" and set(value.args) == set(operands)


def test_a_quotient_times_its_divisor_is_the_dividend(xyz):
    x, y, _ = xyz
    assert x * (y / x) is y and (y / x) * x is y
    assert y * (x / y) is x and (x / y) * y is x
    for value, wanted in ((x * (3.0 / x), 3.0), (x * (1.0 / x), 1.0), ((1.0 / x) * x, 1.0), (x / x, 1.0)):
        assert type(value) is float and value == wanted


def test_a_quotient_stays_where_another_factor_comes(xyz):
    x, y, z = xyz
    for value, operands in ((y * (y / x), (y, y / x)), (z * (y / x), (z, y / x)), (z * (x * y), (z, x * y))):
        assert value.op == "mul" and set(value.args) == set(operands)
    assert (z * (1.0 / x)).args == (z, 1.0 / x)


def test_powers_are_whole_and_at_most_64(xyz):
    x, _, _ = xyz
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
def test_constant_factors_are_one_unless_their_product_is_near_the_ends_of_the_doubles(xyz, outer, inner, merge):
    x, y, _ = xyz
    assert (outer * (inner * x) is (outer * inner) * x) is merge
    lanes = pack([x, y])
    for sign in (1.0, -1.0):
        product = pack([1.5, sign * outer]) * (pack([1.5, sign * inner]) * lanes)
        assert (product.args[1] is lanes) is merge


def test_a_product_and_sum_in_one_is_found_again_with_its_factors_turned_round(xyz):
    x, y, z = xyz
    one = multiply_add(x, y, z)
    assert (one.op, one.args) == ("fma", (x, y, z))
    assert multiply_add(y, x, z) is one
    assert multiply_add(x, z, y) is not one


def test_a_product_and_sum_is_one_node_where_something_is_rounded_twice(xyz):
    x, y, _ = xyz
    assert product_and_sum(2.0, 3.0, 4.0) == 10.0
    assert product_and_sum(1.0, x, y) is x + y
    assert product_and_sum(x, 0.0, y) is y
    assert product_and_sum(x, y, 0.0) is x * y
    assert product_and_sum(x, 2.0, y).op == product_and_sum(x, y, 2.0).op == product_and_sum(x, 0.5, 1.0).op == "fma"
    assert product_and_sum(x, y, 2.0).args[2].value == 2.0


def test_a_node_is_shown_by_its_name_value_or_number(xyz):
    x, y, _ = xyz
    assert (repr(x), repr(y), repr(x.graph.constant(2.5))) == ("q[0]", "q[1]", "2.5")
    assert repr(x * y) == f"<Expr mul #{(x * y).index}>"
