# SPDX-License-Identifier: Apache-2.0
"""Order of assembly (Takahashi 2012, sec. 2.2.1): any order is valid; depth and cost differ.

Articulated bodies are numbered: the links (bodies of the tree), followed by one per step. Joints are numbered: that of
each body, followed by the loop joints. The world is not an articulated body: a joint to it is closed on the other body
only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from ada_dynamics.errors import check_name
from ada_dynamics.model.tree import WORLD, Tree


@dataclass(frozen=True)
class Step:
    """Articulated bodies joined by some joints at once."""

    parts: tuple[int, ...]  # articulated bodies
    joints: tuple[int, ...]
    handles: tuple[int, ...]  # links that have open joints still
    depth: int  # length of the longest chain of dependent steps up to this one
    in_joint_space: bool = False  # a sub-chain (see `joint_space`)


@dataclass(frozen=True)
class AssemblyOrder:
    """Steps of assembly; each follows the steps whose results it needs."""

    steps: tuple[Step, ...]

    @property
    def depth(self) -> int:
        """Length of the longest chain of dependent steps: the time of assembly on unlimited processors."""
        return max((step.depth for step in self.steps), default=0)

    @property
    def handles(self) -> int:
        """Largest number of handles of an articulated body; work and memory grow with its square."""
        return max((len(step.handles) for step in self.steps), default=0)


class _Choice(NamedTuple):
    """Two articulated bodies that can be joined, sorted by the number of remaining handles."""

    handles: int  # left afterwards
    fewer_joints: int  # closed at once, with a minus
    first: int  # of these joints
    parts: tuple[int, ...]  # a negative number for the world
    joints: list[int]


class _Assembly:
    """Articulated bodies of the assembly, and open joints."""

    def __init__(self, tree: Tree) -> None:
        """Begin with the links."""
        self.tree = tree
        n = len(tree.bodies)
        pairs = [(b.index, b.parent) for b in tree.bodies] + [(loop.child, loop.parent) for loop in tree.loops]
        self.ends = [tuple(link for link in pair if link != WORLD) for pair in pairs]
        self.open = set(range(len(pairs)))
        self.owner = list(range(n))  # articulated body of each link
        self.members: dict[int, list[int]] = {i: [i] for i in range(n)}  # links of each articulated body with handles
        self.joints: list[list[int]] = [[] for _ in range(n)]  # open joints of each link
        for j, ends in enumerate(self.ends):
            for link in ends:
                self.joints[link].append(j)
        self.steps: list[Step] = []
        self.depths: dict[int, int] = dict.fromkeys(range(n), 0)

    def close(self, joints: Iterable[int], in_joint_space: bool = False) -> int:
        """Close joints at once: the articulated bodies at their ends become one, whose number is returned."""
        now = tuple(joints)
        parts = sorted({self.owner[link] for j in now for link in self.ends[j]})
        self.open -= set(now)
        for j in now:
            for link in self.ends[j]:
                self.joints[link].remove(j)
        links = sorted(link for part in parts for link in self.members.pop(part))
        new = len(self.owner) + len(self.steps)
        handles = [link for link in links if self.joints[link]]
        self.members[new] = handles
        for link in handles:
            self.owner[link] = new
        self.depths[new] = 1 + max(self.depths[part] for part in parts)
        self.steps.append(Step(tuple(parts), now, tuple(handles), self.depths[new], in_joint_space))
        return new

    def owners(self, joint: int) -> set[int]:
        """Articulated bodies at the ends of a joint."""
        return {self.owner[link] for link in self.ends[joint]}

    def loops_within(self, parts: set[int]) -> list[int]:
        """Open loop joints whose ends are in some articulated bodies, or in the world."""
        return [j for j in range(len(self.tree.bodies), len(self.ends)) if j in self.open and self.owners(j) <= parts]

    def handles_after(self, parts: Iterable[int], joints: Sequence[int]) -> int:
        """Number of handles after some parts are joined by joints."""
        closing = set(joints)
        return sum(any(j not in closing for j in self.joints[link]) for part in parts for link in self.members[part])

    def choices(self, part: int) -> list[_Choice]:
        """Choices to join an articulated body along its open joints; each joint to the world is a separate choice."""
        found: dict[tuple[int, ...], list[int]] = {}
        for j in sorted({j for link in self.members[part] for j in self.joints[link]}):
            owners = tuple(sorted({self.owner[link] for link in self.ends[j]}))
            found.setdefault((*owners, -1 - j) if len(self.ends[j]) == 1 else owners, []).append(j)
        return [
            _Choice(self.handles_after([p for p in parts if p >= 0], joints), -len(joints), joints[0], parts, joints)
            for parts, joints in found.items()
        ]

    def done(self) -> AssemblyOrder:
        """The order; all joints must be closed."""
        assert not self.open, "an order leaves joints open"
        return AssemblyOrder(tuple(self.steps))


# --- ready-made orders ----------------------------------------------------------------------------------------------
@lru_cache(maxsize=32)
def chain(tree: Tree) -> AssemblyOrder:
    """Joint by joint from the outermost bodies inward; a loop is closed with the joint that connects its links.

    One or two handles on trees, n steps deep.
    """
    assembly = _Assembly(tree)
    for body in reversed(tree.bodies):
        # the world does not connect branches, so loops between two branches are closed with the last one
        near = range(body.index, len(tree.bodies)) if body.parent == WORLD else assembly.ends[body.index]
        loops = assembly.loops_within({assembly.owner[link] for link in near})
        now = [*([body.index] if body.index in assembly.open else []), *loops]
        if now:
            assembly.close(now)
    return assembly.done()


def pieces_first(tree: Tree, pieces: Sequence[Sequence[int]], cuts: Sequence[int]) -> AssemblyOrder:
    """First the joints inside some pieces, in joint space, then cut joints inward with the loops that they complete."""
    assembly = _Assembly(tree)
    for piece in pieces:
        assembly.close(piece, in_joint_space=True)
    for part in list(assembly.members):
        loops = assembly.loops_within({part})
        if loops:
            assembly.close(loops)
    for joint in sorted(cuts, reverse=True):
        assembly.close([joint, *assembly.loops_within(assembly.owners(joint))])
    while assembly.open:  # these close loops through the world
        assembly.close(assembly.loops_within(assembly.owners(min(assembly.open))))
    return assembly.done()


@lru_cache(maxsize=32)
def balanced(tree: Tree) -> AssemblyOrder:
    """Neighbours in pairs, then pairs of pairs, ...: a serial chain of n links is log₂ n steps deep.

    In each round, pairs that add no handles are joined; if there are none, the pair that adds the fewest handles.
    """
    assembly = _Assembly(tree)
    while assembly.open:
        found = {c.first: c for part in assembly.members for c in assembly.choices(part)}
        choices = sorted(found.values())
        taken: set[int] = set()
        for choice in choices:
            if not taken.isdisjoint(choice.parts):
                continue
            if choice.handles <= max(2, *(len(assembly.members[p]) for p in choice.parts if p >= 0)):
                taken.update(choice.parts)
                assembly.close(choice.joints)
        if not taken:
            assembly.close(choices[0].joints)
    return assembly.done()


@lru_cache(maxsize=32)
def few_handles(tree: Tree) -> AssemblyOrder:
    """One pair after the other, with the fewest remaining handles first: usually the cheapest order, and a deep one.

    Ladders are processed from one end, loops to the world are closed early.
    """
    assembly = _Assembly(tree)
    queue = [choice for part in assembly.members for choice in assembly.choices(part)]
    heapify(queue)
    while assembly.open:
        choice = heappop(queue)
        # a choice is valid as long as its articulated bodies exist
        if all(p in assembly.members for p in choice.parts if p >= 0):
            for new in assembly.choices(assembly.close(choice.joints)):
                heappush(queue, new)
    return assembly.done()


ORDERS: Mapping[str, Callable[[Tree], AssemblyOrder]] = {
    "chain": chain,
    "balanced": balanced,
    "few_handles": few_handles,
}


def assembly_order(tree: Tree, order: AssemblyOrder | str | None = None) -> AssemblyOrder:
    """An order from its name, "few_handles" by default, or made already.

    Raises:
        InputError: there is no such order.
    """
    if isinstance(order, AssemblyOrder):
        return order
    name = str(order or "few_handles")
    check_name("assembly order", name, ORDERS)
    return ORDERS[name](tree)
