# SPDX-License-Identifier: Apache-2.0
"""The builtin function in front of a kernel: what it takes itself, what it hands on, and that it leaks nothing."""

import gc
import inspect
import sys
import weakref

import numpy as np
import pytest
from jit_examples import assert_leaks_nothing, kernel_of, mixed, square, states
from refused import refused

from ada_dynamics.errors import InputError
from ada_dynamics.jit import python_call, python_objects
from ada_dynamics.jit.native import KernelAddresses

PARAMETERS = ("q", "v", "tau", "external")


class Recorder:
    """A general function that remembers how it was called."""

    def __init__(self):
        self.calls = []

    def __call__(self, *args, **kwargs):
        self.calls.append((args, kwargs))
        return "general"


def square_of(q, v, tau, external=None):
    """Squares."""


def ready(kernel):
    """The builtin hands states to the general function until the kernel is compiled."""
    kernel.prepare("single")
    return kernel


pytestmark = pytest.mark.skipif(not python_call.is_available(), reason="this interpreter has no builtin calls")


def made(parameters=None):
    """Kernel, builtin, general function and arguments, which are exact in float32."""
    kernel, general = ready(kernel_of(square())), Recorder()
    general.__name__, general.__signature__ = "square_of", inspect.signature(square_of)
    general.__doc__ = square_of.__doc__
    arrays = [np.round(array[0] * 4.0) / 4.0 for array in states(square(), 1)]
    return kernel, kernel.python_call(general, parameters), general, arrays


@pytest.fixture
def setup():
    return made()


@pytest.fixture
def taking():
    """With names for the arguments and a last one that may be left out."""
    return made(PARAMETERS)


def test_float64_vectors_are_answered_without_the_general_function(setup):
    kernel, call, general, arrays = setup
    expected = kernel.single(*arrays)
    for _ in range(3):
        result = call(*arrays)
        assert np.array_equal(result, expected) and type(result) is np.ndarray
        assert result.flags.owndata and result.flags.writeable
    assert call(*arrays) is not call(*arrays)
    frozen = arrays[0].copy()
    frozen.flags.writeable = False
    assert np.array_equal(call(frozen, np.concatenate([[0.0], arrays[1]])[1:], arrays[2]), expected)
    assert general.calls == []


def _converted(q):

    class Sub(np.ndarray):
        pass

    return {
        "class derived from arrays": q.view(Sub),  # has a buffer as any array
        "list": q.tolist(),
        "tuple": tuple(q.tolist()),
        "list of numpy's": list(q),
        "float32": q.astype(np.float32),
        "strided": np.repeat(q, 2)[::2],
        "reversed": q[::-1].copy()[::-1],
        "strided float32": q.astype(np.float32).repeat(3)[::3],
    }


def _refused(q):
    return {
        "too short": q[:6],
        "too long": np.append(q, 0.0),
        "short list": q[:6].tolist(),
        "long list": [*q, 0.0],
        "float32 of the same bytes": np.zeros(14, dtype=np.float32),
        "complex of the same bytes": np.zeros(7, dtype=complex)[:4],
        "complex": q.astype(complex),
        "big endian": q.astype(">f8"),
        "matrix of one row": q[None],
        "numpy's scalar": np.float64(1.0),
        "None": None,
        "text": "abcdefg",
        "bytes of the same size": bytes(56),
        "bytearray": bytearray(56),
        "objects": q.astype(object),
        "not a number": np.full(7, np.nan),
        "not a number in a list": [*q[:6], float("nan")],
        "None inside": [*q[:6], None],
        "complex inside": [*q[:6], 1j],
        "huge": [*q[:6], 10**400],
        "nested": [q.tolist()],
        "not aligned": np.zeros(57, dtype=np.uint8)[1:].view(float),
    }


def assert_handed_on(call, general, arrays):
    """The general function has the objects themselves; nothing holds them afterwards."""
    own = [array for array in arrays if isinstance(array, (np.ndarray, list, bytearray))]  # None belongs to everybody
    counts = [sys.getrefcount(array) for array in own]
    assert call(*arrays) == "general"
    ((args, kwargs),) = general.calls
    assert all(given is taken for given, taken in zip(arrays, args, strict=True)) and kwargs == {}
    del args
    general.calls.clear()
    assert [sys.getrefcount(array) for array in own] == counts


@pytest.mark.parametrize("kind", _refused(np.zeros(7)))
def test_with_names_what_is_no_plain_vector_goes_to_the_general_function_unchanged(taking, kind):
    _, call, general, arrays = taking
    for position, own in enumerate(arrays):
        assert_handed_on(call, general, [*arrays[:position], _refused(own)[kind], *arrays[position + 1 :]])


@pytest.mark.parametrize("position", [0, 1, 2])
def test_with_names_numbers_are_read_from_lists_and_other_arrays(taking, position):
    kernel, call, general, arrays = taking

    def answers(other):
        given = [*arrays[:position], other, *arrays[position + 1 :]]
        return call(*given), call(**dict(zip(PARAMETERS, given, strict=False)))

    expected = kernel.single(*arrays)
    for kind, other in _converted(arrays[position]).items():
        assert all(np.array_equal(found, expected) for found in answers(other)), kind
    whole = [2, -3, True, 0, 5, -1, 7]
    arrays[position] = np.array(whole, dtype=float)
    expected = kernel.single(*arrays)
    for other in (whole, np.array(whole), np.array(whole)[::-1].copy()[::-1]):
        assert all(np.array_equal(found, expected) for found in answers(other))
    assert general.calls == []


def test_keywords_in_any_order_and_a_last_none_need_no_general_function(taking):
    kernel, call, general, (q, v, tau) = taking
    names = {"".join(["t", "au"]): tau}  # no interned text
    for found in (
        call(tau=tau, q=q, v=v),
        call(q, tau=tau, v=v),
        call(q, v, tau, None),
        call(q, v, external=None, tau=tau),
        call(q, v, **names),
    ):
        assert np.array_equal(found, kernel.single(q, v, tau))
    assert general.calls == []


@pytest.mark.parametrize("parameters", [None, PARAMETERS])
def test_wrong_names_and_counts_are_left_to_the_general_function(parameters):
    _, call, general, (q, v, tau) = made(parameters)
    wrong = [
        ((), {}),
        ((q, v), {}),
        ((q, v), {"taw": tau}),
        ((q, v, tau), {"q": q}),
        ((q, v, tau), {"external": {"hand": 1}}),
        ((q, v, tau, {"hand": 1}), {}),
        ((q, v, tau, None, None), {}),
        ((q, v, tau) * 3, {}),
        ((), {"q": q, "tau": tau}),
    ]
    if parameters is None:
        wrong += [((q, v), {"tau": tau}), ((), {"tau": tau, "q": q, "v": v})]
    for args, kwargs in wrong:
        assert call(*args, **kwargs) == "general"
        found, named = general.calls.pop()
        assert all(given is taken for given, taken in zip(args, found, strict=True))
        assert list(named) == list(kwargs) and all(named[name] is x for name, x in kwargs.items())


def test_a_function_made_before_its_kernel_runs_it_once_it_is_compiled_and_outlives_it():
    function = square()
    arrays = [array[0] for array in states(function, 1)]
    kernel, general = kernel_of(function), Recorder()
    entry = KernelAddresses(kernel.info().lanes)
    call = python_call.make_builtin(kernel.signature, entry, general)
    assert call(*arrays) == "general"
    kernel.connect(entry)
    assert call(*arrays) == "general", "nothing is compiled behind the caller's back"
    expected = kernel.single(*arrays)
    del kernel, entry
    gc.collect()
    assert np.array_equal(call(*arrays), expected)
    assert len(general.calls) == 2


def test_errors_of_the_general_function_pass_through():
    def general(*_):
        raise InputError("explained", field="q")

    call = ready(kernel_of(square())).python_call(general)
    with refused(InputError, field="q") as caught:
        call(1, 2, 3)
    assert caught.value.__context__ is None, "no trace of the failed attempt is left"


def test_a_failing_guard_goes_to_the_general_function():
    kernel, general = ready(kernel_of(mixed())), Recorder()
    call = kernel.python_call(general)
    q, v, tau = (array[0] for array in states(mixed(), 1))
    for found, expected in zip(call(q, v, tau), kernel.single(q, v, tau), strict=True):
        assert np.array_equal(found, expected) and found.shape == expected.shape
    v[1] = -50.5
    assert call(q, v, tau) == "general"


def test_fewer_rows_than_lanes_run_through_the_code_for_one_state(taking):
    kernel, call, general, _ = taking
    for count in range(1, kernel.info().lanes):
        batch = [np.ascontiguousarray(array) for array in states(kernel.function, count)]
        found = call(*batch)
        assert np.array_equal(found, [kernel.single(*one) for one in zip(*batch, strict=True)])
        assert np.array_equal(found, kernel.batch(*batch))
        assert np.array_equal(found, kernel.batch(*map(np.asfortranarray, batch)))
    assert general.calls == []
    assert "batch" not in kernel.info().cached, "no code for batches is compiled for them"


def _wrong_rows(batch, lanes):
    q, v, tau = batch
    nan = v.copy()
    nan[17, 2] = np.nan
    return {
        "rows differ": (q, v[:-1], tau),
        "columns differ": (q, v, tau[:, :-1].copy()),
        "too few rows for the lanes": tuple(array[: lanes - 1] for array in batch),
        "no rows": tuple(array[:0] for array in batch),
        "columns contiguous": (q, np.asfortranarray(v), tau),
        "every other row": tuple(array[::2] for array in batch),
        "one vector": (q, v, tau[0].copy()),
        "first a vector": (q[0].copy(), v, tau),
        "not a number": (q, nan, tau),
    }


@pytest.mark.parametrize("kind", _wrong_rows([np.zeros((19, 7))] * 3, 2))
def test_any_other_batch_goes_to_the_general_function(setup, kind):
    kernel, call, general, _ = setup
    batch = states(kernel.function, 19)
    kernel.batch(*batch)
    assert_handed_on(call, general, _wrong_rows(batch, kernel.info().lanes)[kind])


@pytest.mark.parametrize("parameters", [None, PARAMETERS])
def test_arguments_leak_nothing_whether_they_are_taken_converted_or_refused(parameters):
    _, call, general, arrays = made(parameters)
    lists = [array.tolist() for array in arrays]
    bad = [*lists[:2], [*lists[2][:6], None]]
    huge = [*lists[:2], [*lists[2][:6], 10**400]]
    short = [array.astype(np.float32) for array in arrays]
    nan = [arrays[0], np.full(7, np.nan), arrays[2][:6]]
    numbers = [item for values in lists for item in values]

    def run(times):
        for _ in range(times):
            for given in (arrays, lists, bad, huge, short, nan, (*arrays, None)):
                call(*given)
            call(1, None, arrays[0], key=2)
            call(**dict(zip(PARAMETERS, lists, strict=False)))
            general.calls.clear()

    assert_leaks_nothing(run, objects=(*arrays, *lists, *short, *nan, *numbers, general, call))


def test_batches_leak_nothing(setup):
    kernel, call, general, _ = setup
    batch = states(kernel.function, 19)
    kernel.batch(*batch)
    wrong = list(_wrong_rows(batch, kernel.info().lanes).values())

    def run(times):
        for _ in range(times):
            for arguments in (batch, *wrong):
                call(*arguments)
            general.calls.clear()

    assert_leaks_nothing(run, 300)


def test_a_cycle_through_the_general_function_is_collected():
    class Owner:
        def __init__(self):
            self.call = ready(kernel_of(square())).python_call(self.general)

        def general(self, *args):
            return args

    owner = Owner()
    gone = weakref.ref(owner)
    assert owner.call(1) == (1,)
    del owner
    gc.collect()
    assert gone() is None


def test_an_array_whose_fields_are_elsewhere_or_a_python_without_a_function_has_no_builtin_calls():
    fields = python_objects.array_fields()
    assert python_call.reason_unavailable(fields) is None
    for name in fields:
        assert python_call.reason_unavailable({**fields, name: fields[name] + 8})
    assert python_call.reason_unavailable(fields, ("PyTuple_Size", "PyNoSuchFunction"))
