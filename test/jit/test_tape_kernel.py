# SPDX-License-Identifier: Apache-2.0
"""Kernels that run on a tape: the interface and the answers of compiled kernels, without code of their own."""

from __future__ import annotations

import logging
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jit_examples import host_runs, mixed, reference, square, states

from ada_dynamics.errors import CompileError, InputError
from ada_dynamics.expr import (
    Function,
    PerLane,
    Traced,
    absolute,
    atan2,
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
from ada_dynamics.jit import GuardError, Signature, Target, compiler, fallback, tape_machine
from ada_dynamics.jit.sincos import LIMIT
from ada_dynamics.jit.tape_kernel import TapeKernel

FUNCTION = mixed()
TARGETS = [target for target in ("host", "sse2", "avx2", "avx512") if host_runs(target)]


def tape_of(function: Function, target: str = "host", key: str = "test", **options) -> TapeKernel:
    return TapeKernel(Signature.of(function), lambda: function, key, Target.named(target), **options)


@pytest.fixture
def off(monkeypatch):
    monkeypatch.setenv("ADA_JIT", "off")
    fallback.announce.cache_clear()


@pytest.mark.parametrize("target", TARGETS)
def test_one_state_is_right_on_every_target(target):
    batch = states(FUNCTION, 5)
    kernel = tape_of(FUNCTION, target)
    for row, *expected in zip(zip(*batch, strict=True), *reference(FUNCTION, batch), strict=True):
        for found, wanted in zip(kernel.single(*row), expected, strict=True):
            assert found == pytest.approx(wanted, rel=1e-14, abs=1e-14)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 23])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_batch_of_any_length_and_order_gives_the_bits_of_its_states(target, count, order):
    kernel = tape_of(FUNCTION, target)
    batch = [np.asarray(array, order=order) for array in states(FUNCTION, count)]
    results = kernel.batch(*batch)
    assert [result.shape for result in results] == [(count, 2, 3), (count,), (count, 2)]
    for i in range(count):
        for whole, own in zip(
            results, kernel.single(*(np.ascontiguousarray(array[i]) for array in batch)), strict=True
        ):
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


# Every step keeps numbers near one and is continuous, so rounding cannot grow into a visible difference.
_STEPS = {
    "add": lambda a, b: 0.5 * (a + b),
    "sub": lambda a, b: 0.5 * (a - b),
    "mul": lambda a, b: sin(a * b),
    "fused": lambda a, b: 0.25 * (a * b + b * a * 0.5 - a * a),
    "neg": lambda a, b: -a,
    "div": lambda a, b: a / (1.5 + b * b),
    "sqrt": lambda a, b: sqrt(absolute(a) + 0.25),
    "sin": lambda a, b: sin(a + 0.5),
    "cos": lambda a, b: cos(sin(b)),
    "atan2": lambda a, b: atan2(0.4 * a, 1.5 + b * b) + 0.3 * atan2(b, a + 60.0),
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


@pytest.mark.parametrize("jit", ["on", "off"])
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(program=programs, sizes=st.tuples(st.integers(1, 9), st.integers(1, 3)), count=st.integers(1, 20))
def test_random_functions_agree_with_the_expressions(jit, monkeypatch, program, sizes, count):
    monkeypatch.setenv("ADA_JIT", jit)
    monkeypatch.setenv("ADA_CACHE", "off")
    function = trace("f", {"q": sizes[0], "v": sizes[1]}, lambda q, v: _run(program, q, v))
    kernel = tape_of(function)
    batch = states(function, count, seed=count)
    singles = zip(*(kernel.single(*row) for row in zip(*batch, strict=True)), strict=True)
    ways = [kernel.batch(*batch), tuple(map(np.array, singles)), kernel.native_repeat(*batch, repeats=2)]
    for results in ways:
        for found, wanted in zip(results, reference(function, batch), strict=True):
            assert found == pytest.approx(wanted, rel=1e-12, abs=1e-12)


def test_functions_that_compute_nothing_have_tapes_too():
    function = trace("f", {"x": 2, "unused": 3}, lambda x, unused: {"y": (x[1], 2.0, x[0], x[1]), "c": 3.0})
    y, c = tape_of(function).single(np.array([5.0, 7.0]), np.zeros(3))
    assert y.tolist() == [7.0, 2.0, 5.0, 7.0]
    assert float(c) == 3.0
    constant = trace("f", {"x": 1}, lambda x: {"y": (2.0, 4.0)})
    assert tape_of(constant, key="constant").batch(np.zeros((9, 1))).tolist() == [[2.0, 4.0]] * 9


def test_status_and_errors_are_those_of_compiled_kernels():
    kernel = tape_of(FUNCTION)
    batch = states(FUNCTION, 19)
    assert kernel.batch_status(*batch)[1] == 0
    batch[1][17, 1] = -50.5
    assert kernel.batch_status(*batch)[1] == 2
    assert kernel.single_status(*(array[17] for array in batch))[1] == 2
    assert kernel.single_status(*(array[16] for array in batch))[1] == 0
    with pytest.raises(GuardError, match="mixed"):
        kernel.batch(*batch)
    batch[0][2, 0] = np.nan
    assert kernel.batch_status(*batch)[1] & 1
    with pytest.raises(InputError, match=r"q\[2, 0\] is nan"):
        kernel.batch(*batch)
    with pytest.raises(InputError, match="float32"):
        kernel.single(*(array[0].astype(np.float32) for array in batch))
    assert tape_of(FUNCTION, checked=False).batch_status(*batch)[1] == 0


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


def test_out_is_filled_and_may_replace_an_input():
    function = square()
    kernel = tape_of(function)
    q, v, tau = (array[0] for array in states(function, 1))
    wanted = kernel.single(q, v, tau)
    assert kernel.single(q, v, tau, out=tau) is tau
    assert np.array_equal(tau, wanted)


def test_threads_do_not_share_what_they_write():
    function = square(size=40)
    kernel = tape_of(function)
    batch = states(function, 8)
    wanted = kernel.batch(*batch)
    wrong = []

    def work(i):
        row = [array[i] for array in batch]
        wrong.extend(1 for _ in range(2000) if not np.array_equal(kernel.single(*row), wanted[i]))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


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

    assert kernel.python_call(general) is general
    assert kernel.info().backend == "tape"
    with pytest.raises(CompileError, match="mixed runs on a tape"):
        kernel.native_address()
    with pytest.raises(InputError, match="'lanes'; prepare 'single' or 'batch'"):
        kernel.prepare("lanes")


def test_without_a_compiler_it_is_generated_python(off, caplog):
    kernel = tape_of(FUNCTION)
    batch = states(FUNCTION, 11)
    with caplog.at_level(logging.WARNING, "ada_dynamics"):
        results = kernel.batch(*batch)
    assert len(caplog.records) == 1
    assert "ADA_JIT=off" in caplog.text
    assert kernel.info().backend == "python"
    for found, wanted in zip(results, reference(FUNCTION, batch), strict=True):
        assert found == pytest.approx(wanted, rel=1e-14, abs=1e-14)
    batch[1][3, 1] = -50.5
    assert kernel.batch_status(*batch)[1] == 2
    assert kernel.single_status(*(array[3] for array in batch))[1] == 2
    batch[0][2, 0] = np.nan
    assert kernel.single_status(*(array[2] for array in batch))[1] & 1


def test_division_by_zero_goes_on_as_on_the_machine(off):
    kernel = tape_of(trace("f", {"q": 1}, lambda q: {"y": (1.0 / q[0], -1.0 / (q[0] * q[0]))}))
    for result, status in (kernel.single_status(np.zeros(1)), kernel.batch_status(np.zeros((3, 1)))):
        assert np.atleast_2d(result)[-1].tolist() == [np.inf, -np.inf]
        assert status == 1


def test_an_interpreter_that_cannot_be_loaded_is_replaced(monkeypatch, caplog):
    def refuse(*_, **__):
        raise CompileError("compiled code cannot be loaded: memory may not be executable")

    monkeypatch.setattr(compiler, "load", refuse)
    monkeypatch.setattr(tape_machine, "_libraries", {})
    fallback.announce.cache_clear()
    batch = states(FUNCTION, 3)
    with caplog.at_level(logging.WARNING, "ada_dynamics"):
        kernel = tape_of(FUNCTION)
        assert kernel.single(*(array[1] for array in batch))[0] == pytest.approx(reference(FUNCTION, batch)[0][1])
    assert "may not be executable" in caplog.text
    assert kernel.info().backend == "python"


def test_a_trace_that_is_not_what_was_declared_is_refused():
    with pytest.raises(CompileError, match="declared"):
        TapeKernel(Signature.of(FUNCTION), lambda: square(), "other").prepare()


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
