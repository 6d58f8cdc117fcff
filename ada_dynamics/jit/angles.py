# SPDX-License-Identifier: Apache-2.0
"""Which sines and cosines of a kernel can be taken together, in vectors, before everything else."""

from __future__ import annotations

from collections.abc import Sequence

from ada_dynamics.expr.graph import COS, SIN, Expr
from ada_dynamics.jit.lanes import padded


def first_angles(nodes: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
    """Angles that depend on no sine or cosine, and the nodes they need, both in the order of all nodes."""
    late: set[int] = set()
    angles: dict[int, Expr] = {}
    end = 0
    for place, node in enumerate(nodes):
        if node.op is SIN or node.op is COS:
            late.add(node.index)
            if node.args[0].index not in late:
                angles[node.args[0].index], end = node.args[0], place
            continue
        for arg in node.args:
            if arg.index in late:
                late.add(node.index)
                break
    needed: set[int] = set(angles)
    before = nodes[:end]  # operands come first
    for node in reversed(before):
        if node.index in needed:
            needed.update(arg.index for arg in node.args)
    return list(angles.values()), [node for node in before if node.index in needed]


def groups(angles: Sequence[Expr], widest: int) -> list[list[Expr]]:
    """The angles, those of most lanes first, in groups that fill vectors of `widest` numbers."""
    result: list[list[Expr]] = []
    room = 0
    for angle in sorted(angles, key=lambda node: -node.lanes):
        width = padded(angle.lanes).width
        if width > room:
            result.append([])
            room = max(widest, width)
        result[-1].append(angle)
        room -= width
    return result
