# SPDX-License-Identifier: Apache-2.0
"""Kernels of every kind: compiled, on a tape, and without a compiler they give the same answers and refusals."""

from __future__ import annotations

import logging
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jit_examples import TARGETS, close, kernel_of, mixed, programs, reference, run_program, square, states, tape_of

from ada_dynamics.errors import CompileError, InputError
from ada_dynamics.expr import Function, Traced, sqrt, trace
from ada_dynamics.jit import GuardError, Kernel, Signature, compiler, fallback, tape_machine
from ada_dynamics.jit.tape_kernel import TapeKernel

FUNCTION = mixed()
MAKERS = {"native": kernel_of, "tape": tape_of}
KINDS = [*((kind, target) for kind in MAKERS for target in TARGETS), ("native", "off"), ("tape", "off")]


@pytest.fixture(params=KINDS, ids=" ".join)
def made(request, monkeypatch):
    """Makes a kernel of a function: of each kind for each target, and where code may not be compiled."""
    kind, target = request.param
    if target == "off":
        monkeypatch.setenv("ADA_JIT", "off")
        fallback.announce.cache_clear()

    def make(function: Function, key: str = "test", **options):
        return MAKERS[kind](function, "host" if target == "off" else target, key, **options)

    make.backend = "python" if target == "off" else kind
    return make


@pytest.fixture(params=MAKERS)
def off(request, monkeypatch):
    """Makes a kernel where code may not be compiled."""
    monkeypatch.setenv("ADA_JIT", "off")
    fallback.announce.cache_clear()
    return MAKERS[request.param]


# --- answers --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 8, 9, 16, 23])
def test_one_state_and_batches_of_any_length_and_order_are_right(made, count):
    kernel = made(FUNCTION)
    batch = states(FUNCTION, count)
    for order in "CF":
        results = kernel.batch(*(np.asarray(array, order=order) for array in batch))
        assert [result.shape for result in results] == [(count, 2, 3), (count,), (count, 2)]
        if count:
            close(results, reference(FUNCTION, batch))
    for row, *expected in zip(zip(*batch, strict=True), *reference(FUNCTION, batch), strict=True) if count else ():
        one = kernel.single(*row)
        close(one, expected)
        assert [x.shape for x in one] == [x.shape for x in expected]
    assert kernel.info().backend == made.backend


def test_the_repeat_loop_computes_every_row(made):
    batch = states(square(), 10)
    close([made(square()).native_repeat(*batch, repeats=3)], reference(square(), batch))


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(program=programs(), sizes=st.tuples(st.integers(1, 9), st.integers(1, 3)), count=st.integers(1, 20))
def test_random_functions_agree_with_the_expressions_in_every_way(made, program, sizes, count):
    def body(q, v):
        pool = run_program(program, [*q, *v, 1.0])
        return {"last": tuple(pool[-min(len(program), 5) :]), "one": pool[-1]}

    function = trace("f", {"q": sizes[0], "v": sizes[1]}, body)
    kernel = made(function, key=repr((program, sizes)))
    batch = states(function, count, seed=count)
    singles = zip(*(kernel.single(*row) for row in zip(*batch, strict=True)), strict=True)
    ways = [kernel.batch(*batch), kernel.batch(*map(np.asfortranarray, batch)), tuple(map(np.array, singles))]
    for results in (*ways, kernel.native_repeat(*batch, repeats=2)):
        close(results, reference(function, batch), 1e-12)


def test_out_is_filled_and_may_replace_an_input(made):
    kernel = made(square())
    q, v, tau = (array[0] for array in states(square(), 1))
    wanted, out = kernel.single(q, v, tau), np.empty(7)
    assert kernel.single(q, v, tau, out=out) is out
    assert np.array_equal(out, wanted)
    assert kernel.single(q, v, tau, out=tau) is tau
    assert np.array_equal(tau, wanted)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_threads_do_not_share_what_they_write(make):
    function = square(size=40)
    kernel, batch, wrong = make(function), states(function, 8), []
    wanted = kernel.batch(*batch)

    def work(i):
        row = [array[i] for array in batch]
        alone = kernel.single(*row)
        close([alone], [wanted[i]])
        wrong.extend(1 for _ in range(1000) if not np.array_equal(kernel.single(*row), alone))
        wrong.extend(1 for _ in range(100) if not np.array_equal(kernel.batch(*batch), wanted))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# --- status ---------------------------------------------------------------------------------------------------------
def test_a_failing_guard_is_reported_for_one_state_and_for_a_batch(made):
    kernel = made(FUNCTION)
    batch = states(FUNCTION, 21)
    assert kernel.batch_status(*batch)[1] == 0
    batch[1][20, 1] = -50.5
    assert kernel.single_status(*(array[20] for array in batch))[1] == 2
    assert kernel.single_status(*(array[19] for array in batch))[1] == 0
    assert kernel.batch_status(*batch)[1] == 2
    with pytest.raises(GuardError, match="mixed"):
        kernel.batch(*batch)


def test_a_guard_that_is_not_a_number_fails(made):
    kernel = made(trace("f", {"q": 1}, lambda q: Traced({"y": q}, (sqrt(q[0]),))))
    assert kernel.single_status(np.zeros(1))[1] == 0
    with np.errstate(invalid="ignore"):
        assert kernel.single_status(-np.ones(1))[1] == 2


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_an_input_that_is_not_finite_is_reported_wherever_it_is(made, value):
    kernel = made(FUNCTION)
    with np.errstate(invalid="ignore"):
        for position, size in enumerate(FUNCTION.inputs.values()):
            for element in range(size):
                batch = states(FUNCTION, 21)
                batch[position][17, element] = value
                assert kernel.single_status(*(array[17] for array in batch))[1] & 1
                assert kernel.batch_status(*batch)[1] & 1
                assert kernel.batch_status(*map(np.asfortranarray, batch))[1] & 1
        with pytest.raises(InputError, match=rf"{list(FUNCTION.inputs)[2]}\[17, 1\] is"):
            kernel.batch(*batch)


def test_an_input_that_no_output_uses_is_watched_all_the_same(made):
    kernel = made(trace("f", {"q": 1, "spare": 9}, lambda q, spare: {"y": q}))
    spare = np.zeros(9)
    assert kernel.single_status(np.ones(1), spare)[1] == 0
    spare[8] = np.nan
    assert kernel.single_status(np.ones(1), spare)[1] == 1


def test_a_result_that_is_not_finite_is_reported_and_division_by_zero_goes_on(made):
    kernel = made(trace("f", {"q": 1}, lambda q: {"y": (1.0 / q[0], -1.0 / (q[0] * q[0]), 3.0)}))
    batch = np.ones((11, 1))
    assert kernel.batch_status(batch)[1] == 0
    batch[9] = 0.0
    for given_batch in (batch, np.asfortranarray(batch)):
        result, status = kernel.batch_status(given_batch)
        assert (result[9].tolist(), status) == ([np.inf, -np.inf, 3.0], 1)
    result, status = kernel.single_status(batch[9])
    assert (result.tolist(), status) == ([np.inf, -np.inf, 3.0], 1)
    with pytest.raises(InputError, match="result is not finite"):
        kernel.batch(batch)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_unchecked_kernels_do_not_look_at_their_inputs(make):
    kernel = make(square(), checked=False)
    q, v, tau = states(square(), 9)
    tau[4, 3] = np.nan
    assert kernel.batch_status(q, v, tau)[1] == 0
    assert kernel.single_status(q[4], v[4], tau[4])[1] == 0


def test_of_an_input_that_is_no_number_no_output_that_needs_it_is_one(made):
    kernel, batch = made(square()), states(square(), 9)
    sound = kernel.batch(*batch)
    for array in batch:
        array[4] = np.nan
    assert np.isnan(kernel.single_status(*(array[4] for array in batch))[0]).all()
    found = kernel.batch_status(*batch)[0]
    assert np.isnan(found[4]).all()
    assert np.array_equal(np.delete(found, 4, 0), np.delete(sound, 4, 0))


# --- refusals -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda q: q[:2], r"q has shape \(2,\); it must be \(3\)"),
        (lambda q: q.astype(np.float32), "q has dtype float32"),
        (lambda q: q.astype(int), "q has dtype int64"),
        (lambda q: q.astype(">f8"), "q has dtype >f8"),
        (lambda q: np.repeat(q, 2)[::2], "q must be contiguous"),
        (lambda q: q[None], r"q has shape \(1, 3\)"),
        (lambda q: q.tolist(), "must be a float64 array of shape .3., not list"),
        (lambda q: None, "not NoneType"),
    ],
)
def test_wrong_inputs_of_one_state_are_named(made, change, message):
    q, v, tau = (array[0] for array in states(FUNCTION, 1))
    with pytest.raises(InputError, match=message):
        made(FUNCTION).single(change(q), v, tau)


def test_wrong_inputs_of_a_batch_are_named(made):
    q, v, tau = states(FUNCTION, 9)
    kernel = made(FUNCTION)
    with pytest.raises(InputError, match=r"v has shape \(8, 2\); it must be \(9, 2\)"):
        kernel.batch(q, v[:8], tau)
    with pytest.raises(InputError, match=r"q has shape \(3,\); it must be \(N, 3\)"):
        kernel.batch(q[0], v, tau)
    with pytest.raises(InputError, match="takes 3 arrays"):
        kernel.batch(q, v)
    with pytest.raises(InputError, match=r"takes 3 arrays \(q\[3\], v\[2\], tau\[2\]\), not 1"):
        kernel.single(q[0])


@pytest.mark.parametrize("cls", [Kernel, TapeKernel])
def test_a_trace_that_contradicts_the_signature_is_refused(cls):
    kernel = cls(Signature("square", (("q", 7),), (("a", (7,)),)), square, "key")
    with pytest.raises(CompileError, match="declared"):
        kernel.single(np.zeros(7))


# --- without a compiler ---------------------------------------------------------------------------------------------
def test_one_log_line_says_why_nothing_is_compiled(off, caplog):
    with caplog.at_level(logging.WARNING, "ada_dynamics"):
        for _ in range(3):
            off(FUNCTION).batch(*states(FUNCTION, 2))
    assert len(caplog.records) == 1
    assert "ADA_JIT=off" in caplog.text


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_code_that_cannot_be_loaded_is_replaced(make, monkeypatch, caplog):
    def refuse(*_, **__):
        raise CompileError("compiled code cannot be loaded: memory may not be executable")

    monkeypatch.setattr(compiler, "load", refuse)
    monkeypatch.setattr(tape_machine, "_libraries", {})
    fallback.announce.cache_clear()
    batch = states(FUNCTION, 3)
    with caplog.at_level(logging.WARNING, "ada_dynamics"):
        kernel = make(FUNCTION)
        close(kernel.batch(*batch), reference(FUNCTION, batch))
    assert "may not be executable" in caplog.text
    assert kernel.info().backend == "python"


def test_the_general_function_is_the_call_and_native_code_is_asked_for_in_vain(off):
    def general(*_):
        return 1

    assert off(FUNCTION).python_call(general) is general
    with pytest.raises(CompileError, match=r"ADA_JIT=off|runs on a tape"):
        off(FUNCTION).native_address()
