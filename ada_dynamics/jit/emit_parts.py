# SPDX-License-Identifier: Apache-2.0
"""The code for a block of W states, in parts where it is long.

Code that does not fit into the nearest cache for instructions comes from the next one at two instructions a cycle, a
third of what the processor can begin (measured on an Intel of the Emerald Rapids generation). A part fits; several
blocks of states go through it before the next part, and the numbers of each block wait in memory between parts.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from ada_dynamics.expr.function import Function
from ada_dynamics.expr.graph import CONST, VAR, Expr
from ada_dynamics.jit.emit import Call, Emitter, NotFinite, either
from ada_dynamics.jit.emit_kernel import LANES, guard_flag, kernel, parameters, status_of
from ada_dynamics.jit.llvm_text import Body, Lanes
from ada_dynamics.jit.register_allocation import part_starts
from ada_dynamics.jit.target import Target


class Code(NamedTuple):
    """Functions that a block goes through, one after the other: `i32 @name(in..., out..., ptr kept)`."""

    text: str
    names: list[str]
    kept: int  # numbers of a state that wait between them; if there are none, they have no such argument
    called: set[Call]


def block_code(function: Function, target: Target, checked: bool) -> Code:
    """Code for a block; `function` has no lanes of its own."""
    parts = _Parts(function, target, checked)
    if function.columns or len(parts.nodes) == 1:
        text, called, _ = kernel(function, target, Lanes(target.lanes), checked)
        return Code(text, [LANES], 0, called)
    names = [f"{LANES}_{k}" for k in range(len(parts.nodes))]
    texts, calls = zip(*(parts.part(k, name) for k, name in enumerate(names)), strict=True)
    return Code("".join(texts), names, len(parts.kept), set().union(*calls))


class _Parts:
    def __init__(self, function: Function, target: Target, checked: bool) -> None:
        self.function, self.target, self.checked = function, target, checked
        self.lanes = Lanes(target.lanes)

    @cached_property
    def nodes(self) -> list[list[Expr]]:
        """Of each part, in the order of the algorithm: fewer numbers wait there than where registers are saved."""
        leaving = {x.index for x in self.function.values if isinstance(x, Expr)}
        nodes = [x for x in self.function.nodes() if x.op is not CONST and (x.op is not VAR or x.index in leaving)]
        turns = {node.index: turn for turn, node in enumerate(nodes)}
        last_uses = list(range(len(nodes)))
        for turn, node in enumerate(nodes):
            for arg in node.args:
                if arg.index in turns:
                    last_uses[turns[arg.index]] = turn
        starts = [0, *part_starts(last_uses, self.target.limits.part), len(nodes)]
        return [nodes[first:after] for first, after in pairwise(starts)]

    @cached_property
    def kept(self) -> dict[int, int]:
        """Places of numbers that a later part needs. Inputs lie in memory all the time."""
        part = {node.index: k for k, nodes in enumerate(self.nodes) for node in nodes if node.op is not VAR}
        args = ((k, arg.index) for k, nodes in enumerate(self.nodes) for node in nodes for arg in node.args)
        needed = dict.fromkeys(index for k, index in args if part.get(index, k) < k)
        return {index: place for place, index in enumerate(needed)}

    @cached_property
    def results(self) -> dict[int, list[tuple[str, int]]]:
        """Where the number of a node goes."""
        places: dict[int, list[tuple[str, int]]] = {}
        for name, elements in self.function.outputs.items():
            for i, x in enumerate(elements):
                if isinstance(x, Expr):
                    places.setdefault(x.index, []).append((name, i))
        return places

    def part(self, k: int, name: str) -> tuple[str, set[Call]]:
        """Its text, and the functions that it calls. Numbers go where they are wanted as soon as they are known."""
        body, lanes = Body(), self.lanes
        emitter = Emitter(body, lanes, self.target, lambda x, i: body.load(lanes.real, f"%in_{x}", i * lanes.width))
        watch, failed = NotFinite(body, self.target), list[str]()
        guards = {guard.index for guard in self.function.guards}
        if k == 0:
            self._store_constants(emitter)
        for node in self.nodes[k]:
            self._fetch(node, emitter)
            emitter.emit([node])
            value = emitter.value(node)
            if node.index in self.kept:
                body.store(lanes.real, value, "%kept", self.kept[node.index] * lanes.width)
            if node.index in guards:
                failed.append(guard_flag(emitter, node))
            for result, i in self.results.get(node.index, ()):
                body.store(lanes.real, value, f"%out_{result}", i * lanes.width)
                watch.watch(lanes, value)
        for kind, sine in emitter.sines:
            watch.watch(kind, sine)
        status = status_of(body, either(body, watch.flags()), either(body, failed) if failed else None)
        body.do(f"ret i32 {status if self.checked else 0}")
        head = f"define internal i32 @{name}({parameters(self.function, 'ptr %kept')})"
        return f"{head} noinline alignstack({8 * lanes.width}) #0 {{\n{body}\n}}\n", emitter.called

    def _fetch(self, node: Expr, emitter: Emitter) -> None:
        """Operands that come from inputs and from earlier parts."""
        for arg in node.args:
            if arg.op is VAR:
                emitter.emit([arg])
            elif arg.index in self.kept and arg.index not in emitter.names:
                place = self.kept[arg.index] * self.lanes.width
                emitter.names[arg.index] = emitter.body.load(self.lanes.real, "%kept", place)

    def _store_constants(self, emitter: Emitter) -> None:
        for name, elements in self.function.outputs.items():
            for i, x in enumerate(elements):
                if not isinstance(x, Expr) or x.op is CONST:
                    emitter.body.store(self.lanes.real, emitter.value(x), f"%out_{name}", i * self.lanes.width)
