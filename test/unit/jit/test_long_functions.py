# SPDX-License-Identifier: Apache-2.0
"""Functions that are too long for one function of the code are compiled in parts, with the same bits."""

import ctypes
from dataclasses import replace

import numpy as np
import pytest
from jit_examples import TARGETS, kernel_of, mixed, parts_of, states

from ada_dynamics.expr import absolute, evaluate, maximum, minimum, select, sin, sqrt, trace
from ada_dynamics.jit import Target
from ada_dynamics.jit.elementary import LIMIT
from ada_dynamics.jit.target import Limits

FUNCTION = mixed()


@pytest.mark.parametrize("order", ["C", "F"])
def test_batches_of_huge_functions_run_state_by_state_with_the_same_bits(order):
    batch = [np.asarray(x, order=order) for x in states(FUNCTION, 23)]
    huge = kernel_of(FUNCTION, replace(Target.host(), limits=Limits(registers=0, segment=20, huge=0)))
    for found, expected in zip(huge.batch(*batch), kernel_of(FUNCTION).batch(*batch), strict=True):
        assert np.array_equal(found, expected)


def test_an_output_of_code_in_parts_may_replace_an_input():
    function = trace("f", {"x": 2, "y": 2}, lambda x, y: {"z": (sin(x[0]) * y[1], x[1] * y[0] + sin(x[0]))})
    x, y = np.array([0.3, -2.0]), np.array([5.0, 7.0])
    expected = kernel_of(function).single(x, y)
    kernel = parts_of(function, part=1)
    native = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 3)(kernel.native_address())
    for k in range(2):
        inputs = [x.copy(), y.copy()]
        assert native(*(one.ctypes.data for one in (*inputs, inputs[k]))) == 0
        assert np.array_equal(inputs[k], expected)


def rational(x, y):
    """Every operation but sine and cosine, with signs and zeros in every place."""
    p = x[0] * y[0] - x[1] * y[1]
    q = x[2] - 3.0 * y[2]
    r = select(p, q, -p, x[0] * 0.5) / (2.0 + y[1] * y[1])
    shared = x[0] * x[1]
    sums = (shared + q, shared - y[0], y[0] - shared, -(shared + r), 1.5 - x[2] * y[2], x[1] * y[0] - 0.25)
    roots = (sqrt(absolute(q) + 0.5), maximum(r, -r), minimum(p, 0.0), sqrt(-(r - 9.0)))
    return {"z": (*sums, *roots, x[1], x[1], -x[2], 0.75), "w": shared * p * -2.0}


@pytest.mark.skipif("sse2" not in TARGETS, reason="a target without fused multiply-add runs on x86-64 only")
@pytest.mark.parametrize("make", [kernel_of, parts_of])
def test_without_fused_instructions_results_have_the_bits_of_the_expressions(make):
    function = trace("rational", {"x": 3, "y": 3}, rational)
    kernel = make(function, "sse2")
    rng = np.random.default_rng(1)
    for _ in range(50):
        x, y = rng.choice([0.0, -0.0, 1.0, -1.5, *rng.normal(size=4)], size=(2, 3))
        wanted = evaluate(function, x=x.tolist(), y=y.tolist())
        for found, expected in zip(kernel.single(x, y), wanted.values(), strict=True):
            assert found.tobytes() == expected.tobytes()  # a zero keeps its sign


@pytest.mark.parametrize("count", range(1, 7))
def test_an_input_no_result_needs_and_any_angle_out_of_range_are_reported(count):
    # The sine is multiplied by zero, so that only the check of sines can detect it.
    function = trace("f", {"x": count, "u": 1}, lambda x, u: {"y": sum(select(sin(a), 2.0, 1.0, 0.0) for a in x)})
    kernel = parts_of(function, part=2)
    for i in range(count):
        x = np.zeros(count)
        x[i] = 1.1 * LIMIT
        assert kernel.single_status(x, np.zeros(1))[1] == 1
        assert kernel.batch_status(np.tile(x, (9, 1)), np.zeros((9, 1)))[1] == 1
    assert kernel.single_status(np.zeros(count), np.array([np.inf]))[1] == 1
    assert kernel.single_status(np.zeros(count), np.zeros(1))[1] == 0
