# SPDX-License-Identifier: Apache-2.0
"""Kernels of threads give the numbers of batch kernels: on this processor, and as PTX, run by instructions."""

import re

import numpy as np
import pytest
from jit_examples import close, kernel_of, key_of, mixed, reference, states
from ptx_machine import PtxKernel

import ada_dynamics as ada
from ada_dynamics.expr import Function, cos, sin, trace
from ada_dynamics.gpu.arrays import Strided
from ada_dynamics.gpu.cuda_driver import HostDevice
from ada_dynamics.gpu.kernels import ThreadKernel, compute
from ada_dynamics.gpu.ptx import threads_module
from ada_dynamics.jit import Signature, Target
from ada_dynamics.jit.compiler import assembly, compile_text
from ada_dynamics.jit.scalar import GUARD_FAILED, NOT_FINITE
from ada_dynamics.jit.target import PTX

HOST = HostDevice()
needs_fma = pytest.mark.skipif(not HOST.target.fma, reason="this processor has no fused multiply-add")


def threads_of(function: Function, bits: int = 64) -> ThreadKernel:
    return ThreadKernel(Signature.of(function), lambda: function, key_of(function), HOST, bits)


def run(function: Function, batch: list[np.ndarray], bits: int = 64):
    return compute(threads_of(function, bits), batch)


def test_threads_give_the_numbers_of_the_batch_kernel_bit_for_bit():
    batch = states(mixed(), 101)
    found, refused = run(mixed(), batch)
    assert not len(refused)
    for a, b in zip(found, kernel_of(mixed()).batch(*batch), strict=True):
        assert np.array_equal(a, b)


@needs_fma
def test_single_precision_agrees_with_extended_precision_to_its_own_rounding():
    batch = states(mixed(), 101)
    found, refused = run(mixed(), batch, bits=32)
    assert not len(refused)
    assert all(x.dtype == np.float32 for x in found)
    close(found, reference(mixed(), batch), tolerance=2e-6)  # some ten roundings of 6e-8 of numbers near one


@needs_fma
@pytest.mark.parametrize("largest", [1.0, 10.0, 1e3, 1e5])
def test_sines_of_floats_err_by_less_than_two_units_in_the_last_place(largest):
    function = trace("angles", {"x": 1}, lambda x: {"s": [sin(x[0])], "c": [cos(x[0])]})
    x = np.random.default_rng(0).uniform(-largest, largest, (50_000, 1)).astype(np.float32)
    found, refused = run(function, [x], bits=32)
    assert not len(refused)
    for y, exact in zip(found, (np.sin(x.astype(float)), np.cos(x.astype(float))), strict=True):
        assert np.max(np.abs(y - exact) / np.spacing(np.abs(exact).astype(np.float32))) < 2.0


def test_rows_columns_single_states_and_results_in_the_place_of_inputs_are_read_as_they_lie():
    body = lambda q, v: {"a": [q[0] - v[1], q[1] * v[0]]}  # noqa: E731
    function = trace("place", {"q": 2, "v": 2}, body)
    q, v = states(function, 9)
    wanted = kernel_of(function).batch(q, np.tile(v[3], (9, 1)))
    status, found = np.full(9, 7, np.uint8), np.zeros(1, np.int32)
    memory = np.ascontiguousarray(q.T)
    columns = Strided(memory.ctypes.data, 1, 9)
    one = Strided(v.ctypes.data + 3 * 16, 0, 1)
    threads_of(function).launch([columns, one], [columns], status.ctypes.data, found.ctypes.data, 9)
    assert np.array_equal(memory.T, wanted)
    assert not status.any()
    assert not found[0]


def test_each_state_has_its_own_status_and_the_word_has_all_of_them():
    q, v, tau = states(mixed(), 20)
    q[3, 1] = np.nan
    v[7, 1] = -60.0  # a guard of the function
    q[11, 0] = 1e10  # beyond what sines are told of
    results, refused = run(mixed(), [q, v, tau])
    assert refused.tolist() == [3, 7, 11]
    assert np.isfinite(np.delete(results[0], [3, 7, 11], axis=0)).all()
    status, found = np.zeros(20, np.uint8), np.zeros(1, np.int32)
    out = [np.empty((20, size)) for size in Signature.of(mixed()).output_sizes]
    places = [Strided(x.ctypes.data, x.shape[1], 1) for x in (q, v, tau, *out)]
    threads_of(mixed()).launch(places[:3], places[3:], status.ctypes.data, found.ctypes.data, 20)
    assert status[7] == GUARD_FAILED
    assert status[3] & NOT_FINITE
    assert found[0] == NOT_FINITE | GUARD_FAILED


@pytest.mark.parametrize("capability", PTX)
@pytest.mark.parametrize("bits", [64, 32])
def test_ptx_of_every_generation_is_one_kernel_that_calls_nothing(capability, bits):
    target = Target.gpu(capability)
    text = assembly(threads_module(mixed(), target, bits), target, 0)
    assert f".target sm_{capability}" in text
    assert text.count(".entry") == 1
    assert not re.search(r"\bcall\b|\.func|\.local", text)
    # roundings of sines are as they are written; only what may become one instruction is fused
    assert f"mul.rn.f{bits}" in text
    assert f"fma.rn.f{bits}" in text
    assert "ld.global" in text


GROUP = 8


def executed(text: str, inputs: list[np.ndarray], shapes, columns: bool = False, before: np.ndarray | None = None):
    """Results, status and the word of a kernel on batches; `before` is the status that it finds."""
    n, dtype = len(inputs[0]), inputs[0].dtype
    arrays = [np.asfortranarray(x) if columns else np.ascontiguousarray(x) for x in inputs]
    # more memory than there are states: what threads beyond them write is seen
    whole = [np.full((int(np.prod(shape)), n + GROUP), 7.0, dtype) for shape in shapes]
    status, found = np.full(n + GROUP, 9, np.uint8), np.zeros(1, np.int32)
    status[:n] = 9 if before is None else before
    arguments: list[int] = []
    for x in arrays:
        arguments += [x.ctypes.data, x.strides[0] // x.itemsize, x.strides[1] // x.itemsize]
    for x in whole:
        arguments += [x.ctypes.data, 1, n + GROUP]
    PtxKernel(text).run([*arguments, status.ctypes.data, found.ctypes.data, n], -(-n // GROUP), GROUP)
    assert all((x[:, n:] == 7.0).all() for x in whole)
    assert (status[n:] == 9).all()
    results = [x[:, :n].T.reshape(n, *shape) for x, shape in zip(whole, shapes, strict=True)]
    return results, status[:n], int(found[0])


def ptx(function, bits: int, capability: int, over: int | None = None) -> str:
    target = Target.gpu(capability)
    return compile_text(threads_module(function, target, bits, over), target, level=0).decode()


@pytest.mark.parametrize("capability", [70, 90, 120])
@pytest.mark.parametrize("columns", [False, True])
def test_threads_read_and_write_their_own_states_and_no_others(columns, capability):
    batch = states(mixed(), 21)
    batch[1][5, 1] = -60.0  # a guard of the function
    batch[0][9, 1] = np.nan
    results, status, found = executed(ptx(mixed(), 64, capability), batch, mixed().shapes.values(), columns)
    assert status[[5, 9]].tolist() == [2, 1]
    assert np.flatnonzero(status).tolist() == [5, 9]
    assert found == 3
    expected = kernel_of(mixed()).batch_status(*batch)[0]
    good = np.delete(np.arange(21), [5, 9])
    close([x[good] for x in results], [x[good] for x in expected])


def test_single_precision():
    batch = [x.astype(np.float32) for x in states(mixed(), 21)]
    results, status, _ = executed(ptx(mixed(), 32, 90), batch, mixed().shapes.values())
    assert not status.any()
    close(results, reference(mixed(), batch), tolerance=2e-6)  # some ten roundings of 6e-8 of numbers near one


@pytest.mark.parametrize("over", [64, 32])
def test_a_kernel_that_takes_over_computes_in_double_precision_what_has_a_status_and_leaves_all_else(over):
    batch = [x.astype(f"f{over // 8}") for x in states(mixed(), 21)]
    before = np.zeros(21, np.uint8)
    before[[3, 5, 20]] = 1, 2, 3
    batch[1][5, 1] = -60.0  # a guard of the function
    results, status, found = executed(ptx(mixed(), 64, 90, over), batch, mixed().shapes.values(), before=before)
    assert (np.flatnonzero(status).tolist(), found) == ([5], 2)
    expected = kernel_of(mixed()).batch_status(*(x.astype(float) for x in batch))[0]
    close([x[[3, 20]] for x in results], [x[[3, 20]] for x in expected], **({} if over == 64 else {"tolerance": 6e-8}))
    assert all(np.isnan(x[5]).all() and (x[np.delete(np.arange(21), [3, 5, 20])] == 7.0).all() for x in results)


@pytest.mark.parametrize("name", ["pa10", "five_bar"])
def test_forward_dynamics(name):
    model = ada.load(name)
    dynamics, rng = ada.Dynamics(model), np.random.default_rng(0)
    if model.loops:
        q = np.tile(ada.close_loops(model, model.neutral()), (9, 1))
        v = np.zeros((9, model.nv))
    else:
        q, v = np.array([model.random_state(rng)[0] for _ in range(9)]), rng.normal(size=(9, model.nv))
    tau = rng.normal(size=(9, model.nv))
    text = ada.Dynamics(model, device="host").thread_kernel("forward").ptx(90)
    (found,), status, _ = executed(text, [q, v, tau], [(model.nv,)])
    assert not status.any()
    expected = dynamics.forward(q, v, tau)
    # fused elsewhere: roundings times the condition of the mass matrix
    assert np.max(np.abs(found - expected)) < 1e-12 * np.max(np.abs(expected))
