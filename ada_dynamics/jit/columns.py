# SPDX-License-Identifier: Apache-2.0
"""Columns of a function (see `expr.function.Columns`) as loops.

In the code for one state a loop computes several columns at once, in the code for W states one column at a time.
`i1 @columns_K(shared, rows, out, count)` computes the K-th columns and returns 1 if some number is not finite. For W
states and long matrices it has one more parameter, `ahead`: the rows that will get the results. Each column prefetches
its part of these, because a processor waits if it writes many lines that are in no cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, product
from math import prod

from ada_dynamics.expr.function import COLUMN, Columns, Function
from ada_dynamics.expr.graph import NEG, VAR, Expr, Scalar
from ada_dynamics.jit.expressions import Call, Emitter, NotFinite, either, lane_stores, last_values, store_lanes
from ada_dynamics.jit.lowering import Instructions, Lanes, double, spread
from ada_dynamics.jit.segments import end_block
from ada_dynamics.jit.target import Target

WIDEST = 8  # columns at a time
WAITING = 4  # operations per step of the longest sequence of them below which twice as many columns are faster
PIECE = 32  # nodes of a basic block
PREFETCHED = 128  # numbers of a matrix above which its rows are prefetched
_LINE = 8  # numbers of a cache line


def column_lanes(columns: Columns, target: Target) -> Lanes:
    """Columns per iteration: the vector width, limited by the number of columns.

    Operations that wait for each other have those of a second vector to fill the time.
    """
    width = min(max(target.vector_bits // 64, 2), WIDEST) * (2 if _waits(columns.each) else 1)
    return Lanes(min(width, 1 << (columns.count.bit_length() - 1)))


def _waits(function: Function) -> bool:
    depths: dict[int, int] = {}
    nodes = function.nodes()
    for node in nodes:
        depths[node.index] = max((depths[arg.index] + 1 for arg in node.args), default=0)
    return sum(1 for node in nodes if node.args) < WAITING * max(depths.values(), default=0)


def operand_values(function: Function) -> list[Scalar]:
    """Operands of the columns; all lanes of one value as that value."""
    return [run.value for part in operands(function) for run in lane_stores(part)]


def by_results(function: Function) -> dict[str, tuple[Columns, ...]]:
    """Columns in the order of computation: those that complete each result, up to its last ones."""
    last = {one.output: k + 1 for k, one in enumerate(function.columns) if one.output in function.shapes}
    ordered = sorted(last, key=last.__getitem__)
    ends = pairwise([0, *(last[name] for name in ordered)])
    return {name: function.columns[start:end] for name, (start, end) in zip(ordered, ends, strict=True)}


def loop_functions(function: Function, target: Target, lanes: Lanes) -> tuple[str, set[Call], set[int]]:
    """Text of the column functions, the elementary functions that they call, and their vector widths."""
    texts, called, widths = [], set[Call](), set[int]()
    for name, columns in {_name(function, columns): columns for columns in function.columns}.items():
        kind = lanes if lanes.width > 1 else column_lanes(columns, target)
        is_result, ahead = columns.output in function.shapes, _has_rows_ahead(function, columns, lanes)
        text, calls = _loop(name, columns, target, kind, many=lanes.width > 1, watched=is_result, ahead=ahead)
        texts.append(text)
        called |= calls
        widths.add(kind.width)
    for values, place in _constants(function).items():
        numbers = [f"double {double(float(x))}" for x in values for _ in range(lanes.width)]  # type: ignore[arg-type]
        array = f"[{len(numbers)} x double] [{', '.join(numbers)}]"
        texts.append(f"{place} = private unnamed_addr constant {array}\n")
    return "".join(texts), called, widths


def _name(function: Function, columns: Columns) -> str:
    """Name of the loop, which is shared by column groups of the same function and length."""
    alike = [one.each is columns.each and _size(one) == _size(columns) for one in function.columns]
    return f"@columns_{alike.index(True)}"


def _has_rows_ahead(function: Function, columns: Columns, lanes: Lanes) -> bool:
    return lanes.width > 1 and columns.output in function.shapes and prod(columns.shape) > PREFETCHED


def _size(columns: Columns) -> tuple[tuple[int, int], int]:
    """Shape of the matrix, and number of operands in a row."""
    return columns.shape, columns.total if columns.window else columns.count


def _parts(columns: Columns) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...]]:
    """Inputs that all columns share, and inputs of each column, row by row; the latter are empty with a source."""
    return columns.shared, tuple(x for row in columns.rows for x in row)


def operands(function: Function) -> list[tuple[Scalar, ...]]:
    """Operands of all columns, without constants; column groups may have the same ones."""
    every = dict.fromkeys(part for columns in function.columns for part in _parts(columns))
    return [values for values in every if any(isinstance(x, Expr) for x in values)]


def column_of_operand(function: Function) -> dict[Scalar, int]:
    """For each operand of one column, the place of this column in its matrix."""
    runs = ((one.first, row) for one in function.columns for row in one.rows)
    return {x: first + j for first, row in runs for j, x in enumerate(row) if isinstance(x, Expr)}


def _constants(function: Function) -> dict[tuple[Scalar, ...], str]:
    """Names of the operands that are constant."""
    every = dict.fromkeys(part for columns in function.columns for part in _parts(columns) if part)
    constant = (values for values in every if not any(isinstance(x, Expr) for x in values))
    return {values: f"@constant_columns_{number}" for number, values in enumerate(constant)}


def _loop(
    name: str, columns: Columns, target: Target, kind: Lanes, *, many: bool, watched: bool, ahead: bool
) -> tuple[str, set[Call]]:
    """Text of a loop, one column at a time if `many` states are; numbers that are not finite are `watched` for."""
    body, (shape, operands_per_row) = Instructions(), _size(columns)
    bad = body.variable("i1", "false")
    with body.repeat("%count") if many else body.in_blocks("%count", kind.width) as first:
        at = body.emit(f"mul i64 {first}, {kind.width}") if many else first
        rows, out = body.element("%rows", at), body.element("%out", at)
        stride, out_stride = (size * (kind.width if many else 1) for size in (operands_per_row, shape[1]))

        def load(name: str, position: int) -> str:
            if name == COLUMN:
                return body.load(kind.real, rows, position * stride)
            if many:
                return body.load(kind.real, "%shared", position * kind.width)
            number = body.load("double", "%shared", position)
            return number if kind.width == 1 else spread(body, kind, number)

        emitter, watch = Emitter(body, kind, target, load), NotFinite(body, target)
        (result,) = columns.each.outputs.values()
        last = set(last_values(result) if watched else ())
        places: dict[Scalar, list[int]] = {}
        for position, element in enumerate(result):
            places.setdefault(element, []).append(position)

        def finish(element: Scalar) -> None:
            if element in places:
                for position in places.pop(element):
                    body.store(kind.real, emitter.value(element), out, position * out_stride)
                if element in last:
                    watch.watch(kind, emitter.value(element))

        for piece in _pieces(columns.each.nodes()):
            end_block(body)
            emitter.forget_variables()
            for node in filter(_is_reloaded, piece):
                emitter.names.pop(node.index, None)
            emitter.emit(piece, finish)
        for element in list(places):
            if isinstance(element, Expr):
                emitter.emit([*element.args, element])
            finish(element)
        bad.update("or", either(body, watch.flags()))
        if ahead:
            line = body.element("%ahead", body.emit(f"mul i64 {first}, {shape[0]}"))
            for lane, number in product(range(kind.width), range(0, shape[0], _LINE)):
                body.prefetch(line, lane * prod(shape) + number)
    body.do(f"ret i1 {bad.get()}")
    parameters = "ptr %shared, ptr %rows, ptr %out, i64 %count" + ", ptr %ahead" * ahead
    head = f"define internal i1 {name}({parameters}) noinline #0"
    return f"{head} {{\n{body}\n}}\n", emitter.called


def _pieces(nodes: Sequence[Expr]) -> Iterator[list[Expr]]:
    """Nodes of successive basic blocks, each with the variables and negatives that it uses, which are computed again.

    The number of variables exceeds that of registers: one that is loaded at its use is a memory operand of the
    instruction, but one that remains live is spilled and reloaded as a vector.
    """
    inner = [node for node in nodes if not _is_reloaded(node)]
    for start in range(0, len(inner), PIECE):
        found: dict[Expr, None] = {}
        for node in inner[start : start + PIECE]:
            for arg in node.args:
                if _is_reloaded(arg):
                    found.update(dict.fromkeys((*arg.args, arg)))
            found[node] = None
        yield list(found)


def _is_reloaded(node: Expr) -> bool:
    """Return True for a variable, or a negative, whose sign is part of the instruction that uses it."""
    return node.op is VAR or node.op is NEG


def call_with_operands(body: Instructions, function: Function, emitter: Emitter) -> list[str]:
    """Store the operands of the columns and call their loops; return an i1 per loop, set if a number is not finite."""
    buffers = {}
    for values in operands(function):
        buffers[values] = body.stack(f"[{len(values) * emitter.lanes.width} x double]")
        store_lanes(emitter, lane_stores(values), buffers[values])
    width = emitter.lanes.width
    sources = {name: body.stack(f"[{prod(shape) * width} x double]") for name, shape in function.sources.items()}
    return call_loops(body, function, emitter.lanes, buffers, sources, function.columns)


def call_loops(
    body: Instructions,
    function: Function,
    lanes: Lanes,
    buffers: Mapping[tuple[Scalar, ...], str],
    sources: Mapping[str, str],
    some: Sequence[Columns],
    ahead: str = "",
) -> list[str]:
    """Call the loops of some columns; their operands, and the matrices that are no outputs, are in buffers."""
    buffers = {(): "null", **buffers, **_constants(function)}
    flags = []
    for columns in some:
        shared, rows = _parts(columns)
        out = sources.get(columns.output, f"%out_{columns.output}")
        before_shared, before_rows = columns.before
        starts = [
            (buffers[shared], before_shared),
            (sources[columns.source] if columns.source else buffers[rows], before_rows),
            (out, columns.row * columns.shape[1] + columns.first),
        ]
        arguments = ", ".join(f"ptr {body.element(start, k * lanes.width)}" for start, k in starts)
        arguments += f", i64 {columns.count}"
        if _has_rows_ahead(function, columns, lanes):
            arguments += f", ptr {body.element(ahead or out, columns.first * columns.shape[0])}"
        flags.append(body.emit(f"call i1 {_name(function, columns)}({arguments})"))
    return flags
