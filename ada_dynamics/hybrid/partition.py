# SPDX-License-Identifier: Apache-2.0
"""Partition of a tree into sub-chains at cut joints, and their order of assembly (Takahashi 2012, fig. 4.4)."""

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
    """Bodies of the joints at which a tree is to be cut.

    Args:
        tree: the mechanism.
        names: names of the joints.

    Raises:
        InputError: a name is unknown or that of a loop joint, or the tree cannot be cut at this joint.
    """
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
                f"joint {name!r} closes a loop and is not part of a sub-chain: remove it from the cuts.",
                loop=name,
                field="cuts",
            )
        if name not in numbers:
            raise unknown_name("joint", name, numbers)
    cuts = tuple(sorted({numbers[name] for name in names}))
    for joint in bound(tree).intersection(cuts):
        raise InputError(
            f"the tree cannot be cut at joint {joint_name(tree, joint)!r}: an adjacent link has a singular inertia. "
            "Remove the joint from the cuts, or give the links inertia about all axes.",
            joint=joint_name(tree, joint),
            field="cuts",
        )
    return cuts


def bound(tree: Tree) -> set[int]:
    """Joints that must not be cut, because an adjacent link has a singular inertia."""
    return {joint for group in regular(tree).groups for joint in group}


def pieces(tree: Tree, cuts: Iterable[int]) -> list[tuple[int, ...]]:
    """Joints inside each sub-chain, by their bodies; sub-chains that are a single link are omitted."""
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
    """Assembly order: first the sub-chains, then the cut joints inward with the loops that they complete."""
    inside = pieces(tree, cuts)
    groups: list[Sequence[int]] = [*inside, *_closing(tree, inside, cuts)]
    # all links count as regular: sub-chains do not invert the inertia of single links
    regular_links = tree.with_inertias([_REGULAR] * len(tree.bodies))
    order = in_turn(regular_links, [[joint_name(tree, j) for j in group] for group in groups])
    steps = order.steps
    whole = [replace(step, in_joint_space=True) for step in steps[: len(inside)]]
    return AssemblyOrder((*whole, *steps[len(inside) :]))


class _Parts:
    """Connected links, and the loops that are not complete yet."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._owner = list(range(len(tree.bodies)))
        self.waiting = set(range(len(tree.loops)))

    def of(self, link: int) -> int:
        """Representative link of the part to which a link belongs."""
        while self._owner[link] != link:
            link = self._owner[link]
        return link

    def join(self, one: int, other: int) -> None:
        """Connect two links; the world does not connect links."""
        if WORLD not in (one, other):
            self._owner[self.of(one)] = self.of(other)

    def complete(self) -> dict[int, list[int]]:
        """Loops whose two links have become connected, by part; each loop is returned once."""
        found: dict[int, list[int]] = {}
        for k in sorted(self.waiting):
            loop = self.tree.loops[k]
            parts = {self.of(end) for end in (loop.parent, loop.child) if end != WORLD}
            if len(parts) == 1:
                found.setdefault(parts.pop(), []).append(k + len(self.tree.bodies))
                self.waiting.remove(k)
        return found


def _closing(tree: Tree, inside: Sequence[tuple[int, ...]], cuts: Sequence[int]) -> list[list[int]]:
    """Joints that are closed together, in order: cut joints and loop joints (numbered after the bodies)."""
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
