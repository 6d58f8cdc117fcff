# SPDX-License-Identifier: Apache-2.0
"""Plans of registers: every number is where it is needed, never more of them than fit, and few ways to memory."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from jit_examples import kernel_of, key_of, mixed, states
from ptx_machine import PtxKernel

from ada_dynamics.expr import Function
from ada_dynamics.gpu.cuda_driver import HostDevice
from ada_dynamics.gpu.kernels import StagedBatches, ThreadKernel
from ada_dynamics.gpu.ptx import GROUP, tasks, threads_module
from ada_dynamics.jit import Signature, Target
from ada_dynamics.jit.compiler import compile_text
from ada_dynamics.jit.register_allocation import Allocation, SpillSlot, Step, StepKind, Task, allocate, part_starts
from ada_dynamics.jit.target import Limits


def tasks_of(function: Function) -> list[Task]:
    return list(tasks(function, function.nodes()))


def carried_out(plan: Allocation) -> list[Task]:
    """The tasks of a plan; every number is looked for where the plan says that it is."""
    done: list[Task] = []
    memory: dict[SpillSlot, int] = {}
    for part in plan.parts:
        held: set[int] = set()  # nothing is left of the part before
        for step in part:
            if step.kind is StepKind.SPILL:
                assert step.node.index in held
                memory[step.place] = step.node.index
            elif step.kind is StepKind.RELOAD:
                assert memory[step.place] == step.node.index
                held.add(step.node.index)
            else:
                done.append(Task(step.kind, step.node))
                assert set(done[-1].operands) <= held
                held.add(step.node.index)
    return done


def most_at_once(steps: list[Step]) -> int:
    """Registers that a part needs: from where a number comes to its last use before it is fetched again."""
    stays: list[list[int]] = []
    current: dict[int, list[int]] = {}
    for i, step in enumerate(steps):
        used = [step.node.index] if step.kind is StepKind.SPILL else Task(step.kind, step.node).operands
        for index in used if step.kind is not StepKind.RELOAD else ():
            current[index][1] = i
        if step.kind in (StepKind.COMPUTE, StepKind.RELOAD):
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
    given = tasks_of(mixed())
    plan = allocate(given, registers, fast, part)
    assert carried_out(plan) == given
    assert (len(plan.parts) > 1) == (part == 25)
    assert max(map(most_at_once, plan.parts)) <= registers + 1  # the one that is being computed
    assert plan.places[True] <= fast
    in_fast = {step.place.number for steps in plan.parts for step in steps if step.place and step.place.is_fast}
    assert len(in_fast) <= fast


def test_parts_begin_where_the_fewest_numbers_wait():
    squares = [12 + i for i in range(12)]  # each square is needed by its addition
    sums = [turn + 1 for turn in range(12, 24)]
    sums[-1] = 24 + 11
    terms = [24 + 12 + i for i in range(12)]
    longer = [min(turn + 1, 47) for turn in range(36, 48)]
    assert part_starts([*squares, *sums, *terms, *longer], 20) == [24]
    assert part_starts([*squares, *sums, *terms, *longer], 40) == []
    assert part_starts(range(100), 20) == [15, 35, 55, 75]  # nothing waits: the first of what is allowed
    assert part_starts([], 20) == []


NARROW = Limits(registers=(6, 6), thread_part=16)


def host(limits: Limits) -> HostDevice:
    return HostDevice(replace(HostDevice().target, limits=limits))


def run_on_host(function: Function, batch: list[np.ndarray], limits: Limits):
    machine = host(limits)
    return StagedBatches(machine).run(
        ThreadKernel(Signature.of(function), lambda: function, key_of(function), machine), batch
    )


def run_ptx(function: Function, inputs: list[np.ndarray], limits: Limits) -> tuple[str, list[np.ndarray]]:
    target, n = replace(Target.gpu(90), limits=limits), len(inputs[0])
    text = compile_text(threads_module(function, target), target, level=0).decode()
    outputs = [np.zeros((n, int(np.prod(shape)))) for shape in function.shapes.values()]
    status, found = np.full(n, 9, np.uint8), np.zeros(1, np.int32)
    arguments = [x for a in (*inputs, *outputs) for x in (a.ctypes.data, a.shape[1], 1)]
    PtxKernel(text).run([*arguments, status.ctypes.data, found.ctypes.data, n], 1, GROUP)
    assert not status.any()
    return text, [x.reshape(n, *shape) for x, shape in zip(outputs, function.shapes.values(), strict=True)]


def test_parts_give_the_bits_of_the_whole():
    batch = states(mixed(), 101)
    found, refused = run_on_host(mixed(), batch, NARROW)
    assert not len(refused)
    for a, b in zip(found, kernel_of(mixed()).batch(*batch), strict=True):
        assert np.array_equal(a, b)
    text, found = run_ptx(mixed(), [x[:5] for x in batch], NARROW)
    assert text.count(".func") > 1 and re.search(r"st\.(volatile\.)?shared", text)
    for a, b in zip(found, kernel_of(mixed()).batch(*batch), strict=True):
        assert np.array_equal(a, b[:5])


def test_a_refused_state_is_told_from_every_part_and_has_no_numbers():
    batch = states(mixed(), 21)
    batch[1][5, 1] = -60.0  # a guard of the function
    batch[0][9, 1] = np.nan
    results, refused = run_on_host(mixed(), batch, NARROW)
    assert refused.tolist() == [5, 9]
    for result in results:  # though some of them do not depend on what is wrong
        assert np.isnan(result[[5, 9]]).all()
        assert np.isfinite(np.delete(result, [5, 9], axis=0)).all()
