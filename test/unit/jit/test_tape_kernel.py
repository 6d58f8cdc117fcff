# SPDX-License-Identifier: Apache-2.0
"""What only kernels on a tape have: batches with the bits of their states, slots, tapes that are found again."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from jit_examples import TARGETS, mixed, reference, states, tape_of

from ada_dynamics.errors import CompileError, InputError
from ada_dynamics.expr import (
    PerLane,
    Traced,
    absolute,
    cos,
    evaluate,
    lane_sum,
    maximum,
    minimum,
    pack,
    select,
    sin,
    sqrt,
    trace,
)
from ada_dynamics.jit import Signature
from ada_dynamics.jit.sincos import LIMIT
from ada_dynamics.jit.tape import make_tape
from ada_dynamics.jit.tape_kernel import TapeKernel
from ada_dynamics.jit.tape_machine import TapeMachine

FUNCTION = mixed()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_batch_has_the_bits_of_its_states(target, order):
    kernel, batch = tape_of(FUNCTION, target), states(FUNCTION, 23)
    results = kernel.batch(*(np.asarray(array, order=order) for array in batch))
    for i in range(23):
        for whole, own in zip(results, kernel.single(*(array[i] for array in batch)), strict=True):
            assert np.array_equal(whole[i], own)


def test_a_batch_in_several_pieces_is_the_same(monkeypatch):
    batch = states(FUNCTION, 75)
    whole = tape_of(FUNCTION).batch(*batch)
    monkeypatch.setattr("ada_dynamics.jit.tape_backend._COLUMN_NUMBERS", 1)  # 32 states at a time
    for first, second in zip(whole, tape_of(FUNCTION).batch(*batch), strict=True):
        assert np.array_equal(first, second)
    monkeypatch.setattr("ada_dynamics.jit.tape_backend.MAX_LANE_FILE", 1)  # state by state
    kernel = tape_of(FUNCTION)
    for first, second in zip(whole, kernel.batch(*batch), strict=True):
        assert np.array_equal(first, second)
    assert kernel.info().lanes == 1


@pytest.mark.parametrize(("count", "lengths"), [(75, [32, 32, 11]), (66, [32, 32, 8]), (64, [32, 32]), (9, [9])])
def test_no_state_is_computed_twice_but_to_fill_the_lanes_of_the_last_piece(count, lengths, monkeypatch):
    monkeypatch.setattr("ada_dynamics.jit.tape_backend._COLUMN_NUMBERS", 1)
    run, seen = TapeMachine.columns, []

    def columns(machine, inputs, results):
        seen.append(inputs.shape[1])
        return run(machine, inputs, results)

    monkeypatch.setattr(TapeMachine, "columns", columns)
    kernel = tape_of(FUNCTION)
    kernel.batch(*states(FUNCTION, count))
    assert kernel.info().lanes == 8 and seen == lengths


def test_instructions_of_a_kind_are_one_run_and_sines_of_sines_are_not():
    def chained(x):
        y = x[0]
        for i in range(9):
            y = y * 1.5 + x[i % 3]
        return {"y": sqrt(sqrt(y))}

    runs = make_tape(trace("chained", {"x": 3}, chained)).runs
    assert runs[:, 1].tolist()[:-1] == [9, 2], "nine fused additions, two roots"
    alone, nested = (
        make_tape(trace("sines", {"x": 2}, body)).runs[:, 1].tolist()[:-1]
        for body in (lambda x: {"y": (sin(x[0]), sin(x[1]))}, lambda x: {"y": sin(sin(x[0]))})
    )
    assert (alone, nested) == ([2], [1, 1])


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
    assert tape_of(constant, key="constant").batch(np.zeros((9, 1))).tolist() == [[2.0, 4.0]] * 9


@pytest.mark.parametrize("count", range(1, 7))
def test_an_input_no_result_needs_and_any_angle_out_of_range_are_reported(count):
    # The sine is multiplied by zero, so that only the watch over sines can see it.
    function = trace("f", {"x": count, "u": 1}, lambda x, u: {"y": sum(select(sin(a), 2.0, 1.0, 0.0) for a in x)})
    kernel = tape_of(function, key=f"angles {count}")
    for i in range(count):
        x = np.zeros(count)
        x[i] = 1.1 * LIMIT
        assert kernel.single_status(x, np.zeros(1))[1] == 1
        assert kernel.batch_status(np.tile(x, (9, 1)), np.zeros((9, 1)))[1] == 1
    assert kernel.single_status(np.zeros(count), np.array([np.inf]))[1] == 1
    assert kernel.single_status(np.zeros(count), np.zeros(1))[1] == 0


def test_the_tape_is_found_again_without_tracing():
    batch = states(FUNCTION, 9)
    first = tape_of(FUNCTION, key="a")
    wanted = first.batch(*batch)

    def refuse():
        raise AssertionError("traced")

    again = TapeKernel(Signature.of(FUNCTION), refuse, "a")
    for found, expected in zip(again.batch(*batch), wanted, strict=True):
        assert np.array_equal(found, expected)
    assert not first.info().cached["tape"]
    assert again.info().cached["tape"]
    assert again.info().flops == first.info().flops
    with pytest.raises(AssertionError, match="traced"):
        TapeKernel(Signature.of(FUNCTION), refuse, "b").batch(*batch)


def test_there_is_no_code_of_its_own():
    kernel = tape_of(FUNCTION)

    def general(*_):
        return 1

    call, state = kernel.python_call(general), [np.ones(size) for _, size in kernel.signature.inputs]
    assert call(*state) == 1  # the tape is laid out at the first call that asks for it
    expected = kernel.single(*state)
    assert all(map(np.array_equal, call(*state), expected))
    assert kernel.info().backend == "tape"
    with pytest.raises(CompileError, match="mixed runs on a tape"):
        kernel.native_address("kernel_columns")
    inputs, outputs = [*state], [np.empty_like(x) for x in expected]
    native = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 6)(kernel.native_address())
    assert native(*(x.ctypes.data for x in (*inputs, *outputs))) == 0
    assert all(map(np.array_equal, outputs, expected))
    with pytest.raises(InputError, match="'lanes'; prepare 'single' or 'batch'"):
        kernel.prepare("lanes")


def test_guards_may_be_what_is_put_out():
    function = trace("f", {"x": 2}, lambda x: Traced({"y": x[0] * x[1]}, (x[0] * x[1], x[1])))
    kernel = tape_of(function, key="guards")
    assert kernel.single_status(np.array([2.0, 3.0]))[1] == 0
    assert kernel.single_status(np.array([-2.0, 3.0]))[1] == 2
    assert kernel.single_status(np.array([-2.0, -3.0]))[1] == 2


@pytest.mark.parametrize("pick", [sin, cos])
def test_sines_without_cosines_and_the_reverse_do_not_disturb_one_another(pick):
    # The angles stay alive, so that only the slots of what nobody needs can be used again.
    function = trace("f", {"x": 9}, lambda x: {"y": (*map(pick, x), *x)})
    kernel = tape_of(function, key=pick.__name__)
    batch = states(function, 9)
    wanted = reference(function, batch)[0]
    assert kernel.single(batch[0][0]) == pytest.approx(wanted[0], rel=1e-15, abs=1e-15)
    assert kernel.batch(*batch) == pytest.approx(wanted, rel=1e-15, abs=1e-15)


def test_sub_chains_in_lanes_are_values_of_their_own():
    def body(x):
        angles = pack(x) * PerLane([1.0, 2.0, -0.5])
        return Traced({"y": lane_sum(sin(angles) * angles + 1.5, 3)}, (angles + 40.0,))

    kernel = tape_of(trace("f", {"x": 3}, body), key="lanes")
    x = np.array([0.3, -1.2, 2.0])
    angles = x * [1.0, 2.0, -0.5]
    # A few roundings of numbers near one.
    assert kernel.single(x) == pytest.approx((np.sin(angles) * angles + 1.5).sum(), rel=1e-15)
    assert kernel.single_status(np.array([0.0, -21.0, 0.0]))[1] == 2
