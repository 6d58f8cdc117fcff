# SPDX-License-Identifier: Apache-2.0
"""Partition of a tree into sub-chains at cut joints, and their order of assembly (Takahashi 2012, fig. 4.4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from ada_dynamics.algorithms.assembly_order import AssemblyOrder, pieces_first
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.model.tree import WORLD, Tree


def cut_joints(tree: Tree, names: Sequence[str]) -> tuple[int, ...]:
    """Bodies of the joints at which a tree is to be cut.

    Args:
        tree: the mechanism.
        names: names of the joints.

    Raises:
        InputError: a name is unknown or that of a loop joint.
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
    return tuple(sorted({numbers[name] for name in names}))


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
    return pieces_first(tree, pieces(tree, cuts), cuts)
