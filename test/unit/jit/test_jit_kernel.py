# SPDX-License-Identifier: Apache-2.0
"""What only compiled and loop kernels have: layouts of batches, calls without Python, and code in parts."""

import ctypes
import inspect
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from jit_examples import TARGETS, assert_leaks_nothing, close, kernel_of, mixed, parts_of, states
from random_trees import random_tree

import ada_dynamics as ada
from ada_dynamics.errors import InputError
from ada_dynamics.expr import absolute, evaluate, maximum, minimum, select, sin, sqrt, trace
from ada_dynamics.jit import Target, scalar
from ada_dynamics.jit.elementary import LIMIT
from ada_dynamics.jit.fallback import reason_for_fallback
from ada_dynamics.jit.generic import load_entry
from ada_dynamics.jit.integrator import compiled_integrators
from ada_dynamics.jit.scalar import NO_MEMORY
from ada_dynamics.jit.signature import Signature
from ada_dynamics.jit.target import CodeLimits

FUNCTION = mixed()
BATCH = ctypes.CFUNCTYPE(ctypes.c_int, *(ctypes.c_void_p,) * 4, ctypes.c_int64)


def host(lanes: int | None = None, **limits) -> Target:
    """The machine at hand with other limits; LLVM splits vectors that are too wide for it."""
    own = Target.host()
    return replace(own, lanes=lanes or own.lanes, limits=CodeLimits(**limits))


@pytest.mark.parametrize("size", [*range(1, 18), 129, 130, 134, 136])
@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_rows_of_every_length_are_turned_into_lanes_and_back_and_nothing_else_is_written(size, lanes):
    function = trace("f", {"x": size, "y": 2}, lambda x, y: {"z": tuple(a + 1.0 for a in x), "w": y[0] - y[1]})
    x, y = states(function, 19)
    limits, at = ({"cached": 0}, int(size > 134)) if size > 130 else ({}, 0)  # past the caches, if they are aligned
    z, w = np.full(30 * size + 1, 7.0)[at : at + 30 * size].reshape(30, size), np.full(30, 7.0)
    kernel = kernel_of(function, host(lanes, **limits))
    code = BATCH(kernel.native_address("kernel_rows"))
    assert code(*(one.ctypes.data for one in (x, y, z[5:], w[5:])), 19) == 0
    assert np.array_equal(z[5:24], x + 1.0) and np.array_equal(w[5:24], y[:, 0] - y[:, 1])
    assert all((one[:5] == 7.0).all() and (one[24:] == 7.0).all() for one in (z, w))


@pytest.mark.parametrize("lanes", [2, 4, 8])
@pytest.mark.parametrize("together", [1, 2, 3, 8])
def test_columns_are_read_and_written_wherever_they_begin_and_nothing_beside_them(lanes, together):
    function = trace("f", {"x": 3, "y": 1}, lambda x, y: {"z": (x[0] + y[0], x[1], x[2] - y[0]), "w": 2.0 * y[0]})
    kernel = kernel_of(function, host(lanes, blocks=together))
    code = BATCH(kernel.native_address("kernel_columns"))
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


@pytest.mark.parametrize("order", ["C", "F"])
def test_results_of_a_large_batch_are_those_of_small_ones(order):
    q, v, a = (
        np.asarray(np.resize(one, (4001, 7)), order=order) for one in np.random.default_rng(0).normal(size=(3, 60, 7))
    )
    derivatives = ada.Dynamics(ada.load("pa10")).inverse_derivatives
    for many, few in zip(derivatives(q, v, a), derivatives(q[:60], v[:60], a[:60]), strict=True):
        assert many.shape == (4001, 7, 7) and np.array_equal(many, np.resize(few, many.shape))


@pytest.mark.parametrize("limits", [{}, {"stack": 1500}, {"stack": 500}, {"registers": 0, "segment": 20, "huge": 0}])
def test_many_results_and_huge_functions_have_the_same_bits_in_batches(limits):
    def body(x, y):
        return {"z": tuple(x[i % 3] * (1.0 + i) - y[0] for i in range(520)), "w": y[0] + y[1]}

    function = trace("wide", {"x": 3, "y": 2}, body)
    kernel, batch = kernel_of(function, host(**limits)), states(function, 19)
    batch[0][2, 1] = np.nan
    alone = [kernel.single_status(*row)[0] for row in zip(*batch, strict=True)]
    for order in "CF":
        found, status = kernel.batch_status(*(np.asarray(x, order=order) for x in batch))
        assert status == 1
        for part, wanted in zip(found, zip(*alone, strict=True), strict=True):
            assert np.array_equal(part, np.array(wanted), equal_nan=True)
    close([found[1]], [batch[1].sum(axis=1)])


pytestmark = pytest.mark.skipif(reason_for_fallback() is not None, reason="nothing can be compiled here")
NAMES = {"forward": ("q", "v", "tau"), "inverse": ("q", "v", "a"), "mass_matrix": ("q",), "com_jacobian": ("q",)}
MODEL = random_tree(12, ["revolute", "spherical", "prismatic"], "floating")


@pytest.fixture(params=["linux", "win32"])
def system(request, monkeypatch):
    """Where addresses are symbols, and where they are written into the code."""
    compiled_integrators()  # the linker is that of the system at hand
    monkeypatch.setattr("sys.platform", request.param)
    monkeypatch.setenv("ADA_CACHE", "off")


@pytest.fixture(params=NAMES)
def call(request, system):
    """A method that a loop kernel answers, its arguments by name, and what Python answered at the first call."""
    rng, dynamics = np.random.default_rng(0), ada.Dynamics(MODEL, kernel="generic")
    state = [MODEL.random_state(rng)[0], rng.normal(size=MODEL.nv), rng.normal(size=MODEL.nv)]
    given = dict(zip(NAMES[request.param], state, strict=False))
    method = getattr(dynamics, request.param)
    first = method(*given.values())
    assert inspect.isbuiltin(method)
    return method, given, first


def test_the_second_call_has_the_bits_of_the_first(call):
    method, given, first = call
    assert np.array_equal(method(*given.values()), first)
    assert np.array_equal(method(*(x.tolist() for x in given.values())), first)


def test_threads_do_not_meet_in_the_workspace(call):
    method, given, _ = call
    q, *rest = given.values()
    states = [[q, *(x * (1 + k) for x in rest)] for k in range(8)]
    expected = [method(*one) for one in states]

    def run(k):
        return all(np.array_equal(method(*states[k]), expected[k]) for _ in range(200))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(run, range(8)))


@pytest.mark.parametrize("call", ["forward"], indirect=True)
def test_nothing_is_left_of_calls_and_of_refusals(call):
    method, given, _ = call
    given = list(given.values())
    bad = [np.full_like(given[0], np.nan), *given[1:]]

    def run(times):
        for _ in range(times):
            method(*given)

    def refuse(times):
        for _ in range(times):
            with pytest.raises(InputError):
                method(*bad)

    assert_leaks_nothing(run, objects=given)
    assert_leaks_nothing(refuse, times=200)


def test_where_there_is_no_memory_for_the_workspace_the_status_says_so():
    signature = Signature("nothing", (("q", 1),), (("a", (1,)),))
    library = load_entry("no room", signature, 2**57, lambda body, room, tables: "0", {}, {})
    q = np.zeros(1)
    kernel = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(library.address("kernel"))
    assert kernel(q.ctypes.data, q.ctypes.data) == NO_MEMORY


def test_an_output_of_code_in_parts_may_replace_an_input():
    function = trace("f", {"x": 2, "y": 2}, lambda x, y: {"z": (sin(x[0]) * y[1], x[1] * y[0] + sin(x[0]))})
    x, y = np.array([0.3, -2.0]), np.array([5.0, 7.0])
    expected = kernel_of(function).single(x, y)
    kernel = parts_of(function, part=1)
    native = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 3)(kernel.native_address())
    for k in range(2):
        inputs = [x.copy(), y.copy()]
        assert native(*(one.ctypes.data for one in (*inputs, inputs[k]))) == 0
        assert np.array_equal(inputs[k], expected)


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
@pytest.mark.parametrize("make", [kernel_of, parts_of])
def test_without_fused_instructions_results_have_the_bits_of_the_expressions(make):
    function = trace("rational", {"x": 3, "y": 3}, rational)
    kernel = make(function, "sse2")
    rng = np.random.default_rng(1)
    for _ in range(50):
        x, y = rng.choice([0.0, -0.0, 1.0, -1.5, *rng.normal(size=4)], size=(2, 3))
        wanted = evaluate(function, x=x.tolist(), y=y.tolist())
        for found, expected in zip(kernel.single(x, y), wanted.values(), strict=True):
            assert found.tobytes() == expected.tobytes()  # a zero keeps its sign


@pytest.mark.parametrize("count", range(1, 7))
def test_an_input_no_result_needs_and_any_angle_out_of_range_are_reported(count):
    # The sine is multiplied by zero, so that only the check of sines can detect it.
    function = trace("f", {"x": count, "u": 1}, lambda x, u: {"y": sum(select(sin(a), 2.0, 1.0, 0.0) for a in x)})
    kernel = parts_of(function, part=2)
    for i in range(count):
        x = np.zeros(count)
        x[i] = 1.1 * LIMIT
        assert kernel.single_status(x, np.zeros(1))[1] == 1
        assert kernel.batch_status(np.tile(x, (9, 1)), np.zeros((9, 1)))[1] == 1
    assert kernel.single_status(np.zeros(count), np.array([np.inf]))[1] == 1
    assert kernel.single_status(np.zeros(count), np.zeros(1))[1] == 0
