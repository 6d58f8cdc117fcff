# SPDX-License-Identifier: Apache-2.0
"""Calls that reach loop kernels and tapes without Python: the same bits, the same refusals, from many threads."""

from __future__ import annotations

import ctypes
import inspect
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from leaks import assert_leaks_nothing
from random_trees import random_tree

import ada_dynamics as ada
from ada_dynamics.dynamics import kernels
from ada_dynamics.errors import InputError
from ada_dynamics.jit import table_entry
from ada_dynamics.jit.fallback import reason_for_fallback
from ada_dynamics.jit.loop_kernel import LoopKernel
from ada_dynamics.jit.signature import Signature
from ada_dynamics.jit.table_entry import NO_ROOM, load_entry
from ada_dynamics.jit.tape_backend import TapeBackend
from ada_dynamics.robots import mechanisms

pytestmark = pytest.mark.skipif(reason_for_fallback() is not None, reason="nothing can be compiled here")
NAMES = {"forward": 3, "inverse": 3, "mass_matrix": 1, "com_jacobian": 1, "closed": 3}


def state(model, name, seed=0):
    rng = np.random.default_rng(seed)
    q = model.random_state(rng)[0]
    return [q, rng.normal(size=model.nv), rng.normal(size=model.nv)][: NAMES[name]]


@pytest.fixture(params=["linux", "win32"])
def system(request, monkeypatch):
    """Where addresses are symbols, and where they are written into the code."""
    monkeypatch.setattr(table_entry, "sys", SimpleNamespace(platform=request.param))
    monkeypatch.setenv("ADA_CACHE", "off")


@pytest.fixture(params=NAMES)
def call(request, monkeypatch, system):
    """A method that a loop kernel or a tape answers, and arguments; Python answered the first call."""
    monkeypatch.setattr(kernels, "SPECIALISE_UP_TO", 2)
    if request.param == "closed":
        model, q = mechanisms.five_bar()
        dynamics = ada.Dynamics(model, pose=q)
        given = [q, np.zeros(model.nv), np.ones(model.nv)]
        method = dynamics.forward
    else:
        model = random_tree(12, ["revolute", "spherical", "prismatic"], "floating")
        dynamics = ada.Dynamics(model)
        assert dynamics.is_generic
        given, method = state(model, request.param), getattr(dynamics, request.param)
    first = method(*given)
    return method, given, first, monkeypatch


def test_the_second_call_has_the_bits_of_the_first_and_goes_by_no_python(call):
    method, given, first, monkeypatch = call
    assert inspect.isbuiltin(method)
    monkeypatch.setattr(LoopKernel, "single", None)
    monkeypatch.setattr(TapeBackend, "single", None)
    assert np.array_equal(method(*given), first)
    assert np.array_equal(method(*(x.tolist() for x in given)), first)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused_by_name(call, value):
    method, given, _, _ = call
    for i, x in enumerate(given):
        for k in (0, len(x) - 1):
            bad = [y.copy() for y in given]
            bad[i][k] = value
            with pytest.raises(InputError, match=rf"\[{k}\] is -?(nan|inf) \(joint '"):
                method(*bad)


def test_a_quaternion_off_unit_length_is_refused(call):
    method, given, first, _ = call
    model = method.__self__[1].__self__.model
    if not model.has_manifold_coordinates:
        pytest.skip("it has none")
    with pytest.raises(InputError, match="quaternion"):
        method(1.001 * given[0], *given[1:])
    assert np.array_equal(method(*given), first)


def test_without_checks_numbers_that_are_not_finite_go_through(monkeypatch):
    monkeypatch.setattr(kernels, "SPECIALISE_UP_TO", 2)
    dynamics = ada.Dynamics(ada.planar_chain(4), checked=False)
    zeros = np.zeros(4)
    for name in ("forward", "com_jacobian"):
        call, rest = getattr(dynamics, name), [zeros] * (NAMES[name] - 1)
        for _ in range(2):
            assert np.isnan(call(np.array([0.0, np.nan, 0.0, 0.0]), *rest)).any()


def test_threads_do_not_meet_in_the_workspace(call):
    method, given, _, _ = call
    states = [[given[0], *(x * (1 + k) for x in given[1:])] for k in range(8)]
    expected = [method(*one) for one in states]

    def run(k):
        return all(np.array_equal(method(*states[k]), expected[k]) for _ in range(200))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(run, range(8)))


def test_nothing_is_left_of_calls_and_of_refusals(call):
    method, given, _, _ = call
    bad = [np.full_like(given[0], np.nan), *given[1:]]

    def run(times):
        for _ in range(times):
            method(*given)

    def refused(times):
        for _ in range(times):
            with pytest.raises(InputError):
                method(*bad)

    assert_leaks_nothing(run, objects=given)
    assert_leaks_nothing(refused, times=200)


def test_where_there_is_no_memory_for_the_workspace_the_status_says_so():
    signature = Signature("nothing", (("q", 1),), (("a", (1,)),))
    library = load_entry("no room", signature, 2**57, lambda body, room, tables: "0", {}, {})
    q = np.zeros(1)
    kernel = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(library.address("kernel"))
    assert kernel(q.ctypes.data, q.ctypes.data) == NO_ROOM


def test_workspaces_that_are_large_stay_with_their_kernel(monkeypatch):
    """Calls take no memory beside their result then."""
    monkeypatch.setattr("ada_dynamics.jit.loop_kernel.MAX_ENTRY_WORKSPACE", 100)
    dynamics = ada.Dynamics(ada.planar_chain(4), kernel="generic")
    ones = np.ones(4)
    first = dynamics.forward(ones, ones, ones)
    assert not dynamics.entries["forward"].single
    assert np.array_equal(dynamics.forward(ones, ones, ones), first)
