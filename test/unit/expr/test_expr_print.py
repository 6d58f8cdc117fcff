# SPDX-License-Identifier: Apache-2.0
"""Printed forms: C that compiles and agrees, Python source, LaTeX."""

from __future__ import annotations

import math

import numpy as np
import pytest
from jit_examples import PRINTED as FUNCTION
from jit_examples import PRINTED_STATE as STATE
from refused import refused

from ada_dynamics.errors import InputError
from ada_dynamics.expr import (
    atan2,
    cos,
    evaluate,
    python_source,
    select,
    sin,
    to_c,
    to_latex,
    trace,
)


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


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (lambda a, b, c: (a - b) - c, r"a - b - c"),
        (lambda a, b, c: a - (b - c), r"a - \left(b - c\right)"),
        (lambda a, b, c: (a + b) * c, r"c \, \left(a + b\right)"),
        (lambda a, b, c: -(a + b), r"-\left(a + b\right)"),
        (lambda a, b, c: (a + b) / (b - c), r"\frac{a + b}{b - c}"),
        (lambda a, b, c: sin(a) * cos(b), r"\sin a \, \cos b"),
        (lambda a, b, c: sin(a) * sin(a), r"\left(\sin a\right)^2"),
        (lambda a, b, c: sin(atan2(a, b)), r"\sin \operatorname{atan2}\left(a, b\right)"),
        (
            lambda a, b, c: a * select(b, c, 2.0, b),
            r"a \, \left(\begin{cases} 2 & b < c \\ b & \text{otherwise} \end{cases}\right)",
        ),
        (lambda a, b, c: sin(a - 3.0), r"\sin \left(-3 + a\right)"),
        (lambda a, b, c: a * (2e-7 + b), r"a \, \left(2 \cdot 10^{-7} + b\right)"),
        (lambda a, b, c: atan2(1.0, a), r"\operatorname{atan2}\left(1, a\right)"),
    ],
)
def test_latex_has_the_parentheses_that_are_needed_and_no_others(expression, text):
    value = trace("f", {"q": 3}, lambda q: {"y": expression(*q)}).outputs["y"][0]
    printed = to_latex({"y": value}, name=lambda _, position: "abc"[position])
    assert printed == ((), {"y": text})


def test_latex_gives_a_name_to_what_is_printed_and_used():
    a, b = trace("f", {"q": 2}, lambda q: {"y": q}).outputs["y"]
    printed = to_latex({"s": a + b, "p": (a + b) * (2.0 * a), "d": 2.0 * a, "m": -b, "n": -b})
    assert printed.definitions == (("x_{1}", "q_{1} + q_{2}"), ("x_{2}", r"2 \, q_{1}"))
    assert printed.expressions == {"s": "x_{1}", "p": r"x_{1} \, x_{2}", "d": "x_{2}", "m": "-q_{2}", "n": "-q_{2}"}
    twice = to_latex({"s": a * b, "t": a * b})
    assert twice == ((("x_{1}", r"q_{1} \, q_{2}"),), {"s": "x_{1}", "t": "x_{1}"})
    assert printed.aligned() == (
        "\\begin{aligned}\nx_{1} &= q_{1} + q_{2} \\\\\nx_{2} &= 2 \\, q_{1} \\\\\ns &= x_{1} \\\\\n"
        "p &= x_{1} \\, x_{2} \\\\\nd &= x_{2} \\\\\nm &= -q_{2} \\\\\nn &= -q_{2}\n\\end{aligned}\n"
    )
