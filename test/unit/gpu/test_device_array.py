# SPDX-License-Identifier: Apache-2.0
"""Arrays of a machine, and others' arrays, by their layout: strides, spans, both ways to hand them on; no kernels."""

import gc
import weakref

import numpy as np
import pytest
from refused import refused

from ada_dynamics.errors import InputError
from ada_dynamics.gpu.arrays import DeviceArray, array_view, on_device
from ada_dynamics.gpu.cuda_driver import HostDevice

HOST = HostDevice()
F8, F4 = np.dtype(np.float64), np.dtype(np.float32)


class Shown:
    """What another library shows of a numpy array."""

    def __init__(self, array, **changed):
        self.array = array
        strides = None if array.flags.c_contiguous else array.strides
        own = {"shape": array.shape, "typestr": array.dtype.str, "data": (array.ctypes.data, False), "strides": strides}
        self.__cuda_array_interface__ = {**own, "version": 3, **changed}


@pytest.mark.parametrize("dtype", [F8, F4])
@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("shape", [(5,), (5, 3), (5, 3, 2)])
def test_an_array_of_a_machine_is_read_as_it_lies_by_whoever_takes_it(shape, columns, dtype):
    array = np.arange(np.prod(shape), dtype=dtype).reshape(shape)
    ours = DeviceArray.of(HOST, array, columns)
    assert (len(ours), ours.ndim, ours.shape, ours.dtype) == (5, len(shape), shape, dtype)
    assert np.array_equal(ours.numpy(), array) and np.array_equal(np.asarray(ours), array)
    assert np.asarray(ours, dtype=np.float32).dtype == F4
    wanted = (
        np.asfortranarray(array).strides
        if len(shape) < 3
        else (dtype.itemsize, 10 * dtype.itemsize, 5 * dtype.itemsize)
    )
    assert ours.strides == (wanted if columns else array.strides)
    taken = np.from_dlpack(ours)
    assert np.array_equal(taken, array) and taken.strides == ours.strides
    assert taken.ctypes.data == ours.block.address
    told = ours.__cuda_array_interface__
    assert (told["shape"], told["typestr"], told["strides"]) == (shape, dtype.str, ours.strides)
    assert (told["data"], told["stream"], told["version"]) == ((ours.block.address, False), 1, 3)
    assert ours.__dlpack_device__() == (1, 0)
    strided = ours.strided
    steps = (1, 5) if columns else (int(np.prod(shape[1:])), 1)
    assert (strided.address, strided.of_state, strided.of_element) == (ours.block.address, *steps)


def test_an_array_that_others_have_lives_until_they_let_go_of_it():
    ours = DeviceArray.of(HOST, np.arange(3.0))
    gone = weakref.ref(ours)
    taken = np.from_dlpack(ours)
    unused = ours.__dlpack__()
    del ours
    gc.collect()
    assert gone() is not None and taken.tolist() == [0.0, 1.0, 2.0]
    del taken
    gc.collect()
    assert gone() is not None, "the capsule that nobody took"
    del unused
    gc.collect()
    assert gone() is None


def test_whoever_takes_an_array_in_a_stream_waits_for_ours():
    class Ordered(HostDevice):
        def __init__(self):
            super().__init__()
            self.orders = []

        def follow(self, stream, other):
            self.orders.append((stream, other))

    machine = Ordered()
    ours = DeviceArray(machine, (3,), F8, False)
    for stream in (None, -1, 0, 1, 5):
        ours.__dlpack__(stream=stream)
    assert machine.orders == [(0, 0), (0, 0), (5, 0)]


BASE = np.arange(24.0).reshape(6, 4)


@pytest.mark.parametrize(
    ("array", "strides", "is_columns"),
    [
        (BASE, (4, 1), False),
        (BASE[::2], (8, 1), False),
        (BASE.T, (1, 4), True),
        (BASE[0], (1,), False),
        (BASE[:, 1], (4,), False),
        (BASE.astype(np.float32), (4, 1), False),
        (BASE.reshape(2, 3, 4), (12, 4, 1), False),
    ],
)
def test_an_array_of_another_library_is_taken_as_it_lies(array, strides, is_columns):
    one = array_view("q", Shown(array), HOST)
    assert (one.name, one.shape, one.dtype, one.strides) == ("q", array.shape, array.dtype, strides)
    assert (one.address, one.is_columns) == (array.ctypes.data, is_columns)
    assert one.states == (array.shape[0] if array.ndim > 1 else None)
    steps = (0, strides[0]) if array.ndim == 1 else (strides[0], strides[-1])
    assert (one.strided.of_state, one.strided.of_element) == steps
    assert np.array_equal(one.numpy(HOST), array) and one.numpy(HOST).ctypes.data != array.ctypes.data


def test_rows_with_gaps_between_them_are_refused():
    cut = np.zeros((2, 3, 8))[:, :, :4]
    with refused(InputError, field="M"):
        _ = array_view("M", Shown(cut), HOST).strided
    whole = np.zeros((2, 3, 4))
    assert array_view("M", Shown(whole), HOST).strided[1:] == (12, 1)
    assert array_view("M", Shown(np.zeros((2, 3, 8))[:, :, ::2]), HOST).strided[1:] == (24, 2)


@pytest.mark.parametrize(
    "value",
    [
        Shown(BASE.astype(int)),
        Shown(BASE.astype(np.float16)),
        Shown(BASE, data=(BASE.ctypes.data + 4, False)),
        Shown(BASE, strides=(36, 8)),
        Shown(BASE, strides=(8 * 2**31, 8)),
        Shown(BASE, data=(0, False)),
    ],
)
def test_an_array_that_cannot_be_taken_is_refused(value):
    with refused(InputError, field="q"):
        array_view("q", value, HOST)


def test_a_tensor_that_wants_a_gradient_says_so():
    class Torch:
        @property
        def __cuda_array_interface__(self):
            raise RuntimeError("it requires grad")

    assert on_device(Torch())
    with refused(InputError, field="q"):
        array_view("q", Torch(), HOST)
