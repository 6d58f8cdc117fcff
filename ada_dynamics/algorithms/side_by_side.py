# SPDX-License-Identifier: Apache-2.0
"""Joints side by side, in lanes: which ones, and the evaluation of equations for all of them at once.

Values that are computed in the same lanes one after the other remain in these: `pack` of all lanes of a value is the
value itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from ada_dynamics.expr import extract, pack
from ada_dynamics.model.tree import WORLD, Tree
from ada_dynamics.spatial.vector import Scalar, leaves

Result = TypeVar("Result")


# --- evaluation -------------------------------------------------------------------------------------------------------
def _like(form: Any, values: Iterator[Scalar]) -> Any:
    """Nested tuples of the same form with other scalars."""
    parts = [_like(part, values) if isinstance(part, tuple) else next(values) for part in form]
    return form._make(parts) if hasattr(form, "_make") else tuple(parts)


def packed(items: Sequence[Any]) -> Any:
    """Nested tuples in lanes."""
    return _like(items[0], map(pack, zip(*map(leaves, items), strict=True)))


def side_by_side(compute: Callable[..., Result], items: Sequence[tuple[Any, ...]]) -> list[Result]:
    """`compute` of each item, all of them in the lanes of one evaluation."""
    found = compute(*packed(items))
    values = leaves(found)
    return [_like(found, iter([extract(x, lane) for x in values])) for lane in range(len(items))]


# --- which joints -----------------------------------------------------------------------------------------------------
def related_groups(tree: Tree, paths: Sequence[frozenset[int]], widest: int) -> list[list[int]]:
    """Consecutive velocities, at most `widest`, that have the same ancestors and descendants outside of their group."""
    groups: list[list[int]] = []
    moving: list[set[int]] = []  # bodies that move with the velocities of each group
    related = [path.union(k for k, other in enumerate(paths) if i in other) for i, path in enumerate(paths)]
    for j in range(tree.nv):
        own = {body.index for body in tree.bodies if body.v.start <= j < body.v.stop}
        both = own | moving[-1] if groups else own
        alike = {frozenset(related[i] - both) for i in both}
        if groups and len(groups[-1]) < widest and len(alike) == 1:
            groups[-1].append(j)
            moving[-1] = both
        else:
            groups.append([j])
            moving.append(own)
    return groups


def levels_of(tree: Tree, widest: int) -> list[list[int]]:
    """Bodies of different branches, at most `widest`, at the same distance from the ends of these; leaves first.

    First and second joints of branches have levels of their own, because axes with constant zeros save more operations
    than lanes do, and so has each joint of several velocities.
    """
    levels: dict[tuple[int, int, int], list[int]] = {}
    heights = [0] * len(tree.bodies)
    for body in reversed(tree.bodies):
        i, depth = body.index, len(tree.ancestry(body.index))
        if body.parent != WORLD:
            heights[body.parent] = max(heights[body.parent], heights[i] + 1)
        key = (heights[i], min(depth, 3), i if body.joint.nv > 1 else -1)
        levels.setdefault(key, []).insert(0, i)
    return [level[k : k + widest] for _, level in sorted(levels.items()) for k in range(0, len(level), widest)]


def chains_of(tree: Tree, levels: Sequence[list[int]], widest: int) -> list[list[int]]:
    """The levels, with those of a single body joined, as in a serial chain, if they are more than two."""
    single = sorted(i for i, *rest in levels if not rest and tree.bodies[i].joint.nv == 1)
    if len(single) <= 2:  # separate, they have more constant zeros
        return list(levels)
    wide = [level for level in levels if level[0] not in single]
    return wide + [single[k : k + widest] for k in range(0, len(single), widest)]
