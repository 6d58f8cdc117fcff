# SPDX-License-Identifier: Apache-2.0
"""What only compiled kernels have: layouts of batches, outputs in place, the lock; `test_kernels` has what all have."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from jit_examples import TARGETS, close, kernel_of, mixed, square, states

from ada_dynamics.errors import InputError
from ada_dynamics.expr import sin, trace
from ada_dynamics.jit import GuardError, Target, emit_batch, emit_parts
from ada_dynamics.jit.transpose import rows_in, rows_out

FUNCTION = mixed()


@pytest.mark.parametrize("size", range(1, 18))
@pytest.mark.parametrize("target", TARGETS)
def test_rows_of_every_length_are_turned_into_lanes_and_back(size, target):
    function = trace("f", {"x": size, "y": 2}, lambda x, y: {"z": tuple(a + 1.0 for a in x), "w": y[0] - y[1]})
    x, y = states(function, 19)
    z, w = kernel_of(function, target).batch(x, y)
    assert np.array_equal(z, x + 1.0)
    assert np.array_equal(w, y[:, 0] - y[:, 1])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("together", [1, 2, 3, 8])
def test_columns_are_read_and_written_wherever_they_begin_and_nothing_beside_them(target, together, monkeypatch):
    monkeypatch.setattr(emit_batch, "BLOCKS", together)
    function = trace("f", {"x": 3, "y": 1}, lambda x, y: {"z": (x[0] + y[0], x[1], x[2] - y[0]), "w": 2.0 * y[0]})
    kernel = kernel_of(function, target, f"{together} together")
    lanes = Target.named(target).lanes
    code = ctypes.CFUNCTYPE(ctypes.c_int, *(ctypes.c_void_p,) * 4, ctypes.c_int64)(
        kernel.native_address("kernel_columns")
    )
    rng = np.random.default_rng(0)
    for count in (*range(lanes, 4 * lanes + 2), 8 * lanes - 1, 8 * lanes, 8 * lanes + 1, 20 * lanes + 3):
        at = rng.integers(0, 9, 4)  # doubles: vectors may straddle lines of the cache, each array's others
        memory = [np.full(size * count + 24, 7.0) for size in (3, 1, 3, 1)]
        x, y, z, w = (
            array[k : k + size * count].reshape(size, count)
            for array, k, size in zip(memory, at, (3, 1, 3, 1), strict=True)
        )
        x[:], y[:] = rng.normal(size=(3, count)), rng.normal(size=(1, count))
        assert code(*(one.ctypes.data for one in (x, y, z, w)), count) == 0
        assert np.array_equal(z, [x[0] + y[0], x[1], x[2] - y[0]]) and np.array_equal(w, 2.0 * y)
        for array, k, size in zip(memory, at, (3, 1, 3, 1), strict=True):
            assert (array[:k] == 7.0).all() and (array[k + size * count :] == 7.0).all()


@pytest.mark.parametrize("make", [rows_in, rows_out])
@pytest.mark.parametrize("width", [2, 4, 8])
def test_the_work_of_turning_rows_grows_with_their_numbers(make, width):
    """A square of W/2 is turned in log2(W/2) steps; shorter rows are whole vectors, one as it lies."""
    for size in range(1, 40):
        text = make(size, width)
        steps = int(np.log2(width // 2))
        windows = -(-size // (width // 2))
        if size == 1:
            assert "shufflevector" not in text and text.count("load") == text.count("store") == 1
        elif size < width // 2:
            assert text.count("load") == text.count("store") == size
        else:
            shuffles = {rows_in: steps + 1, rows_out: steps + 2}[make] * windows * (width // 2)
            assert text.count("shufflevector") == shuffles


@pytest.fixture
def in_parts(monkeypatch):
    """Code of blocks in several functions."""
    monkeypatch.setattr(emit_parts, "PART", 10)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("near", [emit_batch.NEAR, 700, 1])
@pytest.mark.parametrize("checked", [True, False])
def test_code_in_parts_gives_the_bits_of_the_whole(target, order, near, checked, in_parts, monkeypatch):
    """For every number of blocks that go together, and every length of a batch."""
    monkeypatch.setattr(emit_batch, "NEAR", near)
    parts = emit_parts.block_code(FUNCTION, Target.named(target), checked)
    assert len(parts.names) > 2 and parts.kept > 0
    kernel = kernel_of(FUNCTION, target, f"in parts of 10, {near}", checked=checked)
    batch = states(FUNCTION, 71)
    expected = [kernel.single(*(x[k] for x in batch)) for k in range(71)]
    for count in (1, 7, 8, 9, 16, 31, 32, 33, 40, 64, 65, 71):
        found = kernel.batch(*(np.asarray(x[:count], order=order) for x in batch))
        for i, one in enumerate(found):
            assert np.array_equal(one, [state[i] for state in expected[:count]])


def test_code_in_parts_that_is_unchecked_refuses_no_state(in_parts):
    kernel = kernel_of(FUNCTION, key="unchecked in parts of 10", checked=False)
    batch = states(FUNCTION, 41)
    batch[0][18, 1], batch[1][40, 1] = np.nan, -60.0
    found, status = kernel.batch_status(*batch)
    assert status == 0
    for i, one in enumerate(found):
        for k in (0, 18, 40):
            assert np.array_equal(one[k], kernel.single(*(x[k] for x in batch))[i], equal_nan=True)


def test_code_in_parts_tells_what_is_wrong_with_any_state(in_parts):
    kernel = kernel_of(FUNCTION, key="told in parts of 10")
    for place in (0, 18, 40):
        for i, number, error in ((0, np.nan, InputError), (2, np.inf, InputError), (1, -60.0, GuardError)):
            batch = states(FUNCTION, 41)
            batch[i][place, 1] = number
            with pytest.raises(error):
                kernel.batch(*batch)


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


@pytest.mark.parametrize("room", [1 << 15, 1500, 500])
def test_results_too_wide_for_lanes_are_written_state_by_state(room, monkeypatch):
    """As columns some states together, as many as have room; the numbers are those of one state."""

    def body(x, y):
        return {"z": tuple(x[i % 3] * (1.0 + i) - y[0] for i in range(520)), "w": y[0] + y[1]}

    monkeypatch.setattr(emit_batch, "STACK", room)
    function = trace("wide", {"x": 3, "y": 2}, body)
    kernel, batch = kernel_of(function), states(function, 19)
    batch[0][2, 1] = np.nan
    alone = [kernel.single_status(*row)[0] for row in zip(*batch, strict=True)]
    for order in "CF":
        found, status = kernel.batch_status(*(np.asarray(x, order=order) for x in batch))
        assert status == 1
        for part, wanted in zip(found, zip(*alone, strict=True), strict=True):
            assert np.array_equal(part, np.array(wanted), equal_nan=True)
    close([found[1]], [batch[1].sum(axis=1)])


@pytest.mark.parametrize(("stack", "together"), [(1 << 15, 8), (8 * 520, 8), (8 * 520 - 1, 4), (1500, 2), (100, 1)])
def test_results_that_wait_for_each_other_have_their_room_on_the_stack(stack, together, monkeypatch):
    monkeypatch.setattr(emit_batch, "STACK", stack)
    function = trace("wide", {"x": 3}, lambda x: {"z": tuple(x[i % 3] * (1.0 + i) for i in range(520))})
    rooms = re.findall(r"alloca \[(\d+) x double\]", emit_batch._columns_loop(function, 8))
    assert sorted(map(int, rooms)) == [3, 520 * together]


def test_strided_and_mixed_orders_are_converted():
    batch = states(FUNCTION, 40)
    kernel = kernel_of(FUNCTION)
    expected = kernel.batch(*(array[::2] for array in batch))
    mixture = [np.asfortranarray(batch[0][::2]), batch[1][::2], batch[2][::2]]
    for first, second in zip(expected, kernel.batch(*mixture), strict=True):
        assert np.array_equal(first, second)


def test_out_of_a_batch_is_filled_in_either_order():
    function = square()
    kernel = kernel_of(function)
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


def test_importing_the_package_does_not_import_llvmlite():
    code = "import sys, ada_dynamics.jit; sys.exit('llvmlite' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
