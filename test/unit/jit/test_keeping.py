# SPDX-License-Identifier: Apache-2.0
"""Plans of registers: every number is where it is needed, never more of them than fit, and few ways to memory."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from jit_examples import kernel_of, mixed, states
from ptx_machine import PtxKernel

import ada_dynamics as ada
from ada_dynamics.expr import Function, trace
from ada_dynamics.jit import Signature, Target, emit_thread_columns, emit_threads, keeping
from ada_dynamics.jit.compiler import compile_text
from ada_dynamics.jit.emit_threads import GROUP, threads_module
from ada_dynamics.jit.keeping import Do, Place, Plan, Step, Task, keep
from ada_dynamics.jit.thread_batch import Pieces
from ada_dynamics.jit.thread_kernel import ThreadKernel
from ada_dynamics.jit.threads import HostThreads

PA10 = ada.load("pa10")


def tasks_of(function: Function) -> list[Task]:
    return list(emit_threads._tasks(function, function.nodes()))


def derivatives() -> Function:
    return ada.Dynamics(PA10, device="host").thread_kernel("forward_derivatives")._trace()


def carried_out(plan: Plan) -> list[Task]:
    """The tasks of a plan; every number is looked for where the plan says that it is."""
    done: list[Task] = []
    memory: dict[Place, int] = {}
    for part in plan.parts:
        held: set[int] = set()  # nothing is left of the part before
        for step in part:
            if step.do is Do.PUT:
                assert step.node.index in held
                memory[step.place] = step.node.index
            elif step.do is Do.FETCH:
                assert memory[step.place] == step.node.index
                held.add(step.node.index)
            else:
                done.append(Task(step.do, step.node))
                assert set(done[-1].operands) <= held
                held.add(step.node.index)
    return done


def most_at_once(steps: list[Step]) -> int:
    """Registers that a part needs: from where a number comes to its last use before it is fetched again."""
    stays: list[list[int]] = []
    current: dict[int, list[int]] = {}
    for i, step in enumerate(steps):
        used = [step.node.index] if step.do is Do.PUT else Task(step.do, step.node).operands
        for index in used if step.do is not Do.FETCH else ():
            current[index][1] = i
        if step.do in (Do.COMPUTE, Do.FETCH):
            current[step.node.index] = [i, i]
            stays.append(current[step.node.index])
    change = np.zeros(len(steps) + 1, dtype=int)
    for first, last in stays:
        change[first] += last > first
        change[last] -= last > first  # a result may take the register of an operand
    return int(np.cumsum(change).max())


@pytest.mark.parametrize("registers", [4, 8, 30])
@pytest.mark.parametrize("fast", [0, 5])
@pytest.mark.parametrize("part", [25, 10_000])
def test_every_number_is_at_hand_when_it_is_needed_in_no_more_registers_than_there_are(registers, fast, part):
    tasks = tasks_of(mixed())
    plan = keep(tasks, registers, fast, part)
    assert carried_out(plan) == tasks
    assert (len(plan.parts) > 1) == (part == 25)
    assert max(map(most_at_once, plan.parts)) <= registers + 1  # the one that is being computed
    assert plan.places[True] <= fast
    in_fast = {step.place.number for steps in plan.parts for step in steps if step.place and step.place.is_fast}
    assert len(in_fast) <= fast


def test_with_registers_enough_nothing_goes_to_memory():
    plan = keep(tasks_of(mixed()), 200, 0)
    assert plan.cost == 0.0
    assert plan.places == {True: 0, False: 0}


def test_what_is_needed_last_goes_first():
    """Nine numbers that are used in the order in which they came, in five registers: each goes once at most."""
    function = trace("late", {"x": 9}, lambda x: {"y": [x[i] * x[(i + 1) % 9] for i in range(9)]})
    plan = keep(tasks_of(function), 5, 0)
    oldest_goes = 2 * 9 + 1  # all of them to memory and back, and one twice: what a queue would do
    assert 0 < plan.accesses(False) < oldest_goes


def test_parts_begin_where_the_fewest_numbers_wait():
    """Twelve squares and their sum, which goes into each of twelve terms of a longer sum: before, it waits alone."""
    squares = [12 + i for i in range(12)]  # each square is needed by its addition
    sums = [turn + 1 for turn in range(12, 24)]
    sums[-1] = 24 + 11
    terms = [24 + 12 + i for i in range(12)]
    longer = [min(turn + 1, 47) for turn in range(36, 48)]
    assert keeping.starts_of_parts([*squares, *sums, *terms, *longer], 20) == [24]
    assert keeping.starts_of_parts([*squares, *sums, *terms, *longer], 40) == []
    assert keeping.starts_of_parts(range(100), 20) == [15, 35, 55, 75]  # nothing waits: the first of what is allowed
    assert keeping.starts_of_parts([], 20) == []


def test_derivatives_of_an_arm_need_less_memory_than_the_assembler_took():
    target = Target.gpu(90)
    plan = emit_threads.plan(emit_threads.expand(emit_threads.fused(derivatives())), target, 64)
    assert 8 * plan.accesses(False) < 200  # [byte]; the assembler: 1308 written and 1412 read
    assert plan.places[True] * 8 <= target.fast_bytes


@pytest.fixture
def narrow(monkeypatch):
    """Kernels with few registers, and several parts."""
    monkeypatch.setitem(emit_threads.REGISTERS, 64, 6)
    monkeypatch.setattr(emit_threads, "keep", partial(keeping.keep, part=16))


def run_on_host(function: Function, batch: list[np.ndarray], key: str) -> list[np.ndarray]:
    host = HostThreads()
    results, refused = Pieces(host).run(ThreadKernel(Signature.of(function), lambda: function, key, host), batch)
    assert not len(refused)
    return results


def test_parts_give_the_bits_of_the_whole(narrow):
    batch = states(mixed(), 101)
    assert len(emit_threads.plan(mixed(), Target.gpu(90), 64).parts) > 1
    for a, b in zip(run_on_host(mixed(), batch, "in parts"), kernel_of(mixed()).batch(*batch), strict=True):
        assert np.array_equal(a, b)


def test_a_refused_state_is_told_from_every_part_and_has_no_numbers(narrow):
    batch = states(mixed(), 21)
    batch[1][5, 1] = -60.0  # a guard of the function
    batch[0][9, 1] = np.nan
    host = HostThreads()
    kernel = ThreadKernel(Signature.of(mixed()), mixed, "refused in parts", host)
    results, refused = Pieces(host).run(kernel, batch)
    assert refused.tolist() == [5, 9]
    for result in results:  # though some of them do not depend on what is wrong
        assert np.isnan(result[[5, 9]]).all()
        assert np.isfinite(np.delete(result, [5, 9], axis=0)).all()


def test_threads_of_a_group_share_memory_without_touching_each_other_s(narrow):
    """PTX, run instruction by instruction: functions that are called, shared and local memory."""
    target, n = Target.gpu(90), 5
    text = compile_text(threads_module(mixed(), target), target, level=0).decode()
    assert text.count(".func") > 1
    assert "st.volatile.shared" in text or "st.shared" in text
    inputs = states(mixed(), n)
    outputs = [np.zeros((n, int(np.prod(shape)))) for shape in mixed().shapes.values()]
    status, found = np.full(n, 9, np.uint8), np.zeros(1, np.int32)
    arguments = [x for a in (*inputs, *outputs) for x in (a.ctypes.data, a.shape[1], 1)]
    PtxKernel(text).run([*arguments, status.ctypes.data, found.ctypes.data, n], 1, GROUP)
    assert not status.any()
    for mine, expected in zip(outputs, kernel_of(mixed()).batch(*inputs), strict=True):
        assert np.array_equal(mine.reshape(expected.shape), expected)


@pytest.fixture
def in_loops(monkeypatch):
    """Columns as loops, two at once of three; what they share is in both kinds of memory."""
    monkeypatch.setattr(emit_threads, "WRITTEN_OUT", 0)
    monkeypatch.setattr(emit_thread_columns, "AT_ONCE", 2)
    monkeypatch.setattr(Target, "fast_bytes", property(lambda _: 40))


def linkage(count: int) -> tuple[Function, list[np.ndarray]]:
    """Derivatives of a four-bar's accelerations, and states."""
    model, rng = ada.load("four_bar"), np.random.default_rng(0)
    dynamics = ada.Dynamics(model, device="host")
    q, v = dynamics.project(np.tile(ada.assemble(model), (count, 1)), rng.normal(size=(count, model.nv)))
    return dynamics.thread_kernel("forward_derivatives")._trace(), [q, v, rng.normal(size=(count, model.nv))]


def test_columns_in_loops_have_the_numbers_of_columns_written_out(in_loops):
    function, batch = linkage(7)
    assert "@columns0_of_2" in threads_module(function, HostThreads().target)
    expected = kernel_of(function).batch(*batch)
    for found, wanted in zip(run_on_host(function, batch, "columns in loops"), expected, strict=True):
        assert np.allclose(found, wanted, rtol=0, atol=1e-12 * np.max(np.abs(wanted)))


def test_columns_in_loops_of_a_state_that_is_refused_are_nan(in_loops):
    function, batch = linkage(3)
    batch[2][1, 0] = np.inf
    kernel = ThreadKernel(Signature.of(function), lambda: function, "refused in loops", HostThreads())
    results, refused = Pieces(HostThreads()).run(kernel, batch)
    assert refused.tolist() == [1]
    assert all(np.isnan(x[1]).all() and np.isfinite(x[[0, 2]]).all() for x in results)


def test_columns_in_loops_of_ptx(in_loops):
    function, inputs = linkage(3)
    target = Target.gpu(90)
    text = compile_text(threads_module(function, target), target, level=0).decode()
    assert ".const" in text and "columns1_of_2" in text
    outputs = [np.zeros((3, int(np.prod(shape)))) for shape in function.shapes.values()]
    status, found = np.full(3, 9, np.uint8), np.zeros(1, np.int32)
    arguments = [x for a in (*inputs, *outputs) for x in (a.ctypes.data, a.shape[1], 1)]
    PtxKernel(text).run([*arguments, status.ctypes.data, found.ctypes.data, 3], 1, 3)
    assert not status.any()
    for x, wanted in zip(outputs, kernel_of(function).batch(*inputs), strict=True):
        assert np.allclose(x.reshape(wanted.shape), wanted, rtol=0, atol=1e-12 * np.max(np.abs(wanted)))
