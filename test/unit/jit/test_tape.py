# SPDX-License-Identifier: Apache-2.0
"""What only kernels on a tape have: batches with the bits of their states, slots, cached tapes, large functions."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest
from jit_examples import TARGETS, key_of, mixed, reference, states, tape_of

from ada_dynamics.errors import CompileError, InputError
from ada_dynamics.expr import Function, absolute, cos, evaluate, maximum, minimum, select, sin, sqrt, trace
from ada_dynamics.jit import Signature, Target
from ada_dynamics.jit.march_text import march
from ada_dynamics.jit.sincos import LIMIT
from ada_dynamics.jit.tape import make_tape
from ada_dynamics.jit.tape_kernel import TapeKernel
from ada_dynamics.jit.target import Limits

FUNCTION = mixed()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_batch_has_the_bits_of_its_states(target, order):
    kernel, batch = tape_of(FUNCTION, target), states(FUNCTION, 23)
    results = kernel.batch(*(np.asarray(array, order=order) for array in batch))
    for i in range(23):
        for whole, own in zip(results, kernel.single(*(array[i] for array in batch)), strict=True):
            assert np.array_equal(whole[i], own)


def test_a_batch_in_pieces_and_state_by_state_is_the_same():
    batch = states(FUNCTION, 75)
    whole = tape_of(FUNCTION).batch(*batch)
    for limits, lanes in ((Limits(column_numbers=1), 8), (Limits(lane_bytes=1), 1)):  # 32 states at a time, or one
        kernel = tape_of(FUNCTION, replace(Target.host(), limits=limits))
        for count in (75, 66, 64, 9):
            for first, second in zip(whole, kernel.batch(*(x[:count] for x in batch)), strict=True):
                assert np.array_equal(first[:count], second)
        assert kernel.info().lanes == lanes


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
def test_without_fused_instructions_results_have_the_bits_of_the_expressions():
    function = trace("rational", {"x": 3, "y": 3}, rational)
    kernel = tape_of(function, "sse2")
    rng = np.random.default_rng(1)
    for _ in range(50):
        x, y = rng.choice([0.0, -0.0, 1.0, -1.5, *rng.normal(size=4)], size=(2, 3))
        wanted = evaluate(function, x=x.tolist(), y=y.tolist())
        for found, expected in zip(kernel.single(x, y), wanted.values(), strict=True):
            assert found.tobytes() == expected.tobytes()  # a zero keeps its sign


def test_functions_that_compute_nothing_have_tapes_too():
    function = trace("f", {"x": 2, "unused": 3}, lambda x, unused: {"y": (x[1], 2.0, x[0], x[1]), "c": 3.0})
    y, c = tape_of(function).single(np.array([5.0, 7.0]), np.zeros(3))
    assert y.tolist() == [7.0, 2.0, 5.0, 7.0]
    assert float(c) == 3.0
    constant = trace("f", {"x": 1}, lambda x: {"y": (2.0, 4.0)})
    assert tape_of(constant).batch(np.zeros((9, 1))).tolist() == [[2.0, 4.0]] * 9


@pytest.mark.parametrize("count", range(1, 7))
def test_an_input_no_result_needs_and_any_angle_out_of_range_are_reported(count):
    # The sine is multiplied by zero, so that only the watch over sines can see it.
    function = trace("f", {"x": count, "u": 1}, lambda x, u: {"y": sum(select(sin(a), 2.0, 1.0, 0.0) for a in x)})
    kernel = tape_of(function)
    for i in range(count):
        x = np.zeros(count)
        x[i] = 1.1 * LIMIT
        assert kernel.single_status(x, np.zeros(1))[1] == 1
        assert kernel.batch_status(np.tile(x, (9, 1)), np.zeros((9, 1)))[1] == 1
    assert kernel.single_status(np.zeros(count), np.array([np.inf]))[1] == 1
    assert kernel.single_status(np.zeros(count), np.zeros(1))[1] == 0


def test_the_tape_is_found_again_without_tracing(own_cache):
    batch = states(FUNCTION, 9)
    first = tape_of(FUNCTION)
    wanted = first.batch(*batch)
    again = TapeKernel(Signature.of(FUNCTION), pytest.fail, key_of(FUNCTION))
    for found, expected in zip(again.batch(*batch), wanted, strict=True):
        assert np.array_equal(found, expected)
    assert again.info().cached["tape"] and not first.info().cached["tape"]
    assert again.info().flops == first.info().flops
    with pytest.raises(pytest.fail.Exception):
        TapeKernel(Signature.of(FUNCTION), pytest.fail, "b").batch(*batch)


@pytest.mark.parametrize("system", ["linux", "win32"])
def test_code_for_one_state_runs_the_tape_and_there_is_no_other(system, monkeypatch):
    march()  # the linker is that of the system at hand
    monkeypatch.setattr("sys.platform", system)
    kernel = tape_of(FUNCTION)
    call, state = kernel.python_call(lambda *_: 1), [np.ones(size) for _, size in kernel.signature.inputs]
    assert call(*state) == 1, "the tape is laid out at the first call that asks for it"
    expected = kernel.single(*state)
    assert all(map(np.array_equal, call(*state), expected))
    for i in range(3):
        assert call(*state[:i], np.full_like(state[i], np.nan), *state[i + 1 :]) == 1
    with pytest.raises(CompileError):
        kernel.native_address("kernel_columns")
    outputs = [np.empty_like(x) for x in expected]
    native = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 6)(kernel.native_address())
    assert native(*(x.ctypes.data for x in (*state, *outputs))) == 0
    assert all(map(np.array_equal, outputs, expected))
    with pytest.raises(InputError):
        kernel.prepare("lanes")


@pytest.mark.parametrize("pick", [sin, cos])
def test_sines_without_cosines_and_the_reverse_do_not_disturb_one_another(pick):
    # The angles stay alive, so that only the slots of what nobody needs can be used again.
    function = trace("f", {"x": 9}, lambda x: {"y": (*map(pick, x), *x)})
    kernel = tape_of(function)
    batch = states(function, 9)
    wanted = reference(function, batch)[0]
    assert kernel.single(batch[0][0]) == pytest.approx(wanted[0], rel=1e-15, abs=1e-15)
    assert kernel.batch(*batch) == pytest.approx(wanted, rel=1e-15, abs=1e-15)


def recursion(steps: int, outputs: int = 7) -> Function:
    """A long recursion with products, quotients, and sines of results; about 20 operations for each step."""

    def body(x, y):
        first, second = x[0], x[1]
        found = []
        for i in range(steps):
            a, b = x[i % len(x)], y[i % len(y)]
            angle = 0.1 * first - 0.05 * second + a
            drift = a * b - 0.1 * first * b + 0.05 * (first * first - second * a)
            bounded = sin(angle) * 0.2 - 0.1 * cos(angle) * first if i % 64 == 0 else 0.1 * angle
            first, second = (bounded + 0.1 * drift) / (1.5 + 0.1 * first * first), first
            if i % (steps // outputs) == 0:
                found.append(first)
        return {"z": tuple(found), "last": first}

    return trace("recursion", {"x": 5, "y": 3}, body)


def test_fifty_thousand_operations_are_right_to_the_last_digits():
    function = recursion(3_000)
    kernel = TapeKernel(Signature.of(function), lambda: function, "recursion 3000")
    assert kernel.info().flops > 50_000
    batch = states(function, 9, seed=4)
    results = kernel.batch(*batch)
    # Only the last few steps can still be seen in a result: a handful of roundings of numbers near one.
    for found, one, wanted in zip(
        results, kernel.single(*(x[0] for x in batch)), reference(function, [x[:1] for x in batch]), strict=True
    ):
        assert np.array_equal(found[0], one)
        assert found[0] == pytest.approx(wanted[0], rel=4e-16, abs=4e-16)


def test_the_tape_takes_few_bytes_and_its_slots_hold_only_what_is_alive():
    short, long = (make_tape(recursion(steps)) for steps in (500, 2_000))
    assert long.slots == short.slots < 100, "the recursion keeps two numbers alive"
    assert long.flops > 3.9 * short.flops
    for tape in (short, long):
        assert len(tape.to_bytes()) < 12 * tape.flops
        assert tape.instructions < 0.8 * tape.flops, "most products are taken in by sums"
