# SPDX-License-Identifier: Apache-2.0
"""What only compiled kernels have: layouts of batches; `test_kernels` has what all have."""

import ctypes
from dataclasses import replace

import numpy as np
import pytest
from jit_examples import TARGETS, close, kernel_of, mixed, states

from ada_dynamics.expr import trace
from ada_dynamics.jit import Target, scalar
from ada_dynamics.jit.target import Limits

FUNCTION = mixed()


def host(lanes: int | None = None, **limits) -> Target:
    """The machine at hand with other limits; LLVM splits vectors that are too wide for it."""
    own = Target.host()
    return replace(own, lanes=lanes or own.lanes, limits=Limits(**limits))


@pytest.mark.parametrize("size", range(1, 18))
@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_rows_of_every_length_are_turned_into_lanes_and_back_and_nothing_else_is_written(size, lanes):
    function = trace("f", {"x": size, "y": 2}, lambda x, y: {"z": tuple(a + 1.0 for a in x), "w": y[0] - y[1]})
    x, y = states(function, 19)
    z, w = np.full((30, size), 7.0), np.full(30, 7.0)
    kernel = kernel_of(function, host(lanes))
    code = ctypes.CFUNCTYPE(ctypes.c_int, *(ctypes.c_void_p,) * 4, ctypes.c_int64)(kernel.native_address("kernel_rows"))
    assert code(*(one.ctypes.data for one in (x, y, z[5:], w[5:])), 19) == 0
    assert np.array_equal(z[5:24], x + 1.0) and np.array_equal(w[5:24], y[:, 0] - y[:, 1])
    assert all((one[:5] == 7.0).all() and (one[24:] == 7.0).all() for one in (z, w))


@pytest.mark.parametrize("lanes", [2, 4, 8])
@pytest.mark.parametrize("together", [1, 2, 3, 8])
def test_columns_are_read_and_written_wherever_they_begin_and_nothing_beside_them(lanes, together):
    function = trace("f", {"x": 3, "y": 1}, lambda x, y: {"z": (x[0] + y[0], x[1], x[2] - y[0]), "w": 2.0 * y[0]})
    kernel = kernel_of(function, host(lanes, blocks=together))
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


@pytest.mark.parametrize("lanes", [2, 8])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("near", [1 << 14, 700, 1])
@pytest.mark.parametrize("checked", [True, False])
def test_code_in_parts_gives_the_bits_of_the_whole(lanes, order, near, checked):
    target = host(lanes, registers=0, segment=3, part=5, near=near)
    parts = scalar.block_code(FUNCTION, target, checked)
    assert len(parts.names) > 2 and parts.kept > 0
    kernel = kernel_of(FUNCTION, target, checked=checked)
    batch = states(FUNCTION, 71)
    expected = [kernel.single(*(x[k] for x in batch)) for k in range(71)]
    for count in (1, 7, 8, 9, 16, 31, 32, 33, 40, 64, 65, 71):
        found = kernel.batch(*(np.asarray(x[:count], order=order) for x in batch))
        for i, one in enumerate(found):
            assert np.array_equal(one, [state[i] for state in expected[:count]])


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


@pytest.mark.parametrize("room", [1 << 15, 1500, 500])
def test_results_too_wide_for_lanes_are_written_state_by_state(room):
    def body(x, y):
        return {"z": tuple(x[i % 3] * (1.0 + i) - y[0] for i in range(520)), "w": y[0] + y[1]}

    function = trace("wide", {"x": 3, "y": 2}, body)
    kernel, batch = kernel_of(function, host(stack=room)), states(function, 19)
    batch[0][2, 1] = np.nan
    alone = [kernel.single_status(*row)[0] for row in zip(*batch, strict=True)]
    for order in "CF":
        found, status = kernel.batch_status(*(np.asarray(x, order=order) for x in batch))
        assert status == 1
        for part, wanted in zip(found, zip(*alone, strict=True), strict=True):
            assert np.array_equal(part, np.array(wanted), equal_nan=True)
    close([found[1]], [batch[1].sum(axis=1)])
