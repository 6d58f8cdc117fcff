# SPDX-License-Identifier: Apache-2.0
"""Which numbers stay in a thread's registers, and where the others wait: planned on the graph, before any assembler.

An assembler that runs out of registers moves what is in its way; it does not look at 30 000 operations to come. Here
they are all known, so the number goes whose next use is farthest away (Belady, "A study of replacement algorithms for a
virtual-storage computer", IBM Systems Journal 5, 1966), to fast memory as long as there is some. What is long is cut
into parts, between which all numbers wait in memory: compilers take far more than twice as long for twice as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import accumulate
from typing import NamedTuple

from ada_dynamics.expr.graph import CONST, Expr

FAST_COST = 0.2  # of an access to fast memory; one to slow memory costs 1


class Do(Enum):
    """Kinds of steps."""

    COMPUTE = "compute"
    DELIVER = "deliver"  # it is a result, or a condition
    PUT = "put"  # into memory
    FETCH = "fetch"  # back into a register


class Task(NamedTuple):
    """Something that must be done, in its turn."""

    do: Do
    node: Expr

    @property
    def operands(self) -> list[int]:
        """Indices of the nodes that it needs in registers."""
        needed = (self.node,) if self.do is Do.DELIVER else self.node.args
        return list(dict.fromkeys(node.index for node in needed if node.op is not CONST))


class Place(NamedTuple):
    """Memory for one number."""

    is_fast: bool
    number: int


class Step(NamedTuple):
    """A task, or a number's way to its place and back."""

    do: Do
    node: Expr
    place: Place | None = None


@dataclass
class Plan:
    """Steps, in parts; between two parts no number is in a register."""

    parts: list[list[Step]] = field(default_factory=lambda: [[]])
    places: dict[bool, int] = field(default_factory=lambda: {True: 0, False: 0})  # how many, fast and slow

    def accesses(self, is_fast: bool) -> int:
        """How often numbers go to memory and back."""
        return sum(step.place is not None and step.place.is_fast == is_fast for part in self.parts for step in part)

    @property
    def cost(self) -> float:
        """Accesses to slow memory; those to fast memory count less."""
        return self.accesses(False) + FAST_COST * self.accesses(True)


def keep(tasks: Sequence[Task], registers: int, fast: int, part: int) -> Plan:
    """Steps that need no more registers than there are.

    Args:
        tasks: in their order; nodes are computed before they are needed.
        registers: how many numbers stay at hand, beside the one that is being computed.
        fast: how many can wait in fast memory.
        part: tasks of a part, about.
    """
    return _Keeper(tasks, registers, fast).run(part)


def starts_of_parts(last_uses: Sequence[int], part: int) -> list[int]:
    """Turns at which a new part begins: near equal lengths, where the fewest numbers wait.

    Args:
        last_uses: for each turn, the last one that needs its number; itself, where none does.
        part: turns of a part, about.
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


class _Keeper:
    def __init__(self, tasks: Sequence[Task], registers: int, fast: int) -> None:
        self.tasks, self.registers = tasks, registers
        self.plan = Plan()
        self.uses: dict[int, list[int]] = {}  # tasks that need a node, the next one last
        for turn in range(len(tasks) - 1, -1, -1):
            for operand in tasks[turn].operands:
                self.uses.setdefault(operand, []).append(turn)
        self.held: dict[int, Expr] = {}  # nodes in registers
        self.places: dict[int, Place] = {}  # of nodes in memory, in registers or not
        self.free: dict[bool, list[int]] = {True: list(range(fast - 1, -1, -1)), False: []}

    def run(self, part: int) -> Plan:
        last_uses = [
            self.uses.get(task.node.index, [turn])[0] if task.do is Do.COMPUTE else turn
            for turn, task in enumerate(self.tasks)
        ]
        starts = set(starts_of_parts(last_uses, part))
        nodes = {task.node.index: task.node for task in self.tasks}
        for turn, task in enumerate(self.tasks):
            if turn in starts:
                self._put_all_away()
            operands = task.operands
            for operand in operands:
                if operand not in self.held:
                    self._make_room(operands)
                    self._add(Do.FETCH, nodes[operand], self.places[operand])
                    self.held[operand] = nodes[operand]
            self._add(task.do, task.node)
            for operand in operands:
                self._used(operand)
            if task.do is Do.COMPUTE and self.uses.get(task.node.index):
                self._make_room(())
                self.held[task.node.index] = task.node
        return self.plan

    def _add(self, do: Do, node: Expr, place: Place | None = None) -> None:
        self.plan.parts[-1].append(Step(do, node, place))

    def _used(self, index: int) -> None:
        """A use is over; after the last one the node needs neither register nor place."""
        self.uses[index].pop()
        if not self.uses[index]:
            del self.held[index]
            place = self.places.pop(index, None)
            if place is not None:
                self.free[place.is_fast].append(place.number)

    def _make_room(self, needed: Sequence[int]) -> None:
        """A register for one more number, at the expense of the one that is needed last."""
        if len(self.held) < self.registers:
            return
        last = max((index for index in self.held if index not in needed), key=lambda index: self.uses[index][-1])
        self._put(self.held.pop(last))

    def _put(self, node: Expr) -> None:
        if node.index in self.places:  # where it still is: numbers never change
            return
        is_fast = bool(self.free[True])
        free = self.free[is_fast]
        if not free:
            free.append(self.plan.places[False])
        place = self.places[node.index] = Place(is_fast, free.pop())
        self.plan.places[is_fast] = max(self.plan.places[is_fast], place.number + 1)
        self._add(Do.PUT, node, place)

    def _put_all_away(self) -> None:
        for node in self.held.values():
            self._put(node)
        self.held.clear()
        self.plan.parts.append([])
