# SPDX-License-Identifier: Apache-2.0
"""Random functions, compiled and run in every way, against their evaluation in wider floats."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jit_examples import host_runs, kernel_of, reference, states

from ada_dynamics.expr import absolute, atan2, cos, maximum, minimum, sin, sqrt, trace

# Every step keeps numbers near one and is continuous, so rounding cannot grow into a visible difference.
_STEPS = {
    "add": lambda a, b: 0.5 * (a + b),
    "sub": lambda a, b: 0.5 * (a - b),
    "mul": lambda a, b: sin(a * b),
    "neg": lambda a, b: -a,
    "div": lambda a, b: a / (1.5 + b * b),
    "sqrt": lambda a, b: sqrt(absolute(a) + 0.25),
    "sin": lambda a, b: sin(a + 0.5),
    "cos": lambda a, b: cos(b),
    "atan2": lambda a, b: atan2(0.4 * a, 1.5 + b * b) + 0.3 * atan2(b, a + 60.0),
    "min": minimum,
    "max": maximum,
    "constant": lambda a, b: a * 0.75 - 0.25,
}

programs = st.lists(
    st.tuples(st.sampled_from(sorted(_STEPS)), st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=25
)


def _run(program, q, v):
    pool = [*q, *v, 1.0]
    for name, i, j in program:
        pool.append(_STEPS[name](pool[i % len(pool)], pool[j % len(pool)]))
    return {"last": tuple(pool[-min(len(program), 5) :]), "one": pool[-1]}


@pytest.mark.parametrize("target", [t for t in ("host", "sse2") if host_runs(t)])
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(program=programs, sizes=st.tuples(st.integers(1, 9), st.integers(1, 3)), count=st.integers(1, 20))
def test_compiled_code_agrees_with_the_expressions(target, program, sizes, count):
    function = trace("f", {"q": sizes[0], "v": sizes[1]}, lambda q, v: _run(program, q, v))
    kernel = kernel_of(function, target, key=repr((program, sizes)))
    batch = states(function, count, seed=count)
    expected = reference(function, batch)
    ways = [kernel.batch(*batch), kernel.batch(*map(np.asfortranarray, batch)), kernel.native_repeat(*batch)]
    ways.append(
        tuple(np.array(x) for x in zip(*(kernel.single(*row) for row in zip(*batch, strict=True)), strict=True))
    )
    for results in ways:
        for found, wanted in zip(results, expected, strict=True):
            assert found == pytest.approx(wanted, rel=1e-12, abs=1e-12)
