# SPDX-License-Identifier: Apache-2.0
"""Tracing: names, shapes, guards, what is refused; printed forms in C and Python."""

from __future__ import annotations

import math

import numpy as np
import pytest
from jit_examples import PRINTED as FUNCTION
from jit_examples import PRINTED_STATE as STATE
from refused import refused

from ada_dynamics.errors import InputError
from ada_dynamics.expr import (
    PerLane,
    Traced,
    absolute,
    atan2,
    cos,
    cost,
    evaluate,
    maximum,
    minimum,
    python_source,
    select,
    sign,
    sin,
    sqrt,
    to_c,
    trace,
)


def test_outputs_keep_their_shape_and_order():
    function = trace(
        "f",
        {"q": 2, "v": 1},
        lambda q, v: {"m": ((q[0], 1.0, 0.0), (v[0], q[1], 2)), "s": q[0] * v[0], "w": [q[1]]},
        order=("w", "m", "s"),
    )
    assert list(function.outputs) == ["w", "m", "s"]
    assert function.shapes == {"w": (1,), "m": (2, 3), "s": ()}
    values = evaluate(function, q=[3.0, 4.0], v=[5.0])
    assert values["m"].tolist() == [[3.0, 1.0, 0.0], [5.0, 4.0, 2.0]]
    assert values["s"] == 15.0


def test_guards_are_kept_once_and_constant_ones_are_decided():
    function = trace("f", {"q": 1}, lambda q: Traced({"y": q}, (q[0] - 1.0, q[0] - 1.0, 3.0)))
    assert len(function.guards) == 1
    with refused(InputError, field="guard", value=-1.0):
        trace("f", {"q": 1}, lambda q: Traced({"y": q}, (-1.0,)))


@pytest.mark.parametrize(
    ("inputs", "body", "facts"),
    [
        ({"q": 0}, lambda q: {"y": 1.0}, {"field": "q", "value": 0}),
        ({"q": 1}, lambda q: {"y": ((q[0],), (1.0, 2.0))}, {"field": "output", "allowed": "rows of one shape"}),
        ({"q": 1}, lambda q: {"y": ("text",)}, {"field": "y", "value": "text"}),
        ({"q": 1}, lambda q: {"q": q}, {"field": "name", "value": ("q",)}),
        ({"q": 1}, lambda q: {"y z": q}, {"field": "name", "value": "y z"}),
        ({"q": 1}, lambda q: {"y": ()}, {"field": "y", "allowed": "at least one number"}),
        ({"q": 1}, lambda q: {"y": (q, 1.0)}, {"field": "output", "allowed": "rows of one shape"}),
        ({"q": 1, "class": 1}, lambda **_: {"y": 1.0}, {"field": "name", "value": "class"}),
    ],
)
def test_wrong_functions_are_refused_with_the_reason(inputs, body, facts):
    with refused(InputError, **facts):
        trace("f", inputs, body)


def test_evaluating_with_wrong_inputs_is_refused():
    function = trace("f", {"q": 2}, lambda q: {"y": q})
    with refused(InputError, field="inputs", value=("v",)):
        evaluate(function, v=[1.0])
    with refused(InputError, field="q", value=3):
        evaluate(function, q=[1.0, 2.0, 3.0])
    with refused(InputError, field="input", value="v"):
        function.variables("v")


def test_costs_count_each_live_operation_once():
    def body(q):
        shared = q[0] * q[1]
        return {"y": (shared + 1.0, shared - q[1], -shared, 1.0 / shared, sin(q[0]) + sin(q[0]))}

    of = cost(trace("f", {"q": 2}, body))
    assert (of.additions, of.multiplications, of.divisions, of.sincos_pairs) == (2, 2, 1, 1)
    assert of.flops == 4
    assert of.critical_path == 45 + 3
    assert of.work == 40


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


def test_numbers_that_are_not_finite_and_negative_ones_are_c_and_python():
    def body(q):
        return {"y": (math.inf * q[0], q[0] - math.inf, select(q[0], 0.0, math.nan, -2.0), -2.0 - q[0], math.inf, -1.5)}

    function = trace("f", {"q": 1}, body)
    source = to_c(function).source
    for text in (
        "= (double)INFINITY * q[0];", "= (-(double)INFINITY) + q[0];", "(q[0] < 0.0) ? (double)NAN : (-2.0);",
        "= (-2.0) - q[0];", "y[4] = (double)INFINITY;", "y[5] = (-1.5);", "    return 0;\n}",
    ):  # fmt: skip
        assert text in source
    scope: dict = {}
    exec(python_source(function), scope)
    values, guards = scope["f"]([3.0])
    assert values == (math.inf, -math.inf, -2.0, -5.0, math.inf, -1.5) and guards == ()
    assert math.isnan(scope["f"]([-3.0])[0][2])


@pytest.mark.parametrize("word", ["int", "sin", "größe"])
def test_names_that_c_does_not_allow_are_refused(word):
    with refused(InputError, field="name", value=word):
        to_c(trace("f", {"q": 1}, lambda q: {word: q}))


@pytest.mark.parametrize("namespace", ["math", "numpy"])
def test_python_source_agrees(namespace):
    scope = {name: getattr(math if namespace == "math" else np, name) for name in ("sin", "cos", "sqrt")}
    scope["atan2"] = math.atan2 if namespace == "math" else np.arctan2
    exec(python_source(FUNCTION, namespace), {**scope, "where": np.where}, scope)
    inputs = [array.tolist() if namespace == "math" else list(array[:, None]) for array in STATE.values()]
    y, m, guards = scope["mixed"](*inputs)
    expected = evaluate(FUNCTION, **STATE)
    assert [float(np.ravel(x)[0]) for x in y] == expected["y"].tolist()
    assert [float(np.ravel(x)[0]) for x in m] == expected["m"].ravel().tolist()
    assert all(guard >= 0.0 for guard in guards)
