# SPDX-License-Identifier: Apache-2.0
"""Results of a compiled call that nobody has any more are used again; whoever has one keeps it as it is."""

import ctypes
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from jit_examples import kernel_of, mixed, square, states

from ada_dynamics.jit import python_call

pytestmark = pytest.mark.skipif(not python_call.is_available(), reason="this interpreter has no builtin calls")

INPUTS = [[x[k] for x in states(square(), 40)] for k in range(40)]


@pytest.fixture
def call():
    kernel = kernel_of(square())
    kernel.prepare("single")
    return kernel.python_call(kernel.single)


@pytest.fixture
def expected():
    kernel = kernel_of(square())
    return [kernel.single(*x).copy() for x in INPUTS]


def address(array) -> int:
    return array.__array_interface__["data"][0]


def test_two_arrays_serve_a_loop(call, expected):
    places = set()
    for x, right in zip(INPUTS, expected, strict=True):
        result = call(*x)  # the one before is there until this one is
        assert np.array_equal(result, right)
        places.add(id(result))
    assert len(places) == 2


def test_results_that_are_kept_stay_as_they_are(call, expected):
    kept = [call(*x) for x in INPUTS]
    assert len({address(x) for x in kept}) == len(kept)
    for result, right in zip(kept, expected, strict=True):
        assert np.array_equal(result, right)


HOLDS = {
    "a view": lambda x: x[2:5],
    "a memoryview": memoryview,
    "a buffer of bytes": lambda x: np.frombuffer(x, dtype=np.uint8),
    "a pointer of ctypes": lambda x: x.ctypes.data_as(ctypes.c_void_p),
    "an array of objects": lambda x: np.array([x, None], dtype=object),
    "DLPack": lambda x: np.from_dlpack(x),
    "a class derived from arrays": lambda x: x.view(np.matrix),
}


@pytest.mark.parametrize("kind", HOLDS)
def test_whoever_refers_to_a_result_keeps_it(call, expected, kind):
    result = call(*INPUTS[0])
    place = address(result)
    holder = HOLDS[kind](result)
    del result
    for x in INPUTS[1:]:
        assert address(call(*x)) != place
    numbers = (ctypes.c_double * 7).from_address(place)
    assert list(numbers) == expected[0].tolist()
    del holder


def test_a_result_that_is_watched_is_not_used_again(call, expected):
    watch = weakref.ref(call(*INPUTS[0]))
    for x in INPUTS[1:4]:
        result = call(*x)
        seen = watch()
        if seen is not None:
            assert seen is not result
            assert np.array_equal(seen, expected[0])
        del seen
    assert watch() is None  # two others are kept by now


def _narrow(x):
    x.shape = (1, 7)


def _other_type(x):
    x.dtype = np.int64


CHANGES = {
    "not writeable": lambda x: x.setflags(write=False),
    "another shape": _narrow,
    "another type": _other_type,
    "longer": lambda x: x.resize(9, refcheck=False),
}


@pytest.mark.filterwarnings("ignore:Setting the:DeprecationWarning")
@pytest.mark.parametrize("kind", CHANGES)
def test_a_result_that_was_changed_is_not_used_again(call, expected, kind):
    result = call(*INPUTS[0])
    CHANGES[kind](result)
    changed = id(result)
    del result
    fresh = call(*INPUTS[1])
    assert id(fresh) != changed
    assert np.array_equal(fresh, expected[1])
    assert fresh.flags.writeable and fresh.shape == (7,) and fresh.dtype == np.float64


def test_a_result_may_be_an_argument_of_the_next_call(call):
    q, v, tau = INPUTS[0]
    kernel = kernel_of(square())
    plain = tau
    for _ in range(20):
        tau = call(q, v, call(q, v, tau))
        plain = kernel.single(q, v, kernel.single(q, v, plain))
        assert np.array_equal(tau, plain)


def test_each_of_several_results_has_its_own():
    kernel, inputs = kernel_of(mixed()), states(mixed(), 12)
    kernel.prepare("single")
    call = kernel.python_call(kernel.single)
    first = None
    for k in range(12):
        found = call(*(x[k] for x in inputs))
        for one, right in zip(found, kernel.single(*(x[k] for x in inputs)), strict=True):
            assert np.array_equal(one, right)
        first = found[0] if first is None else first  # one of three is kept
        del found
    assert np.array_equal(first, kernel.single(*(x[0] for x in inputs))[0])


def test_threads_never_see_each_other_s_numbers(call, expected):
    wrong = []

    def work(k):
        for turn in range(3000):
            i = (k + turn) % 40
            result = call(*INPUTS[i])
            if not np.array_equal(result, expected[i]):
                wrong.append((k, turn))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
    finally:
        sys.setswitchinterval(interval)
    assert not wrong
