# SPDX-License-Identifier: Apache-2.0
"""Kernels for one state and for batches: results, layouts, status, refusals."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from jit_examples import host_runs, kernel_of, mixed, reference, square, states

from ada_dynamics.errors import CompileError, InputError
from ada_dynamics.expr import Traced, sin, sqrt, trace
from ada_dynamics.jit import GuardError, Kernel, Signature

FUNCTION = mixed()
TARGETS = [target for target in ("host", "sse2", "avx2", "avx512") if host_runs(target)]


def _close(found, expected):
    for a, b in zip(found, expected, strict=True):
        assert a == pytest.approx(b, rel=1e-14, abs=1e-14)


@pytest.mark.parametrize("target", TARGETS)
def test_one_state_is_right_on_every_target(target):
    batch = states(FUNCTION, 5)
    kernel = kernel_of(FUNCTION, target)
    for row, *expected in zip(zip(*batch, strict=True), *reference(FUNCTION, batch), strict=True):
        _close(kernel.single(*row), expected)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 8, 9, 16, 23])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_batch_of_any_length_is_right_on_every_target(target, count, order):
    batch = [np.asarray(array, order=order) for array in states(FUNCTION, count)]
    results = kernel_of(FUNCTION, target).batch(*batch)
    assert [result.shape for result in results] == [(count, 2, 3), (count,), (count, 2)]
    if count:
        _close(results, reference(FUNCTION, batch))


@pytest.mark.parametrize("size", range(1, 18))
@pytest.mark.parametrize("target", TARGETS)
def test_rows_of_every_length_are_turned_into_lanes_and_back(size, target):
    function = trace("f", {"x": size, "y": 2}, lambda x, y: {"z": tuple(a + 1.0 for a in x), "w": y[0] - y[1]})
    x, y = states(function, 19)
    z, w = kernel_of(function, target).batch(x, y)
    assert np.array_equal(z, x + 1.0)
    assert np.array_equal(w, y[:, 0] - y[:, 1])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_result_depends_neither_on_its_place_nor_on_its_neighbours(target, order):
    kernel = kernel_of(FUNCTION, target)
    batch = states(FUNCTION, 29)
    whole = kernel.batch(*(np.asarray(array, order=order) for array in batch))
    shuffled = np.random.default_rng(3).permutation(29)
    moved = kernel.batch(*(np.asarray(array[shuffled], order=order) for array in batch))
    for first, second in zip(whole, moved, strict=True):
        assert np.array_equal(first[shuffled], second)
    for count in (1, 3, 8, 11, 28):
        part = kernel.batch(*(np.asarray(array[:count], order=order) for array in batch))
        for first, second in zip(whole, part, strict=True):
            assert np.array_equal(first[:count], second)


def test_rows_and_columns_give_the_same_bits():
    batch = states(FUNCTION, 37)
    kernel = kernel_of(FUNCTION)
    rows = kernel.batch(*batch)
    columns = kernel.batch(*map(np.asfortranarray, batch))
    for first, second in zip(rows, columns, strict=True):
        assert np.array_equal(first, second)
    assert columns[0][:, 1, 2].flags.c_contiguous
    assert rows[0].flags.c_contiguous


def test_strided_and_mixed_orders_are_converted():
    batch = states(FUNCTION, 40)
    kernel = kernel_of(FUNCTION)
    expected = kernel.batch(*(array[::2] for array in batch))
    mixture = [np.asfortranarray(batch[0][::2]), batch[1][::2], batch[2][::2]]
    for first, second in zip(expected, kernel.batch(*mixture), strict=True):
        assert np.array_equal(first, second)


def test_one_output_comes_bare_and_out_is_filled():
    function = square()
    kernel = kernel_of(function)
    q, v, tau = (array[0] for array in states(function, 1))
    out = np.empty(7)
    assert kernel.single(q, v, tau, out=out) is out
    assert np.array_equal(out, kernel.single(q, v, tau))
    assert np.array_equal(kernel.single(q, v, tau, out=tau), out), "the output may replace an input"
    batch = states(function, 12)
    for order in "CF":
        arrays = [np.asarray(array, order=order) for array in batch]
        out = np.empty((12, 7), order=order)
        assert kernel.batch(*arrays, out=out) is out
        assert np.array_equal(out, kernel.batch(*batch))


def test_unsuitable_outputs_are_refused():
    function = square()
    kernel = kernel_of(function)
    q, v, tau = states(function, 12)
    frozen = np.empty((12, 7))
    frozen.flags.writeable = False
    for out, message in (
        (np.empty((12, 6)), r"\(12, 7\)"),
        (np.empty((12, 7), dtype=np.float32), "float32"),
        (np.empty((12, 7), order="F"), "contiguous rows"),
        (frozen, "read-only"),
        (tau, "overlaps an input"),
        ((np.empty((12, 7)), np.empty((12, 7))), "must hold 1 arrays, not 2"),
    ):
        with pytest.raises(InputError, match=message):
            kernel.batch(q, v, tau, out=out)
    with pytest.raises(InputError, match="contiguous"):
        kernel.single(q[0], v[0], tau[0], out=np.empty(14)[::2])


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
def test_wrong_inputs_of_one_state_are_named(change, message):
    q, v, tau = (array[0] for array in states(FUNCTION, 1))
    with pytest.raises(InputError, match=message):
        kernel_of(FUNCTION).single(change(q), v, tau)


def test_wrong_inputs_of_a_batch_are_named():
    q, v, tau = states(FUNCTION, 9)
    kernel = kernel_of(FUNCTION)
    with pytest.raises(InputError, match=r"v has shape \(8, 2\); it must be \(9, 2\)"):
        kernel.batch(q, v[:8], tau)
    with pytest.raises(InputError, match=r"q has shape \(3,\); it must be \(N, 3\)"):
        kernel.batch(q[0], v, tau)
    with pytest.raises(InputError, match="takes 3 arrays"):
        kernel.batch(q, v)
    with pytest.raises(InputError, match=r"takes 3 arrays \(q\[3\], v\[2\], tau\[2\]\), not 1"):
        kernel.single(q[0])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("target", TARGETS)
def test_an_input_that_is_not_finite_is_reported_wherever_it_is(target, value):
    kernel = kernel_of(FUNCTION, target)
    for position, size in enumerate(FUNCTION.inputs.values()):
        for element in range(size):
            batch = states(FUNCTION, 21)
            batch[position][17, element] = value
            assert kernel.single_status(*(array[17] for array in batch))[1] & 1
            assert kernel.batch_status(*batch)[1] & 1
            assert kernel.batch_status(*map(np.asfortranarray, batch))[1] & 1
    name = list(FUNCTION.inputs)[2]
    with pytest.raises(InputError, match=rf"{name}\[17, 1\] is"):
        kernel.batch(*batch)


def test_an_input_that_no_output_uses_is_watched_all_the_same():
    kernel = kernel_of(trace("f", {"q": 1, "spare": 9}, lambda q, spare: {"y": q}))
    spare = np.zeros(9)
    assert kernel.single_status(np.ones(1), spare)[1] == 0
    spare[8] = np.nan
    assert kernel.single_status(np.ones(1), spare)[1] == 1


@pytest.mark.parametrize("target", TARGETS)
def test_a_failing_guard_is_reported_for_one_state_and_for_a_batch(target):
    kernel = kernel_of(FUNCTION, target)
    batch = states(FUNCTION, 21)
    assert kernel.batch_status(*batch)[1] == 0
    batch[1][20, 1] = -50.5
    assert kernel.single_status(*(array[20] for array in batch))[1] == 2
    assert kernel.batch_status(*batch)[1] == 2
    with pytest.raises(GuardError, match="mixed"):
        kernel.batch(*batch)


def test_a_guard_that_is_not_a_number_fails():
    kernel = kernel_of(trace("f", {"q": 1}, lambda q: Traced({"y": q}, (sqrt(q[0]),))))
    assert kernel.single_status(np.zeros(1))[1] == 0
    assert kernel.single_status(-np.ones(1))[1] == 2


@pytest.mark.parametrize("target", TARGETS)
def test_a_result_that_is_not_finite_is_reported(target):
    kernel = kernel_of(trace("f", {"q": 2}, lambda q: {"y": (q[0], q[1] / q[0], 3.0)}), target)
    batch = np.ones((11, 2))
    assert kernel.batch_status(batch)[1] == 0
    batch[9, 0] = 0.0
    assert kernel.single_status(batch[9])[1] == 1
    assert kernel.batch_status(batch)[1] == 1
    assert kernel.batch_status(np.asfortranarray(batch))[1] == 1
    with pytest.raises(InputError, match="result is not finite"):
        kernel.batch(batch)


def test_unchecked_kernels_do_not_look_at_their_inputs():
    kernel = kernel_of(square(), checked=False)
    q, v, tau = states(square(), 9)
    tau[4, 3] = np.nan
    assert kernel.batch_status(q, v, tau)[1] == 0
    assert kernel.single_status(q[4], v[4], tau[4])[1] == 0


def test_the_repeat_loop_computes_every_row():
    function = square()
    batch = states(function, 10)
    _close([kernel_of(function).native_repeat(*batch, repeats=3)], reference(function, batch))


def test_a_trace_that_contradicts_the_signature_is_refused():
    kernel = Kernel(Signature("square", (("q", 7),), (("a", (7,)),)), square, "key")
    with pytest.raises(CompileError, match="declared"):
        kernel.single(np.zeros(7))


def test_info_tells_what_was_compiled():
    kernel = kernel_of(FUNCTION)
    assert kernel.info().compile_seconds == {}
    kernel.single(*(array[0] for array in states(FUNCTION, 1)))
    info = kernel.info()
    assert info.backend == "native"
    assert info.flops > 10
    assert list(info.compile_seconds) == ["single"], "one state must not pay for the batch code"
    assert info.cached == {"single": False}


def test_a_batch_releases_the_interpreter_lock():
    function = trace("f", {"q": 1}, lambda q: {"y": _long_chain(q[0])})
    kernel = kernel_of(function)
    q = np.random.default_rng(0).normal(size=(400_000, 1))
    kernel.batch(q[:8])
    stop, turns = threading.Event(), [0]

    def watch():
        while not stop.is_set():
            turns[0] += 1
            time.sleep(0)

    watcher = threading.Thread(target=watch)
    watcher.start()
    while not turns[0]:
        time.sleep(1e-3)
    before = turns[0]
    kernel.batch(q)
    during = turns[0] - before
    stop.set()
    watcher.join()
    # A call that held the lock would stop the other thread for as long as it takes: one turn before it, one after.
    assert during > 10


def _long_chain(x):
    for _ in range(60):
        x = sin(x) + 1.0
    return (x,)


def test_kernels_can_be_used_from_many_threads_at_once():
    function = square()
    kernel = kernel_of(function)
    batch = states(function, 50)
    expected = reference(function, batch)[0]
    found = [None] * 8

    def run(i):
        found[i] = kernel.batch(*batch), kernel.single(*(array[i] for array in batch))

    threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, (whole, one) in enumerate(found):
        _close((whole, one), (expected, expected[i]))


def test_importing_the_package_does_not_import_llvmlite():
    code = "import sys, ada_dynamics.jit; sys.exit('llvmlite' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
