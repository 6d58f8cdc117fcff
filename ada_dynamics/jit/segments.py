# SPDX-License-Identifier: Apache-2.0
"""Long code in segments of short basic blocks; values that later segments use are in memory.

LLVM schedules the instructions of a basic block together and allocates registers for a whole function, in a time that
grows faster than the length: 70 us per operation of a function of 13 000 operations, 30 us in segments. The code is as
fast: a value that is loaded where it is used is the operand of an instruction, but one that remains live over a long
function is spilled and reloaded.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from itertools import pairwise

from ada_dynamics.expr.graph import CONST, COS, EXTRACT, NEG, SIN, VAR, Expr
from ada_dynamics.jit.expressions import Emitter, first_angles
from ada_dynamics.jit.lowering import Instructions, padded
from ada_dynamics.jit.schedule import part_starts

BLOCK = 64  # nodes of a basic block


def end_block(body: Instructions) -> None:
    """End a basic block with an empty assembly text, which takes LLVM less time than a branch that is not taken."""
    following = body.new_label()
    body.do(f'callbr void asm "", ""() to label %{following} []')
    body.label(following)


class Segments:
    """Nodes of segments, and the slots of values that later segments use: memory for one number per state each.

    Variables, signs and single lanes are computed again where they are used: they are part of loads or instructions.
    """

    def __init__(self, order: Sequence[Expr], wanted: Container[int], size: int) -> None:
        """Args: nodes, operands first; indices of those that are results; approximate number of nodes of a segment."""
        nodes = [node for node in order if node.op not in _RECOMPUTED or node.index in wanted]
        positions = {node.index: i for i, node in enumerate(nodes)}
        last_uses = list(range(len(nodes)))
        for i, node in enumerate(nodes):
            for arg in node.args:
                source = positions.get(_computed_source(arg).index)
                if source is not None:
                    last_uses[source] = i
        starts = [0, *part_starts(last_uses, size), len(nodes)]
        self.nodes = [nodes[first:after] for first, after in pairwise(starts)]
        self.slots: dict[int, int] = {}  # first slot of each value; values have a slot for each of their lanes
        self.slot_count = 0
        self._assign_slots([nodes[last].index for last in last_uses])

    def _assign_slots(self, last_uses: Sequence[int]) -> None:
        segment_of = {node.index: k for k, nodes in enumerate(self.nodes) for node in nodes}
        last_segments = (segment_of[index] for index in last_uses)
        free: dict[int, list[int]] = {}  # slots of values that are not needed any more, by their number of lanes
        released: list[list[tuple[int, int]]] = [[] for _ in self.nodes]
        for k, nodes in enumerate(self.nodes):
            for node in nodes:
                last = next(last_segments)
                if last > k:
                    width = padded(node.lanes).width
                    slot = self.slots[node.index] = self._slot(width, free)
                    released[last].append((width, slot))
            for width, slot in released[k]:
                free.setdefault(width, []).append(slot)

    def _slot(self, width: int, free: dict[int, list[int]]) -> int:
        if free.get(width):
            return free[width].pop()
        start = -(-self.slot_count // width) * width
        self.slot_count = start + width
        return start

    def emit(self, segments: Iterable[int], emitter: Emitter, memory: str, then: Callable[[Expr], None]) -> None:
        """Emit some segments; `then` is called after each node. Memory is that of the slots."""
        for k in segments:
            emitter.forget()
            for start in range(0, len(self.nodes[k]), BLOCK):
                end_block(emitter.body)
                self._emit_block(self.nodes[k][start : start + BLOCK], emitter, memory, then)

    def _emit_block(self, nodes: Sequence[Expr], emitter: Emitter, memory: str, then: Callable[[Expr], None]) -> None:
        if emitter.lanes.width == 1:
            angles, needed = first_angles(nodes)
            for node in needed:
                self._add(node, emitter, memory)
            for angle in angles:
                self._load(angle, emitter, memory)
            emitter.sincos_of(angles)
        for node in nodes:
            self._add(node, emitter, memory)
            if node.index in self.slots:
                kind = emitter.kind(node)
                emitter.body.store(kind.real, emitter.value(node, kind), memory, self._place(node, emitter))
            then(node)

    def _add(self, node: Expr, emitter: Emitter, memory: str) -> None:
        """Emit a node after the operands that it needs."""
        if node.index not in emitter.names:
            for arg in node.args:
                self._load(arg, emitter, memory)
            emitter.add(node)

    def _load(self, node: Expr, emitter: Emitter, memory: str) -> None:
        if node.index in emitter.names or node.op is CONST:
            return
        if node.index in self.slots:
            value = emitter.body.load(emitter.kind(node).real, memory, self._place(node, emitter))
        elif node.op is EXTRACT and node.args[0].index in self.slots and node.args[0].index not in emitter.names:
            value = emitter.body.load("double", memory, self._place(node.args[0], emitter) + node.value)
        else:
            self._add(node, emitter, memory)
            return
        emitter.names[node.index] = value

    def _place(self, node: Expr, emitter: Emitter) -> int:
        return self.slots[node.index] * emitter.lanes.width


def angles_first(order: Sequence[Expr]) -> list[Expr]:
    """Nodes in the same order after sines and cosines of the angles that depend on no other sine."""
    angles, needed = first_angles(order)
    indices = {angle.index for angle in angles}
    sines = [node for node in order if node.op in (SIN, COS) and node.args[0].index in indices]
    first = {node.index: node for node in (*needed, *sines)}
    return [*first.values(), *(node for node in order if node.index not in first)]


_RECOMPUTED = frozenset((CONST, VAR, NEG, EXTRACT))


def _computed_source(node: Expr) -> Expr:
    while node.op in (NEG, EXTRACT):
        node = node.args[0]
    return node
