# SPDX-License-Identifier: Apache-2.0
"""PTX itself, run instruction by instruction, gives the numbers of the kernels of the processor at hand."""

import numpy as np
import pytest
from jit_examples import close, kernel_of, mixed, reference, states
from ptx_machine import PtxKernel

import ada_dynamics as ada
from ada_dynamics.gpu.ptx import threads_module
from ada_dynamics.jit import Target
from ada_dynamics.jit.compiler import compile_text

GROUP = 8


def run(text: str, inputs: list[np.ndarray], shapes, columns: bool = False, before: np.ndarray | None = None):
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
    results, status, found = run(ptx(mixed(), 64, capability), batch, mixed().shapes.values(), columns)
    assert status[[5, 9]].tolist() == [2, 1]
    assert np.flatnonzero(status).tolist() == [5, 9]
    assert found == 3
    expected = kernel_of(mixed()).batch_status(*batch)[0]
    good = np.delete(np.arange(21), [5, 9])
    close([x[good] for x in results], [x[good] for x in expected])


def test_single_precision():
    batch = [x.astype(np.float32) for x in states(mixed(), 21)]
    results, status, _ = run(ptx(mixed(), 32, 90), batch, mixed().shapes.values())
    assert not status.any()
    close(results, reference(mixed(), batch), tolerance=2e-6)  # some ten roundings of 6e-8 of numbers near one


@pytest.mark.parametrize("over", [64, 32])
def test_a_kernel_that_takes_over_computes_in_double_precision_what_has_a_status_and_leaves_all_else(over):
    batch = [x.astype(f"f{over // 8}") for x in states(mixed(), 21)]
    before = np.zeros(21, np.uint8)
    before[[3, 5, 20]] = 1, 2, 3
    batch[1][5, 1] = -60.0  # a guard of the function
    results, status, found = run(ptx(mixed(), 64, 90, over), batch, mixed().shapes.values(), before=before)
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
    (found,), status, _ = run(text, [q, v, tau], [(model.nv,)])
    assert not status.any()
    expected = dynamics.forward(q, v, tau)
    # fused elsewhere: roundings times the condition of the mass matrix
    assert np.max(np.abs(found - expected)) < 1e-12 * np.max(np.abs(expected))
