# SPDX-License-Identifier: Apache-2.0
"""A tree cut into pieces at some joints, and the order in which the pieces are assembled (Takahashi 2012, fig. 4.4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from ada_dynamics.algorithms.assembly_order import AssemblyOrder, in_turn, joint_name
from ada_dynamics.algorithms.regular_bodies import regular
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.model.tree import WORLD, Tree
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.vector import UNIT3, ZERO3

_REGULAR = RigidInertia(1.0, ZERO3, UNIT3)


def cut_joints(tree: Tree, names: Sequence[str]) -> tuple[int, ...]:
    """Bodies of the joints with these names, at which a tree is to be cut."""
    if isinstance(names, str):
        raise InputError(
            f"cuts is {names!r}; give 'auto', or a list of joint names such as [{names!r}].",
            field="cuts",
            value=names,
            allowed="'auto', or a list of joint names",
        )
    numbers = {body.name: body.index for body in tree.bodies}
    loops = {loop.name for loop in tree.loops}
    for name in names:
        if name in loops:
            raise InputError(
                f"joint {name!r} closes a loop, and is no part of a piece: leave it out of the cuts.",
                loop=name,
                field="cuts",
            )
        if name not in numbers:
            raise unknown_name("joint", name, numbers)
    cuts = tuple(sorted({numbers[name] for name in names}))
    for joint in bound(tree).intersection(cuts):
        raise InputError(
            f"the tree cannot be cut at joint {joint_name(tree, joint)!r}: a link there resists some motion only "
            "together with its neighbours. Leave it out of the cuts, or give the links inertia about all axes.",
            joint=joint_name(tree, joint),
            field="cuts",
        )
    return cuts


def bound(tree: Tree) -> set[int]:
    """Joints at which no cut may be: between links that are no articulated bodies by themselves."""
    return {joint for group in regular(tree).groups for joint in group}


def pieces(tree: Tree, cuts: Iterable[int]) -> list[tuple[int, ...]]:
    """Joints inside each piece, by their bodies; a piece without any is a single link, and is left out."""
    cut = set(cuts)
    piece: dict[int, int] = {}  # of each body, by its first body
    inside: dict[int, list[int]] = {}
    for body in tree.bodies:
        starts = body.index in cut or body.parent == WORLD
        piece[body.index] = body.index if starts else piece[body.parent]
        if body.index not in cut:
            inside.setdefault(piece[body.index], []).append(body.index)
    return [tuple(joints) for joints in inside.values()]


@lru_cache(maxsize=256)
def assembly_order(tree: Tree, cuts: tuple[int, ...]) -> AssemblyOrder:
    """First every piece by itself, then the cuts from the leaves inward, each with the loops that it completes."""
    inside = pieces(tree, cuts)
    groups: list[Sequence[int]] = [*inside, *_closing(tree, inside, cuts)]
    # which links need their neighbours is no question here: the pieces see to it
    regular_links = tree.with_inertias([_REGULAR] * len(tree.bodies))
    order = in_turn(regular_links, [[joint_name(tree, j) for j in group] for group in groups])
    steps = order.steps
    whole = [replace(step, in_joint_space=True) for step in steps[: len(inside)]]
    return AssemblyOrder((*whole, *steps[len(inside) :]))


class _Parts:
    """Links that are together already, and the loops that still wait."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._owner = list(range(len(tree.bodies)))
        self.waiting = set(range(len(tree.loops)))

    def of(self, link: int) -> int:
        """The part that a link belongs to."""
        while self._owner[link] != link:
            link = self._owner[link]
        return link

    def join(self, one: int, other: int) -> None:
        """Two links are together from now on; the world holds none together."""
        if WORLD not in (one, other):
            self._owner[self.of(one)] = self.of(other)

    def complete(self) -> dict[int, list[int]]:
        """Loops whose ends are together now, by part; they wait no longer."""
        found: dict[int, list[int]] = {}
        for k in sorted(self.waiting):
            loop = self.tree.loops[k]
            parts = {self.of(end) for end in (loop.parent, loop.child) if end != WORLD}
            if len(parts) == 1:
                found.setdefault(parts.pop(), []).append(k + len(self.tree.bodies))
                self.waiting.remove(k)
        return found


def _closing(tree: Tree, inside: Sequence[tuple[int, ...]], cuts: Sequence[int]) -> list[list[int]]:
    """Joints that are closed together, in turn: cuts and loops (numbered after the bodies)."""
    parts = _Parts(tree)
    for joints in inside:
        for joint in joints:
            parts.join(joint, tree.bodies[joint].parent)
    groups = list(parts.complete().values())
    for joint in sorted(cuts, reverse=True):
        parts.join(joint, tree.bodies[joint].parent)
        groups.append([joint, *(k for loops in parts.complete().values() for k in loops)])
    while parts.waiting:  # these close loops through the world
        loop = tree.loops[min(parts.waiting)]
        parts.join(loop.child, loop.parent)
        groups += parts.complete().values()
    return groups
