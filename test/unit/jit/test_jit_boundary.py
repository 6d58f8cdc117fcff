# SPDX-License-Identifier: Apache-2.0
"""The builtin function in front of a kernel: what it takes itself, what it hands on, and that it leaks nothing."""

from __future__ import annotations

import gc
import inspect
import sys
import sysconfig
import weakref
from collections import namedtuple
from functools import lru_cache

import numpy as np
import pytest
from jit_examples import kernel_of, mixed, square, states
from leaks import assert_leaks_nothing

import ada_dynamics as ada
from ada_dynamics.errors import InputError
from ada_dynamics.expr import trace
from ada_dynamics.jit import boundary
from ada_dynamics.jit.native import Entry

MODES = ("buffer", "struct")


def ready(kernel):
    """The builtin hands states to the general function until the kernel is compiled."""
    kernel.prepare("single")
    return kernel


class Recorder:
    """A general function that remembers how it was called."""

    def __init__(self):
        self.calls = []

    def __call__(self, *args, **kwargs):
        self.calls.append((args, kwargs))
        return "general"


def assert_results_leak_nothing(call, arrays, mode):
    """The caller holds what a call gives, and the boundary, which may use it again."""

    def run(times):
        for _ in range(times):
            result = call(*arrays)
        count = sys.getrefcount(result[0])
        assert count == (3 if mode == "struct" else 2)

    assert_leaks_nothing(run)


@pytest.fixture(params=MODES)
def mode(request):
    if request.param == "struct" and not boundary.struct_is_as_expected():
        pytest.skip("this interpreter has no struct boundary")
    return request.param


@pytest.fixture
def setup(mode):
    function = square()
    kernel = ready(kernel_of(function))
    general = Recorder()
    return kernel, kernel.python_call(general, mode), general, [array[0] for array in states(function, 1)]


def test_float64_vectors_are_answered_without_the_general_function(setup):
    kernel, call, general, arrays = setup
    for _ in range(3):
        result = call(*arrays)
        assert np.array_equal(result, kernel.single(*arrays))
        assert type(result) is np.ndarray
        assert result.flags.owndata
        assert result.flags.writeable
    assert general.calls == []
    assert call(*arrays) is not call(*arrays)


def test_read_only_and_offset_vectors_are_taken(setup):
    kernel, call, general, arrays = setup
    frozen = arrays[0].copy()
    frozen.flags.writeable = False
    wide = np.concatenate([[0.0], arrays[1]])
    assert np.array_equal(call(frozen, wide[1:], arrays[2]), kernel.single(*arrays))
    assert general.calls == []


def _wrong(q):
    record = np.zeros(7, dtype=[("x", float)])
    return {
        "too short": q[:6],
        "too long": np.append(q, 0.0),
        "float32": q.astype(np.float32),
        "float32 of the same bytes": np.zeros(14, dtype=np.float32),
        "int64": q.astype(np.int64),
        "complex of the same bytes": np.zeros(7, dtype=complex)[:4],
        "big endian": q.astype(">f8"),
        "matrix of one row": q[None],
        "matrix of one column": q[:, None],
        "scalar": np.float64(1.0),
        "zero dimensions": np.array(1.0),
        "strided": np.repeat(q, 2)[::2],
        "reversed": q[::-1],
        "list": q.tolist(),
        "None": None,
        "number": 1.0,
        "text": "abcdefg",
        "bytes of the same size": bytes(56),
        "bytearray": bytearray(56),
        "objects": q.astype(object),
        "empty": np.zeros(0),
        "record": record,
        "bool": np.zeros(56, dtype=bool),
        "not a number": np.full(7, np.nan),
    }


@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.parametrize("kind", _wrong(np.zeros(7)))
def test_anything_else_goes_to_the_general_function_unchanged(setup, position, kind):
    _, call, general, arrays = setup
    arrays[position] = _wrong(arrays[position])[kind]
    # None and small numbers belong to everybody, so their counts say nothing.
    own = [array for array in arrays if isinstance(array, (np.ndarray, list, bytearray))]
    counts = [sys.getrefcount(array) for array in own]
    assert call(*arrays) == "general"
    ((args, kwargs),) = general.calls
    assert all(given is taken for given, taken in zip(arrays, args, strict=True))
    assert kwargs == {}
    del args
    general.calls.clear()
    assert [sys.getrefcount(array) for array in own] == counts


@pytest.mark.parametrize("count", [0, 1, 2, 4, 9])
def test_a_wrong_number_of_arguments_goes_to_the_general_function(setup, count):
    _, call, general, arrays = setup
    given = (arrays * 3)[:count]
    assert call(*given) == "general"
    assert len(general.calls[0][0]) == count


def test_keywords_go_to_the_general_function(setup):
    _, call, general, (q, v, tau) = setup
    assert call(q, v, tau=tau) == "general"
    assert call(q, v, tau, external={"hand": 1}) == "general"
    assert call(tau=tau, q=q, v=v) == "general"
    assert general.calls[0][1].keys() == {"tau"}
    assert general.calls[0][1]["tau"] is tau
    assert general.calls[1] == ((q, v, tau), {"external": {"hand": 1}})
    assert list(general.calls[2][1]) == ["tau", "q", "v"]


# --- with parameters: keywords, lists, and arrays of other types, strides and classes ---------------------------------
PARAMETERS = ("q", "v", "tau", "external")


@lru_cache(maxsize=2)
def _taking(mode):
    kernel = ready(kernel_of(square()))

    def square_of(q, v, tau, external=None):
        """Squares."""

    general = Recorder()
    general.__name__, general.__signature__ = "square_of", inspect.signature(square_of)
    general.__doc__ = square_of.__doc__
    return kernel, kernel.python_call(general, mode, PARAMETERS), general


@pytest.fixture
def taking(mode):
    """As `setup`, with names for the arguments and a last one that may be left out."""
    kernel, call, general = _taking(mode)
    general.calls.clear()
    q, v, tau = (np.round(array[0] * 4.0) / 4.0 for array in states(square(), 1))  # exact in float32
    return kernel, call, general, [q, v, tau]


def test_keywords_in_any_order_and_a_last_none_need_no_general_function(taking):
    kernel, call, general, (q, v, tau) = taking
    expected = kernel.single(q, v, tau)
    assert np.array_equal(call(q=q, v=v, tau=tau), expected)
    assert np.array_equal(call(tau=tau, q=q, v=v), expected)
    assert np.array_equal(call(q, tau=tau, v=v), expected)
    assert np.array_equal(call(q, v, tau, None), expected)
    assert np.array_equal(call(q, v, external=None, tau=tau), expected)
    names = {"".join(["t", "au"]): tau}  # no interned text
    assert np.array_equal(call(q, v, **names), expected)
    assert general.calls == []


@pytest.mark.parametrize("position", [0, 1, 2])
def test_numbers_are_read_from_lists_and_other_arrays(taking, position):
    class Sub(np.ndarray):
        pass

    kernel, call, general, arrays = taking
    x = arrays[position]
    expected = kernel.single(*arrays)
    for other in (
        x.tolist(),
        tuple(x.tolist()),
        list(x),  # numpy.float64
        x.astype(np.float32),
        x.view(Sub),
        np.repeat(x, 2)[::2],
        x[::-1].copy()[::-1],
        x.astype(np.float32).repeat(3)[::3],
    ):
        given = [*arrays[:position], other, *arrays[position + 1 :]]
        assert np.array_equal(call(*given), expected), type(other)
        assert np.array_equal(call(**dict(zip(PARAMETERS, given, strict=False))), expected)
    assert general.calls == []
    whole = [2, -3, True, 0, 5, -1, 7]
    arrays[position] = np.array(whole, dtype=float)
    expected = kernel.single(*arrays)
    for other in (whole, np.array(whole), np.array(whole)[::-1].copy()[::-1]):
        assert np.array_equal(call(*arrays[:position], other, *arrays[position + 1 :]), expected)
    assert general.calls == []


def _doubtful(q):
    return {
        "too short": q[:6].tolist(),
        "too long": [*q, 0.0],
        "text": ["0"] * 7,
        "one string": "1234567",
        "None inside": [*q[:6], None],
        "complex inside": [*q[:6], 1j],
        "numpy's complex inside": [*q[:6], np.complex128(1 + 1j)],
        "array inside": [*q[:6], np.array([1.0])],
        "huge": [*q[:6], 10**400],
        "nested": [q.tolist()],
        "not a number": [*q[:6], float("nan")],
        "complex": q.astype(complex),
        "objects": q.astype(object),
        "big endian": q.astype(">f8"),
        "half": q.astype(np.float16),
        "dates": np.zeros(7, dtype="datetime64[s]"),
        "record": np.zeros(7, dtype=[("x", float)]),
        "bytes of the same size": bytes(56),
        "not aligned": np.zeros(57, dtype=np.uint8)[1:].view(float),
        "dict": dict.fromkeys(range(7), 0.0),
        "None": None,
        "number": 1.0,
        "iterator": iter(q.tolist()),
    }


@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.parametrize("kind", _doubtful(np.zeros(7)))
def test_what_is_no_plain_vector_of_numbers_is_left_to_the_general_function(taking, position, kind, mode):
    if mode == "buffer" and kind == "not aligned":
        pytest.skip("numbers are copied from a buffer, wherever it lies")
    _, call, general, arrays = taking
    arrays[position] = _doubtful(arrays[position])[kind]
    assert call(*arrays) == "general"
    ((args, kwargs),) = general.calls
    assert all(given is taken for given, taken in zip(arrays, args, strict=True))
    assert kwargs == {}


def test_wrong_names_and_counts_are_left_to_the_general_function(taking):
    _, call, general, (q, v, tau) = taking
    wrong = [
        ((q, v), {}),
        ((q, v), {"taw": tau}),
        ((q, v, tau), {"q": q}),
        ((q, v, tau), {"external": {"hand": 1}}),
        ((q, v, tau, {"hand": 1}), {}),
        ((q, v, tau, None, None), {}),
        ((), {"q": q, "tau": tau}),
    ]
    for args, kwargs in wrong:
        assert call(*args, **kwargs) == "general"
        found_args, found_kwargs = general.calls.pop()
        assert len(found_args) == len(args)
        assert found_kwargs.keys() == kwargs.keys()


def test_arguments_that_are_converted_leak_nothing(taking):
    _, call, general, arrays = taking
    lists = [array.tolist() for array in arrays]
    bad = [*lists[:2], [*lists[2][:6], None]]
    huge = [*lists[:2], [*lists[2][:6], 10**400]]
    short = [array.astype(np.float32) for array in arrays]
    numbers = [item for values in lists for item in values]

    def run(times):
        for _ in range(times):
            call(*lists)
            call(*bad)
            call(*huge)
            call(*short)
            call(**dict(zip(PARAMETERS, lists, strict=False)))
            call(*arrays, None)
            general.calls.clear()

    assert_leaks_nothing(run, objects=(*arrays, *lists, *short, *numbers, general, call))


def test_the_function_has_name_parameters_and_text_of_the_one_it_stands_for(taking):
    call = taking[1]
    assert call.__name__ == "square_of"
    assert str(inspect.signature(call)) == "(q, v, tau, external=None)"
    assert inspect.getdoc(call) == "Squares."


def test_fewer_rows_than_lanes_run_through_the_code_for_one_state(taking):
    kernel, call, general, _ = taking
    for count in range(1, kernel.info().lanes):
        batch = [np.ascontiguousarray(array) for array in states(kernel.function, count)]
        found = call(*batch)
        assert np.array_equal(found, [kernel.single(*one) for one in zip(*batch, strict=True)])
        assert np.array_equal(found, kernel.batch(*batch))
        columns = kernel.batch(*map(np.asfortranarray, batch))
        assert np.array_equal(found, columns)
    assert general.calls == []
    assert "batch" not in kernel.info().cached, "no code for batches is compiled for them"


def test_a_function_made_before_its_kernel_runs_it_once_it_is_compiled(mode):
    function = square()
    arrays = [array[0] for array in states(function, 1)]
    kernel, general = kernel_of(function), Recorder()
    entry = Entry(kernel.info().lanes)
    call = boundary.make_builtin(kernel.signature, entry, general, mode)
    assert call(*arrays) == "general"
    kernel.connect(entry)
    assert call(*arrays) == "general", "nothing is compiled behind the caller's back"
    expected = kernel.single(*arrays)
    del kernel, entry
    gc.collect()
    assert np.array_equal(call(*arrays), expected)
    assert len(general.calls) == 2


def test_errors_of_the_general_function_pass_through(mode):
    def general(*_):
        raise InputError("explained")

    call = ready(kernel_of(square())).python_call(general, mode)
    with pytest.raises(InputError, match="explained") as caught:
        call(1, 2, 3)
    assert caught.value.__context__ is None, "no trace of the failed attempt is left"


def test_a_failing_guard_goes_to_the_general_function(mode):
    general = Recorder()
    function = mixed()
    kernel = kernel_of(function)
    call = ready(kernel).python_call(general, mode)
    q, v, tau = (array[0] for array in states(function, 1))
    m, s, w = call(q, v, tau)
    for found, expected in zip((m, s, w), kernel.single(q, v, tau), strict=True):
        assert np.array_equal(found, expected)
        assert found.shape == expected.shape
    assert general.calls == []
    v[1] = -50.5
    assert call(q, v, tau) == "general"


def test_rows_are_taken_once_the_batch_code_is_compiled(mode):
    function = mixed()
    kernel = kernel_of(function)
    general = Recorder()
    call = ready(kernel).python_call(general, mode)
    batch = states(function, 29)
    assert call(*batch) == "general", "nothing is compiled behind the caller's back"
    expected = kernel.batch(*batch)
    found = call(*batch)
    assert len(general.calls) == 1
    for a, b in zip(found, expected, strict=True):
        assert np.array_equal(a, b)
        assert a.shape == b.shape
        assert a.flags.c_contiguous
    one = [array[0] for array in batch]
    for a, b in zip(call(*one), kernel.single(*one), strict=True):
        assert np.array_equal(a, b)


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
        "float32": (q, v, tau.astype(np.float32)),
        "one vector": (q, v, tau[0].copy()),
        "first a vector": (q[0].copy(), v, tau),
        "three axes": (q[None], v[None], tau[None]),
        "not a number": (q, nan, tau),
        "list": (q, v.tolist(), tau),
    }


@pytest.mark.parametrize("kind", _wrong_rows([np.zeros((19, 7))] * 3, 2))
def test_any_other_batch_goes_to_the_general_function(setup, kind):
    kernel, call, general, _ = setup
    batch = states(kernel.function, 19)
    kernel.batch(*batch)
    arguments = _wrong_rows(batch, kernel.info().lanes)[kind]
    counts = [sys.getrefcount(array) for array in (*arguments, *batch)]
    assert call(*arguments) == "general"
    general.calls.clear()
    assert [sys.getrefcount(array) for array in (*arguments, *batch)] == counts


def test_batches_leak_nothing(setup):
    kernel, call, general, _ = setup
    batch = states(kernel.function, 19)
    kernel.batch(*batch)
    wrong = list(_wrong_rows(batch, kernel.info().lanes).values())

    def run(times):
        for _ in range(times):
            call(*batch)
            for arguments in wrong:
                call(*arguments)
            general.calls.clear()

    assert_leaks_nothing(run, 300)


def test_nothing_leaks(setup):
    _, call, general, arrays = setup
    bad = [arrays[0], arrays[1][:6], arrays[2]]
    worse = [arrays[0], np.full(7, np.nan), arrays[2]]
    none = None

    def run(times):
        for _ in range(times):
            call(*arrays)
            call(*bad)
            call(*worse)
            call(1, none, arrays[0], key=2)
            general.calls.clear()

    assert_leaks_nothing(run, objects=(*arrays, bad[1], worse[1], general, call))


def test_several_outputs_leak_nothing(mode):
    function = mixed()
    call = ready(kernel_of(function)).python_call(Recorder(), mode)
    arrays = [array[0] for array in states(function, 1)]

    assert_results_leak_nothing(call, arrays, mode)


def test_several_outputs_are_a_record_where_one_is_wanted(mode):
    function = mixed()
    kernel = ready(kernel_of(function))
    entry = Entry(kernel.info().lanes)
    names = [name for name, _ in kernel.signature.outputs]
    record = namedtuple("Results", names)
    call = boundary.make_builtin(kernel.signature, entry, Recorder(), mode, record=record)
    kernel.connect(entry)
    arrays = [array[0] for array in states(function, 1)]
    found, wanted = call(*arrays), kernel.single(*arrays)
    assert type(found) is record
    for name, value in zip(names, wanted, strict=True):
        assert np.array_equal(getattr(found, name), value)

    assert_results_leak_nothing(call, arrays, mode)


def test_the_function_outlives_its_kernel(mode):
    function = square()
    arrays = [array[0] for array in states(function, 1)]
    kernel = kernel_of(function)
    expected = kernel.single(*arrays)
    call = ready(kernel).python_call(Recorder(), mode)
    del kernel
    gc.collect()
    assert np.array_equal(call(*arrays), expected)


def test_a_cycle_through_the_general_function_is_collected(mode):
    class Owner:
        def __init__(self):
            self.call = ready(kernel_of(square())).python_call(self.general, mode)

        def general(self, *args):
            return args

    owner = Owner()
    gone = weakref.ref(owner)
    assert owner.call(1) == (1,)
    del owner
    gc.collect()
    assert gone() is None


def test_the_function_says_what_it_is(setup):
    call = setup[1]
    assert call.__name__ == "square"
    assert str(inspect.signature(call)) in ("(q, v, tau)", "($self, q, v, tau)")
    assert call.__module__ == "ada_dynamics.jit.boundary"


def test_a_scalar_output_is_an_array_without_dimensions(mode):
    kernel = kernel_of(trace("f", {"q": 2}, lambda q: {"y": q[0] * q[1]}))
    call = ready(kernel).python_call(Recorder(), mode)
    result = call(np.array([2.0, 3.0]))
    assert result.shape == ()
    assert result == 6.0


def test_the_mode_comes_from_the_environment_and_unknown_ones_are_refused(monkeypatch):
    expected = "struct" if boundary.struct_is_as_expected() else "buffer"
    assert boundary.choose_mode() == expected
    monkeypatch.setenv("ADA_BOUNDARY", "struct")
    assert boundary.choose_mode() in MODES
    monkeypatch.setenv("ADA_BOUNDARY", "telepathy")
    with pytest.raises(InputError, match="telepathy"):
        boundary.choose_mode()


@pytest.fixture
def other(monkeypatch):
    """What a boundary knows of its interpreter is found out anew, in the test and after it."""
    tests = (boundary.is_possible, boundary.struct_is_as_expected)
    for one in tests:
        one.cache_clear()
    yield monkeypatch
    for one in tests:
        one.cache_clear()


def test_struct_falls_back_to_buffer_where_the_self_test_fails(other):
    other.setattr(boundary, "layout", lambda: boundary.Layout(dtype=64))
    assert boundary.choose_mode("struct") == "buffer"


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("layout", lambda: boundary.Layout(data=24), "their data elsewhere"),
        ("SYMBOLS", (*boundary.SYMBOLS, "PyObject_Telepathy"), "this Python has no PyObject_Telepathy"),
    ],
)
def test_where_no_builtin_can_be_made_calls_are_plain_python_and_the_log_says_so(other, caplog, name, value, said):
    other.setattr(boundary, name, value)
    model = ada.planar_chain(2)
    found = ada.Dynamics(model).forward(np.zeros(2), np.zeros(2), np.ones(2))
    assert said in caplog.text
    other.undo()
    boundary.is_possible.cache_clear()
    np.testing.assert_array_equal(found, ada.Dynamics(model).forward(np.zeros(2), np.zeros(2), np.ones(2)))


@pytest.mark.skipif(not boundary.is_possible(), reason="no builtin can be made here")
@pytest.mark.skipif(bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="this Python has no lock")
def test_arrays_are_read_by_their_struct_where_the_interpreter_has_a_lock(monkeypatch):
    monkeypatch.setattr("sysconfig.get_config_var", {"Py_GIL_DISABLED": 0}.get)
    assert boundary._struct_problem() is None
    monkeypatch.setattr("sysconfig.get_config_var", {"Py_GIL_DISABLED": 1}.get)
    assert boundary._struct_problem() == "this Python has no global interpreter lock"
