# SPDX-License-Identifier: Apache-2.0
"""Columns of a function as loops of a thread, over as many columns at once as registers hold.

What the columns are computed from waits in memory: what all share in that of the group as far as it goes, for it is
fetched in every turn; constants in a table of the code.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from ada_dynamics.expr.function import COLUMN, Columns, Function
from ada_dynamics.expr.graph import NEG, VAR, Expr, Scalar
from ada_dynamics.jit.emit import Call, Emitter, NotFinite, either
from ada_dynamics.jit.emit_kernel import status_of
from ada_dynamics.jit.keeping import Place
from ada_dynamics.jit.llvm_text import Body
from ada_dynamics.jit.thread_memory import Strided, ThreadMemory

SPARE = 20  # registers for numbers that no column keeps
PIECE = 8  # nodes between which numbers that all share are fetched again


class ColumnRooms:
    """Places of everything that a function's columns are computed from.

    Attributes:
        fast: how many places of fast memory are taken, from the first one on.
        slow: likewise of slow memory.
        places: of a node, by its index.
        constants: what must be put into places as well.
    """

    def __init__(self, function: Function, fast: int) -> None:
        """Args: the function; how many numbers fast memory can hold."""
        self.fast = self.slow = 0
        self.places: dict[int, list[Place]] = {}
        self.constants: list[tuple[Scalar, Place]] = []
        self._rooms: dict[tuple[Scalar, ...], list[Place]] = {}
        self._tables: dict[tuple[Scalar, ...], str] = {}
        for columns in function.columns:
            self._lay(columns.shared, fast)
        for columns in function.columns:
            self._lay(_elements(columns), 0)

    def _lay(self, values: tuple[Scalar, ...], fast: int) -> None:
        if values in self._rooms or values in self._tables:
            return
        if not any(isinstance(x, Expr) for x in values):
            self._tables[values] = f"@columns_table_{len(self._tables)}"
            return
        room = self._rooms[values] = []
        for x in values:
            is_fast = self.fast < fast
            place = Place(is_fast, self.fast if is_fast else self.slow)
            self.fast, self.slow = self.fast + is_fast, self.slow + (not is_fast)
            room.append(place)
            if isinstance(x, Expr):
                self.places.setdefault(x.index, []).append(place)
            else:
                self.constants.append((x, place))

    def room(self, values: tuple[Scalar, ...]) -> list[Place]:
        """Place of each value; none where they are constants of a table."""
        return self._rooms.get(values, [])

    def table(self, values: tuple[Scalar, ...]) -> str:
        """LLVM's name of a table of constants; "" where there is none."""
        return self._tables.get(values, "")

    def tables(self, memory: ThreadMemory) -> str:
        """Text of all tables."""
        number, texts = memory.number, []
        for values, name in self._tables.items():
            numbers = ", ".join(f"{number.scalar} {number.number(float(x))}" for x in values)  # type: ignore[arg-type]
            array = f"[{len(values)} x {number.scalar}] [{numbers}]"
            texts.append(f"{name} = internal {memory.constant}constant {array}, align 8\n")
        return "".join(texts)


def _elements(columns: Columns) -> tuple[Scalar, ...]:
    """Row by row."""
    return tuple(x for row in columns.rows for x in row)


class Loop(NamedTuple):
    """`i32 @name(k, fast, slow, place of the first number of the rows, out and its strides)`: its status."""

    name: str
    text: str
    called: set[Call]

    def call(self, body: Body, columns: Columns, rooms: ColumnRooms, memory: Sequence[str]) -> str:
        """Call it; `memory` are the two kinds, as arguments."""
        rows = rooms.room(_elements(columns))
        out = [f"{kind}_{columns.output}{of}" for kind, of in _OUT]
        given = ["i64 %k", *memory, f"i64 {rows[0].number if rows else 0}", *out]
        return body.emit(f"call i32 @{self.name}({', '.join(given)})")


_OUT = (("ptr %out", ""), ("i32 %out", "_of_state"), ("i32 %out", "_of_element"))


def column_loops(function: Function, rooms: ColumnRooms, memory: ThreadMemory) -> list[Loop]:
    """The loop of each of the function's columns; those alike share it."""
    found: dict[tuple[int, int, tuple[Scalar, ...], str], Loop] = {}
    loops = []
    for columns in function.columns:
        key = id(columns.each), len(columns.rows[0]), columns.shared, rooms.table(_elements(columns))
        if key not in found:
            found[key] = _loop(f"columns{len(found)}", columns, rooms, memory)
        loops.append(found[key])
    return loops


def _loop(name: str, columns: Columns, rooms: ColumnRooms, memory: ThreadMemory) -> Loop:
    body, number, count = Body(), memory.number, len(columns.rows[0])
    held = (memory.target.registers(number.bits) - SPARE) // len(columns.rows)
    width = max(1, min(memory.target.limits.columns, count, held))
    shared = rooms.room(columns.shared)
    table = rooms.table(_elements(columns))
    out = Strided(body, "out", number, memory.stored)
    bad = body.variable("i1", "false")
    with body.in_blocks(str(count), width) as first:
        fetched: dict[int, str] = {}

        def load(lane: int, variable: str, position: int) -> str:
            if variable != COLUMN:
                if position not in fetched:
                    fetched[position] = memory.fetch(body, shared[position])
                return fetched[position]
            at = body.emit(f"add i64 {first}, {position * count + lane}")
            if table:
                address = body.emit(f"getelementptr {number.scalar}, {memory.table} {table}, i64 {at}")
                return body.emit(f"load {number.real}, {memory.table} {address}, align {number.bits // 8}")
            return memory.fetch(body, Place(False, 0), body.emit(f"add i64 {at}, %rows"))

        emitters = [Emitter(body, number, memory.target, partial(load, lane)) for lane in range(width)]
        watch = NotFinite(body, memory.target)
        inner = [node for node in columns.each.nodes() if not _is_fetched(node)]
        for start in range(0, len(inner), PIECE):
            nodes = _with_fetched(inner[start : start + PIECE])
            fetched.clear()
            for emitter in emitters:
                emitter.emit(nodes)
                emitter.forget_variables()
                for node in nodes:
                    if node.op is NEG and _is_fetched(node):
                        del emitter.names[node.index]
        (result,) = columns.each.outputs.values()
        for lane, emitter in enumerate(emitters):
            values = [emitter.value(element) for element in result]
            for value in values:
                watch.watch(number, value)
            out.store_steps(body.emit(f"add i64 {first}, {lane}"), count, values)
        bad.update("or", either(body, watch.flags()))
    body.do(f"ret i32 {status_of(body, bad.get(), None)}")
    name = f"{name}_of_{-(-count // width)}"  # turns: `estimate` reads them from the name
    given = ", ".join(["i64 %k", memory.parameters, "i64 %rows", *(f"{kind}{of}" for kind, of in _OUT)])
    called = set().union(*(emitter.called for emitter in emitters))
    return Loop(name, f"define internal i32 @{name}({given}) noinline #0 {{\n{body}\n}}\n", called)


def _is_fetched(node: Expr) -> bool:
    """True for a variable and the negative of one, which is no instruction and keeps no register until its next use."""
    return node.op is VAR or (node.op is NEG and node.args[0].op is VAR)


def _with_fetched(piece: Sequence[Expr]) -> list[Expr]:
    """Nodes, each with what is fetched for it right before it."""
    found: dict[Expr, None] = {}
    for node in piece:
        for arg in node.args:
            if _is_fetched(arg):
                found.update(dict.fromkeys((*arg.args, arg)))
        found[node] = None
    return list(found)
