# SPDX-License-Identifier: Apache-2.0
"""Columns of a function as loops: over several at once in the code for one state, one by one in that for W states.

`i1 @columns_K(shared, rows, out)` computes the output of the K-th columns of a function, and tells whether some number
of it is not finite.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ada_dynamics.expr.function import COLUMN, Columns, Function
from ada_dynamics.expr.graph import VAR, Expr, Scalar
from ada_dynamics.jit.emit import Call, Emitter, NotFinite, either
from ada_dynamics.jit.emit_runs import runs, store_runs
from ada_dynamics.jit.lanes import spread
from ada_dynamics.jit.llvm_text import Body, Lanes, double
from ada_dynamics.jit.target import Target

WIDEST = 8  # columns at a time
PIECE = 128  # nodes between which variables are kept


def column_lanes(columns: Columns, target: Target) -> Lanes:
    """As many columns at a time as the vectors have, and as there are."""
    count = len(columns.rows[0])
    return Lanes(min(max(target.vector_bits // 64, 2), WIDEST, 1 << (count.bit_length() - 1)))


def needed(function: Function) -> list[Scalar]:
    """Everything that the columns are computed from, the lanes of one value as that value."""
    return [run.value for columns in function.columns for part in _parts(columns) for run in runs(part)]


def columns_functions(function: Function, target: Target, lanes: Lanes) -> tuple[str, set[Call], set[int]]:
    """Their text, the functions that they call, and the widths of their vectors."""
    texts, called, widths = [], set[Call](), set[int]()
    for name, columns in {_name(function, columns): columns for columns in function.columns}.items():
        kind = lanes if lanes.width > 1 else column_lanes(columns, target)
        text, calls = _loop(name, columns, target, kind, many=lanes.width > 1)
        texts.append(text)
        called |= calls
        widths.add(kind.width)
    constants = {values: None for columns in function.columns for values in _parts(columns) if _is_constant(values)}
    for number, values in enumerate(constants):
        numbers = [f"double {double(float(x))}" for x in values for _ in range(lanes.width)]  # type: ignore[arg-type]
        array = f"[{len(numbers)} x double] [{', '.join(numbers)}]"
        texts.append(f"{_constant(number)} = private unnamed_addr constant {array}\n")
    return "".join(texts), called, widths


def _name(function: Function, columns: Columns) -> str:
    """Columns of the same function, as many, share their loop."""
    alike = [one.each is columns.each and one.shape == columns.shape for one in function.columns]
    return f"@columns_{alike.index(True)}"


def _parts(columns: Columns) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...]]:
    """Inputs that all share, and those of each column, row by row."""
    return columns.shared, tuple(x for row in columns.rows for x in row)


def _is_constant(values: Sequence[Scalar]) -> bool:
    return not any(isinstance(x, Expr) for x in values)


def _constant(number: int) -> str:
    return f"@constant_columns_{number}"


def _loop(name: str, columns: Columns, target: Target, kind: Lanes, *, many: bool) -> tuple[str, set[Call]]:
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
        for piece in _pieces(columns.each.nodes()):
            emitter.read_again()
            emitter.emit(piece)
        (result,) = columns.each.outputs.values()
        for position, element in enumerate(result):
            value = emitter.value(element)
            watch.watch(kind, value)
            body.store(kind.real, value, out, position * stride)
        bad.update("or", either(body, watch.flags()))
    body.do(f"ret i1 {bad.get()}")
    head = f"define internal i1 {name}(ptr %shared, ptr %rows, ptr %out) noinline #0"
    return f"{head} {{\n{body}\n}}\n", emitter.called


def _pieces(nodes: Sequence[Expr]) -> Iterator[list[Expr]]:
    """Nodes in their order, with the variables that each piece uses before it.

    There are more of them than registers. One that is kept is stored and loaded again as a whole vector; one that is
    loaded where it is used is an operand of the instruction.
    """
    inner = [node for node in nodes if node.op is not VAR]
    for start in range(0, len(inner), PIECE):
        piece = inner[start : start + PIECE]
        yield [*dict.fromkeys(x for node in piece for x in node.args if x.op is VAR), *piece]


def call_columns(body: Body, function: Function, emitter: Emitter) -> list[str]:
    """Lay out what the columns need, once all nodes are there, and call their loops: i1 of each, set where bad."""
    flags = []
    rooms: dict[tuple[Scalar, ...], str] = {}  # columns may share what they share
    constants = 0
    for columns in function.columns:
        for values in _parts(columns):
            if values in rooms:
                continue
            if _is_constant(values):
                rooms[values] = _constant(constants)
                constants += 1
                continue
            rooms[values] = body.room(f"[{len(values) * emitter.lanes.width} x double]")
            store_runs(emitter, runs(values), rooms[values])
        places = [rooms[values] for values in _parts(columns)] + [f"%out_{columns.output}"]
        arguments = ", ".join(f"ptr {place}" for place in places)
        flags.append(body.emit(f"call i1 {_name(function, columns)}({arguments})"))
    return flags
