# SPDX-License-Identifier: Apache-2.0
"""Columns of a function as loops: over several at once in the code for one state, one by one in that for W states.

`i1 @columns_K(shared, rows, out)` computes the output of the K-th columns of a function, and tells whether some number
of it is not finite.
"""

from __future__ import annotations

from ada_dynamics.expr.function import COLUMN, Columns, Function
from ada_dynamics.jit.emit import Call, Emitter, NotFinite, either
from ada_dynamics.jit.lanes import spread
from ada_dynamics.jit.llvm_text import Body, Lanes
from ada_dynamics.jit.target import Target

WIDEST = 8  # columns at a time


def column_lanes(columns: Columns, target: Target) -> Lanes:
    """As many columns at a time as the vectors have, and as there are."""
    count = len(columns.rows[0])
    return Lanes(min(max(target.vector_bits // 64, 2), WIDEST, 1 << (count.bit_length() - 1)))


def columns_functions(function: Function, target: Target, lanes: Lanes) -> tuple[str, set[Call], set[int]]:
    """Their text, the functions that they call, and the widths of their vectors."""
    texts, called, widths = [], set[Call](), set[int]()
    for number, columns in enumerate(function.columns):
        kind = lanes if lanes.width > 1 else column_lanes(columns, target)
        text, calls = _loop(number, columns, target, kind, many=lanes.width > 1)
        texts.append(text)
        called |= calls
        widths.add(kind.width)
    return "".join(texts), called, widths


def _loop(number: int, columns: Columns, target: Target, kind: Lanes, *, many: bool) -> tuple[str, set[Call]]:
    body, count = Body(), len(columns.rows[0])
    bad = body.variable("i1", "false")
    with body.repeat(str(count)) if many else body.in_blocks(str(count), kind.width) as first:
        at = body.emit(f"mul i64 {first}, {kind.width}") if many else first
        rows, out = body.element("%rows", at), body.element("%out", at)
        stride = count * (kind.width if many else 1)

        def load(name: str, position: int) -> str:
            if name == COLUMN:
                return body.load(kind.real, rows, position * stride)
            if many:
                return body.load(kind.real, "%shared", position * kind.width)
            number = body.load("double", "%shared", position)
            return number if kind.width == 1 else spread(body, kind, number)

        emitter, watch = Emitter(body, kind, target, load), NotFinite(body, target)
        emitter.emit(columns.each.nodes())
        (result,) = columns.each.outputs.values()
        for position, element in enumerate(result):
            value = emitter.value(element)
            watch.watch(kind, value)
            body.store(kind.real, value, out, position * stride)
        bad.update("or", either(body, watch.flags()))
    body.do(f"ret i1 {bad.get()}")
    head = f"define internal i1 @columns_{number}(ptr %shared, ptr %rows, ptr %out) noinline #0"
    return f"{head} {{\n{body}\n}}\n", emitter.called


def call_columns(body: Body, function: Function, emitter: Emitter) -> list[str]:
    """Lay out what the columns need, once all nodes are there, and call their loops: i1 of each, set where bad."""
    kind, flags = emitter.lanes, []
    rooms: dict[tuple[object, ...], str] = {}  # columns may share what they share
    for number, columns in enumerate(function.columns):
        places = []
        for values in (columns.shared, tuple(x for row in columns.rows for x in row)):
            if values not in rooms:
                rooms[values] = body.room(f"[{max(len(values), 1) * kind.width} x double]")
                for position, value in enumerate(values):
                    body.store(kind.real, emitter.value(value), rooms[values], position * kind.width)
            places.append(rooms[values])
        arguments = ", ".join(f"ptr {place}" for place in (*places, f"%out_{columns.output}"))
        flags.append(body.emit(f"call i1 @columns_{number}({arguments})"))
    return flags
