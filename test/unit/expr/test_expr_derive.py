# SPDX-License-Identifier: Apache-2.0
"""Derivatives against finite differences in extended precision, and the two modes against each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refused import refused

from ada_dynamics.errors import InputError
from ada_dynamics.expr import (
    absolute,
    atan2,
    cos,
    evaluate,
    gradient,
    jacobian,
    jvp,
    make_function,
    select,
    sin,
    sqrt,
    trace,
)


def _body(q, v):
    a, b, c = q
    return {
        "y": (
            sin(a * b) / (2.0 + cos(c)),
            sqrt(3.0 + a * a) - c / (b * b + 1.0),
            select(a, b, a * a, -b * c) + absolute(c) * v[0],
        ),
        "z": (a - 2.0) * (3.0 - b) - v[1] ** 3 + (1.0 - a) + atan2(a * b - 5.0, c * c + 1.0) + atan2(-v[0], 4.0 + b),
    }


FUNCTION = trace("f", {"q": 3, "v": 2}, _body)
_states = st.lists(st.floats(-3.0, 3.0), min_size=5, max_size=5).filter(
    # Away from the kinks of select and absolute, where there is no derivative.
    lambda s: abs(s[0] - s[1]) > 1e-3 and abs(s[2]) > 1e-3
)


def _numeric(state, direction):
    step = np.longdouble(2.0) ** -20
    x, d = np.array(state, dtype=np.longdouble), np.array(direction, dtype=np.longdouble)
    up, down = x + step * d, x - step * d
    plus = evaluate(FUNCTION, q=up[:3], v=up[3:])
    minus = evaluate(FUNCTION, q=down[:3], v=down[3:])
    return {name: (plus[name] - minus[name]) / (2 * step) for name in plus}


@given(state=_states, direction=st.lists(st.floats(-1.0, 1.0), min_size=5, max_size=5))
def test_forward_mode_agrees_with_finite_differences(state, direction):
    derived = jvp(FUNCTION)
    found = evaluate(derived, q=state[:3], v=state[3:], d_q=direction[:3], d_v=direction[3:])
    expected = _numeric(state, direction)
    for name in ("y", "z"):
        assert found[f"d_{name}"] == pytest.approx(expected[name].astype(float), rel=1e-7, abs=1e-7)


@given(state=_states)
def test_reverse_mode_agrees_with_forward_mode(state):
    variables = FUNCTION.variables("q") + FUNCTION.variables("v")
    values = (*FUNCTION.outputs["y"], *FUNCTION.outputs["z"])
    forward = make_function("j", FUNCTION.graph, FUNCTION.inputs, {"j": jacobian(values, variables)})
    reverse = make_function("g", FUNCTION.graph, FUNCTION.inputs, {"j": [gradient(x, variables) for x in values]})
    a, b = (evaluate(f, q=state[:3], v=state[3:])["j"] for f in (forward, reverse))
    assert a == pytest.approx(b, rel=1e-11, abs=1e-11)


def test_only_the_chosen_inputs_move():
    derived = jvp(FUNCTION, wrt=("v",))
    assert list(derived.inputs) == ["q", "v", "d_v"]
    found = evaluate(derived, q=[1.0, 2.0, 3.0], v=[4.0, 5.0], d_v=[0.0, 1.0])
    assert found["d_z"] == -75.0
    assert found["d_y"].tolist() == [0.0, 0.0, 0.0]


def test_a_gradient_is_taken_with_respect_to_variables_only():
    (x,) = FUNCTION.variables("q")[:1]
    with refused(InputError, field="variable"):
        gradient(x * x, (x * x,))
    with refused(InputError, field="input", value="tau"):
        jvp(FUNCTION, wrt=("tau",))
