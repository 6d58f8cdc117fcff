# SPDX-License-Identifier: Apache-2.0
"""Printed forms: C that compiles and agrees, Python source."""

from __future__ import annotations

import math

import numpy as np
import pytest
from jit_examples import PRINTED as FUNCTION
from jit_examples import PRINTED_STATE as STATE
from refused import refused

from ada_dynamics.errors import InputError
from ada_dynamics.expr import evaluate, python_source, select, to_c, trace


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
