# SPDX-License-Identifier: Apache-2.0
"""Register allocation on the graph: which values are spilled to memory, and how long functions are split into parts.

All later uses are known, so the value whose next use is farthest away is spilled (Belady, "A study of replacement
algorithms for a virtual-storage computer", IBM Systems Journal 5, 1966), to fast memory until it is full.
Compilers only use local heuristics on functions of 30 000 operations. Long functions are split into parts, between
which all values are in memory, because compile time grows faster than linearly with the length of a function.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import accumulate
from typing import NamedTuple

from ada_dynamics.expr.graph import CONST, Expr

FAST_COST = 0.2  # cost of an access to fast memory; an access to slow memory costs 1


class StepKind(Enum):
    """Kinds of steps."""

    COMPUTE = "compute"
    OUTPUT = "output"  # store a result or check a guard
    SPILL = "spill"
    RELOAD = "reload"


class Task(NamedTuple):
    """Computation or output of a node."""

    kind: StepKind
    node: Expr

    @property
    def operands(self) -> list[int]:
        """Indices of the nodes that must be in registers."""
        needed = (self.node,) if self.kind is StepKind.OUTPUT else self.node.args
        return list(dict.fromkeys(node.index for node in needed if node.op is not CONST))


class SpillSlot(NamedTuple):
    """Memory for one value."""

    is_fast: bool
    number: int


class Step(NamedTuple):
    """A task, or a spill or reload of a node."""

    kind: StepKind
    node: Expr
    place: SpillSlot | None = None


@dataclass
class Allocation:
    """Steps in parts; no value is in a register between two parts."""

    parts: list[list[Step]] = field(default_factory=lambda: [[]])
    places: dict[bool, int] = field(default_factory=lambda: {True: 0, False: 0})  # slots in fast and slow memory

    def accesses(self, is_fast: bool) -> int:
        """Number of spills and reloads."""
        return sum(step.place is not None and step.place.is_fast == is_fast for part in self.parts for step in part)

    @property
    def cost(self) -> float:
        """Weighted number of spills and reloads."""
        return self.accesses(False) + FAST_COST * self.accesses(True)


def allocate(tasks: Sequence[Task], registers: int, fast: int, part: int) -> Allocation:
    """Plan spills and reloads.

    Args:
        tasks: tasks in execution order; operands before their users.
        registers: number of registers, in addition to the one of the value being computed.
        fast: number of slots in fast memory.
        part: approximate number of tasks per part.
    """
    return _Allocator(tasks, registers, fast).run(part)


def part_starts(last_uses: Sequence[int], part: int) -> list[int]:
    """Positions at which parts start: near equal lengths, where the fewest values are live.

    Args:
        last_uses: position of the last use of each value, or of the value if it is not used.
        part: approximate length of a part.
    """
    changes = [0] * (len(last_uses) + 2)
    for turn, last in enumerate(last_uses):
        changes[turn + 1] += 1
        changes[last + 1] -= 1
    waiting = list(accumulate(changes))
    parts = max(1, round(len(last_uses) / part))
    length = len(last_uses) / parts
    ranges = (range(round((k - 0.25) * length), round((k + 0.25) * length) + 1) for k in range(1, parts))
    return [min(turns, key=waiting.__getitem__) for turns in ranges]


class _Allocator:
    def __init__(self, tasks: Sequence[Task], registers: int, fast: int) -> None:
        self.tasks, self.registers = tasks, registers
        self.plan = Allocation()
        self.uses: dict[int, list[int]] = {}  # tasks that use a node, in reverse order
        for turn in range(len(tasks) - 1, -1, -1):
            for operand in tasks[turn].operands:
                self.uses.setdefault(operand, []).append(turn)
        self.held: dict[int, Expr] = {}  # nodes in registers
        self.places: dict[int, SpillSlot] = {}  # slots of nodes in memory, whether in registers or not
        self.free: dict[bool, list[int]] = {True: list(range(fast - 1, -1, -1)), False: []}

    def run(self, part: int) -> Allocation:
        last_uses = [
            self.uses.get(task.node.index, [turn])[0] if task.kind is StepKind.COMPUTE else turn
            for turn, task in enumerate(self.tasks)
        ]
        starts = set(part_starts(last_uses, part))
        nodes = {task.node.index: task.node for task in self.tasks}
        for turn, task in enumerate(self.tasks):
            if turn in starts:
                self._put_all_away()
            operands = task.operands
            for operand in operands:
                if operand not in self.held:
                    self._make_room(operands)
                    self._add(StepKind.RELOAD, nodes[operand], self.places[operand])
                    self.held[operand] = nodes[operand]
            self._add(task.kind, task.node)
            for operand in operands:
                self._used(operand)
            if task.kind is StepKind.COMPUTE and self.uses.get(task.node.index):
                self._make_room(())
                self.held[task.node.index] = task.node
        return self.plan

    def _add(self, kind: StepKind, node: Expr, place: SpillSlot | None = None) -> None:
        self.plan.parts[-1].append(Step(kind, node, place))

    def _used(self, index: int) -> None:
        """Count a use; after the last one free the register and the slot."""
        self.uses[index].pop()
        if not self.uses[index]:
            del self.held[index]
            place = self.places.pop(index, None)
            if place is not None:
                self.free[place.is_fast].append(place.number)

    def _make_room(self, needed: Sequence[int]) -> None:
        """Free a register by spilling the value whose next use is farthest away."""
        if len(self.held) < self.registers:
            return
        last = max((index for index in self.held if index not in needed), key=lambda index: self.uses[index][-1])
        self._put(self.held.pop(last))

    def _put(self, node: Expr) -> None:
        if node.index in self.places:  # the value in memory is still valid
            return
        is_fast = bool(self.free[True])
        free = self.free[is_fast]
        if not free:
            free.append(self.plan.places[False])
        place = self.places[node.index] = SpillSlot(is_fast, free.pop())
        self.plan.places[is_fast] = max(self.plan.places[is_fast], place.number + 1)
        self._add(StepKind.SPILL, node, place)

    def _put_all_away(self) -> None:
        for node in self.held.values():
            self._put(node)
        self.held.clear()
        self.plan.parts.append([])
