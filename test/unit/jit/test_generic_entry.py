# SPDX-License-Identifier: Apache-2.0
"""Calls that reach loop kernels without Python: the same bits, the same refusals, from many threads."""

import ctypes
import inspect
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from leaks import assert_leaks_nothing
from random_trees import random_tree

import ada_dynamics as ada
from ada_dynamics.errors import InputError
from ada_dynamics.jit.fallback import reason_for_fallback
from ada_dynamics.jit.generic import load_entry
from ada_dynamics.jit.integrator import compiled_integrators
from ada_dynamics.jit.scalar import NO_MEMORY
from ada_dynamics.jit.signature import Signature

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
