# SPDX-License-Identifier: Apache-2.0
"""Kernels for batches: states in blocks of W SIMD lanes, or one by one if there are many results.

Rows are transposed to a block of lanes and back: they are read in windows of W/2 columns, row i and row i + W/2 in one
vector, and butterfly stages of shuffles transpose each half; written in windows of W columns. The last window overlaps
the one before, so that no memory outside the rows is accessed. Columns are copied for several blocks at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import NamedTuple

from ada_dynamics.expr.column_groups import in_groups
from ada_dynamics.expr.evaluation import without_lanes
from ada_dynamics.expr.function import Function
from ada_dynamics.jit import scalar
from ada_dynamics.jit.expressions import NotFinite, either, preamble, unobserved_inputs, window_starts
from ada_dynamics.jit.fused import fused
from ada_dynamics.jit.lowering import Instructions, Lanes, packed
from ada_dynamics.jit.scalar import (
    SINGLE,
    WIDE_BLOCK,
    Code,
    block_code,
    parameters,
    pointers_of,
    result_count,
    row_of,
    single_kernel,
    sizes_of,
)
from ada_dynamics.jit.target import Target


# --- transposition ----------------------------------------------------------------------------------------------------
def rows_in_name(size: int) -> str:
    """Name of the function that reads W rows."""
    return f"@rows_in_{size}"


def rows_out_name(size: int, streamed: bool = False) -> str:
    """Name of the function that writes W rows."""
    return f"@rows_out_{size}" + "_streamed" * streamed


def rows_in(size: int, width: int) -> str:
    """`void @rows_in_SIZE(rows, block)`: block[c * W + lane] = rows[lane * size + c]."""
    body = Instructions()
    half = width // 2
    if size == 1 or size < half:
        _unpack(body, size, Lanes(width))
    else:
        for rows, block in _windows(body, size, half, width):
            vectors = [_read_window(body, rows, row * size, size, width) for row in range(half)]
            for column, vector in enumerate(_transpose_halves(body, vectors, width)):
                body.store(Lanes(width).real, vector, block, column * width)
    return _definition(rows_in_name(size), "ptr %rows, ptr %block", body, _inlined(size))


def rows_out(size: int, width: int, streamed: bool = False) -> str:
    """`void @rows_out_SIZE(block, rows)`: the inverse of `rows_in`; `streamed`: past the caches."""
    body = Instructions()
    half = width // 2
    if size == 1 or size < half:
        _pack(body, size, Lanes(width))
    elif size < width:
        for rows, block in _windows(body, size, half, width):
            columns = [body.load(Lanes(width).real, block, c * width) for c in range(half)]
            for row, vector in enumerate(_transpose_halves(body, columns, width)):
                _write_window(body, vector, rows, row * size, size, width)
    else:
        for rows, block in _windows(body, size, width, width):
            columns = [body.load(Lanes(width).real, block, c * width) for c in range(width)]
            for row, vector in enumerate(_transposed(body, columns, width)):
                body.store(Lanes(width).real, vector, rows, row * size, streamed)
    return _definition(rows_out_name(size, streamed), "ptr %block, ptr %rows", body, _inlined(size))


LONG = 128  # numbers of a row above which its windows are a loop
FEW = 24  # operations per result below which memory limits large batches
STREAMS = 4  # rows at a time that may be written past the caches: with more, processors write lines in pieces


def _long_rows(function: Function, target: Target) -> set[int]:
    """Lengths of rows that may be written past the caches: in windows all of which are aligned."""
    operations = len(function.nodes()) + sum(one.count * len(one.each.nodes()) for one in function.columns)
    results = sizes_of(function)[len(function.inputs) :]
    is_limited = target.lanes <= STREAMS and operations < FEW * sum(results)
    return {size for size in results if is_limited and size > LONG and size % 2 == 0}


def _inlined(size: int) -> str:
    return "noinline" if size > LONG else "alwaysinline"


def _windows(body: Instructions, size: int, columns: int, width: int) -> Iterator[tuple[str, str]]:
    """Addresses of the rows and of the block at each window of some columns."""
    if size <= LONG:
        for start in window_starts(size, columns):
            yield body.element("%rows", start), body.element("%block", start * width)
        return
    with body.in_blocks(str(size), columns) as first:
        yield body.element("%rows", first), body.element("%block", body.emit(f"mul i64 {first}, {width}"))


def columns_in_name(size: int) -> str:
    """Name of the function that reads blocks of `size` columns."""
    return f"@columns_in_{size}"


def columns_out_name(size: int) -> str:
    """Name of the function that writes blocks of `size` columns."""
    return f"@columns_out_{size}"


def columns_in(size: int, width: int, together: int) -> str:
    """`void @columns_in_SIZE(columns, buffer, n, first)`: copy blocks of columns.

    buffer[(k * size + c) * W + lane] = columns[c * n + at + lane].

    Block k starts at = min(first + k * W, n - W).

    All blocks of a column are copied in sequence: columns whose length is a power of two conflict in the first-level
    cache, so that a line shared by two blocks would be evicted in between. The next blocks are prefetched, because
    processors detect only a few streams, and each column is one.
    """
    body, real = Instructions(), Lanes(width).real
    starts = _starts(body, width, together)
    with body.repeat(str(size)) as c:
        column, blocks = _column(body, c, width)
        for k, start in enumerate(starts):
            place = body.element(column, start)
            body.store(real, body.load(real, place), blocks, k * size * width)
            body.prefetch(place, together * width)
    return _definition(columns_in_name(size), "ptr %columns, ptr %buffer, i64 %n, i64 %first", body, "noinline")


def columns_out(size: int, width: int, together: int) -> str:
    """`void @columns_out_SIZE(columns, buffer, n, first)`: the inverse of `columns_in`.

    Blocks beyond the end of a batch start at its last block, which is written after them.
    """
    body, real = Instructions(), Lanes(width).real
    starts = _starts(body, width, together)
    with body.repeat(str(size)) as c:
        column, blocks = _column(body, c, width)
        for k, start in reversed(list(enumerate(starts))):
            body.store(real, body.load(real, blocks, k * size * width), column, start)
    return _definition(columns_out_name(size), "ptr %columns, ptr %buffer, i64 %n, i64 %first", body, "noinline")


def _starts(body: Instructions, width: int, together: int) -> list[str]:
    last = body.emit(f"sub i64 %n, {width}")
    places = ["%first", *(body.emit(f"add i64 %first, {k * width}") for k in range(1, together))]
    return [body.emit(f"call i64 @llvm.smin.i64(i64 {place}, i64 {last})") for place in places]


def _column(body: Instructions, c: str, width: int) -> tuple[str, str]:
    """Addresses of a column, and of its elements in the first block."""
    column = body.element("%columns", body.emit(f"mul i64 %n, {c}"))
    return column, body.element("%buffer", body.emit(f"mul i64 {c}, {width}"))


def _definition(name: str, parameters: str, body: Instructions, inlined: str = "alwaysinline") -> str:
    return f"define internal void {name}({parameters}) {inlined} #0 {{\n{body}\n  ret void\n}}\n"


def _read_window(body: Instructions, rows: str, offset: int, size: int, width: int) -> str:
    half = width // 2
    kind = f"<{half} x double>"
    low = body.load(kind, rows, offset)
    high = body.load(kind, rows, offset + half * size)
    return _shuffle(body, kind, low, high, range(width))


def _write_window(body: Instructions, vector: str, rows: str, offset: int, size: int, width: int) -> None:
    half = width // 2
    for part in range(2):
        lanes = range(part * half, (part + 1) * half)
        value = _shuffle(body, f"<{width} x double>", vector, "undef", lanes)
        body.store(f"<{half} x double>", value, rows, offset + part * half * size)


def _transposed(body: Instructions, columns: Sequence[str], width: int) -> list[str]:
    """W rows of W columns."""
    half, kind = width // 2, Lanes(width).real
    left, right = (_transpose_halves(body, part, width) for part in (columns[:half], columns[half:]))
    lower, upper = ([*range(a, a + half), *range(width + a, width + a + half)] for a in (0, half))
    pairs = list(zip(left, right, strict=True))
    return [_shuffle(body, kind, a, b, lanes) for lanes in (lower, upper) for a, b in pairs]


def _transpose_halves(body: Instructions, vectors: Sequence[str], width: int) -> list[str]:
    """Transpose W/2 vectors by W/2 lanes, in the lower and in the upper half of the lanes."""
    result = list(vectors)
    kind = f"<{width} x double>"
    distance = 1
    while distance < len(result):
        from_first = [lane if not lane & distance else width + lane - distance for lane in range(width)]
        from_second = [lane + distance if not lane & distance else width + lane for lane in range(width)]
        for i in range(len(result)):
            if not i & distance:
                a, b = result[i], result[i + distance]
                result[i] = _shuffle(body, kind, a, b, from_first)
                result[i + distance] = _shuffle(body, kind, a, b, from_second)
        distance *= 2
    return result


def _unpack(body: Instructions, size: int, lanes: Lanes) -> None:
    """Read rows shorter than a window: W rows are `size` vectors."""
    vectors = [body.load(lanes.real, "%rows", part * lanes.width) for part in range(size)]
    for column in range(size):
        sources = [divmod(row * size + column, lanes.width) for row in range(lanes.width)]
        body.store(lanes.real, _pick(body, vectors, sources, lanes), "%block", column * lanes.width)


def _pack(body: Instructions, size: int, lanes: Lanes) -> None:
    vectors = [body.load(lanes.real, "%block", column * lanes.width) for column in range(size)]
    for part in range(size):
        sources = [divmod(part * lanes.width + lane, size)[::-1] for lane in range(lanes.width)]
        body.store(lanes.real, _pick(body, vectors, sources, lanes), "%rows", part * lanes.width)


def _pick(body: Instructions, vectors: Sequence[str], sources: Sequence[tuple[int, int]], lanes: Lanes) -> str:
    """Vector whose lane i is lane `sources[i][1]` of vector `sources[i][0]`."""
    result = vectors[0]
    order = [lane if source == 0 else 0 for source, lane in sources]
    if order != list(range(lanes.width)):
        result = _shuffle(body, lanes.real, result, "undef", order)
    for index in range(1, len(vectors)):
        mask = [lanes.width + lane if source == index else i for i, (source, lane) in enumerate(sources)]
        result = _shuffle(body, lanes.real, result, vectors[index], mask)
    return result


def _shuffle(body: Instructions, kind: str, a: str, b: str, lanes: Sequence[int]) -> str:
    mask = ", ".join(f"i32 {lane}" for lane in lanes)
    return body.emit(f"shufflevector {kind} {a}, {kind} {b}, <{len(lanes)} x i32> <{mask}>")


# --- kernels ----------------------------------------------------------------------------------------------------------
ROWS = "kernel_rows"
COLUMNS = "kernel_columns"
_CHECK = "inputs_bad"
_DECLARATIONS = """\
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
declare i64 @llvm.smin.i64(i64, i64)
"""


def module(function: Function, target: Target, checked: bool = True) -> str:
    """Module with `i32 @kernel_rows(in..., out..., i64 n)` and `@kernel_columns`, both for n >= target.lanes.

    Rows: each array has n rows, one per state. Columns: each array has one run of n numbers per element.
    """
    function = fused(function)
    if not _has_lanes(function, target):
        return _one_by_one(function, target, checked)
    function = in_groups(without_lanes(function))  # the lanes are states
    code = block_code(function, target, checked)
    lanes, together = target.lanes, _blocks_together(function, COLUMNS, code, target)
    sizes_in = sorted(set(function.inputs.values()))
    sizes_out = sorted(set(sizes_of(function)[len(function.inputs) :]))
    moves = [rows_in(size, lanes) for size in sizes_in] + [rows_out(size, lanes) for size in sizes_out]
    moves += [rows_out(size, lanes, streamed=True) for size in sorted(_long_rows(function, target))]
    moves += [columns_in(size, lanes, together) for size in sizes_in]
    moves += [columns_out(size, lanes, together) for size in sizes_out]
    check = _input_check(function, target) if checked else ""
    loops = [_blocks_loop(function, name, target, code, bool(check)) for name in (ROWS, COLUMNS)]
    return "".join(
        [
            *moves,
            code.text,
            check,
            *loops,
            _DECLARATIONS,
            preamble(code.called, target, map(Lanes, {lanes, *code.widths})),
        ]
    )


def effort(function: Function, target: Target) -> int:
    """Effort of the code generator for a batch module (see `compiler.compile_text`)."""
    is_wide = result_count(function) > WIDE_BLOCK or not _has_lanes(function, target)
    return scalar.effort(function, target) if is_wide else 2


def _has_lanes(function: Function, target: Target) -> bool:
    """Return True if blocks of states fit into memory near the processor."""
    limits = target.limits
    return result_count(function) <= limits.stack // target.lanes and len(function.nodes()) <= limits.huge


class _Array(NamedTuple):
    """An array, and its memory for blocks of states: `stride` numbers from one to the next; 0: for one block."""

    pointer: str
    size: int
    memory: str
    stride: int


def _blocks_together(function: Function, name: str, code: Code, target: Target) -> int:
    """Number of blocks that are in memory at a time and pass each part of the code before the next one."""
    arrays = zip(pointers_of(function), sizes_of(function), strict=True)
    numbers = code.kept + sum(size for pointer, size in arrays if name == COLUMNS or pointer not in code.completed)
    return min(target.limits.blocks, max(1, target.limits.near // (target.lanes * numbers)))


def _blocks_loop(function: Function, name: str, target: Target, code: Code, has_check: bool) -> str:
    """Loop over blocks of W states, which are copied to the stack element by element; results are copied back.

    Rows are transposed; those of matrices of columns as soon as these are computed, so that one block of them is in
    memory. Columns are copied, because reading them in place would cause cache conflicts for strides that are powers of
    two, and vectors that cross cache lines. The last block overlaps the one before, so that the result of a state does
    not depend on its position.
    """
    body, lanes, together = Instructions(), target.lanes, _blocks_together(function, name, code, target)
    completed, streamed = code.completed if name == ROWS else {}, _long_rows(function, target)
    arrays = list[_Array]()
    for pointer, size in [*zip(pointers_of(function), sizes_of(function), strict=True), ("", code.kept)]:
        stride = 0 if pointer in completed else size * lanes
        arrays.append(_Array(pointer, size, body.stack(f"[{together * stride or size * lanes} x double]"), stride))
    kept, split = arrays.pop(), len(function.inputs)
    given, results = arrays[:split], arrays[split:]
    arrays += [kept] if code.kept else []
    status = body.variable("i32", "0")
    last = body.emit(f"sub i64 %n, {lanes}")
    with body.repeat("%n", together * lanes) as start:
        count = _blocks_from(body, start, lanes, together)

        @contextmanager
        def each_block() -> Iterator[tuple[str, list[str]]]:
            """First state of a block, and addresses of its arrays."""
            with body.repeat(count) if together > 1 else nullcontext("0") as k:
                own = body.emit(f"add i64 {start}, {body.emit(f'mul i64 {k}, {lanes}')}")
                first = body.emit(f"call i64 @llvm.smin.i64(i64 {own}, i64 {last})")
                yield first, [row_of(body, array.memory, array.stride, k) for array in arrays]

        def compute(part: str, blocks: Sequence[str], *more: str) -> None:
            addresses = [f"ptr {block}" for block in (*blocks, *more)]
            status.update("or", body.emit(f"call i32 @{part}({', '.join(addresses)})"))
            if has_check and part == code.names[-1]:
                bad = body.emit(f"call i1 @{_CHECK}({', '.join(addresses[:split])})")
                status.update("or", body.emit(f"zext i1 {bad} to i32"))

        if name == COLUMNS:
            for pointer, size, memory, _ in given:
                body.do(f"call void {columns_in_name(size)}(ptr {pointer}, ptr {memory}, i64 %n, i64 {start})")
        else:
            with each_block() as (first, blocks):
                for (pointer, size, *_), block in zip(given, blocks, strict=False):
                    body.do(f"call void {rows_in_name(size)}(ptr {row_of(body, pointer, size, first)}, ptr {block})")
        for part in code.names:
            if part not in completed.values():
                with each_block() as (_, blocks):
                    compute(part, blocks, *(blocks[:1] if part in code.completed.values() else ()))  # no rows ahead
        if name == COLUMNS:
            for pointer, size, memory, _ in results:
                body.do(f"call void {columns_out_name(size)}(ptr {pointer}, ptr {memory}, i64 %n, i64 {start})")
        else:
            with each_block() as (first, blocks):
                places = {array.pointer: (array.size, block) for array, block in zip(arrays, blocks, strict=True)}
                for pointer in (*completed, *(one.pointer for one in results if one.pointer not in completed)):
                    size, block = places[pointer]
                    row, write = row_of(body, pointer, size, first), rows_out_name(size)
                    ahead = row
                    if size in streamed:
                        streams = _are_streamed(body, pointer, target.limits.cached // result_count(function))
                        ahead = body.emit(f"select i1 {streams}, ptr {block}, ptr {row}")  # no rows ahead
                        write = body.emit(f"select i1 {streams}, ptr {rows_out_name(size, True)}, ptr {write}")
                    if pointer in completed:
                        compute(completed[pointer], blocks, ahead)
                    body.do(f"call void {write}(ptr {block}, ptr {row})")
            if streamed:
                body.do("fence seq_cst")  # other threads see streamed results
    body.do(f"ret i32 {status.get()}")
    return f"define i32 @{name}({parameters(function, 'i64 %n')}) #0 {{\n{body}\n}}\n"


def _are_streamed(body: Instructions, pointer: str, cached: int) -> str:
    """i1: whether there are more states than the results of fit into the caches, and an array of results is aligned."""
    rest = body.emit(f"and i64 {body.emit(f'ptrtoint ptr {pointer} to i64')}, 15")
    many, is_aligned = body.emit(f"icmp sgt i64 %n, {cached}"), body.emit(f"icmp eq i64 {rest}, 0")
    return body.emit(f"and i1 {many}, {is_aligned}")


def _blocks_from(body: Instructions, start: str, lanes: int, most: int) -> str:
    """Number of blocks from a state, at most `most`."""
    rest = body.emit(f"add i64 {body.emit(f'sub i64 %n, {start}')}, {lanes - 1}")
    blocks = body.emit(f"udiv i64 {rest}, {lanes}")
    return body.emit(f"call i64 @llvm.smin.i64(i64 {blocks}, i64 {most})")


def _input_check(function: Function, target: Target) -> str:
    """`i1 @inputs_bad(in...)` for a block of W states, for inputs that results do not depend on; "" without any.

    It is a separate function, because a check in the kernel would keep inputs in registers.
    """
    body, lanes = Instructions(), Lanes(target.lanes)
    watch = NotFinite(body, target)
    for name, positions in unobserved_inputs(function).items():
        for position in positions:
            watch.watch(lanes, body.load(lanes.real, f"%in_{name}", position * lanes.width))
    if not watch.sums:
        return ""
    body.do(f"ret i1 {either(body, watch.flags())}")
    inputs = ", ".join(f"ptr %in_{name}" for name in function.inputs)
    return f"define internal i1 @{_CHECK}({inputs}) noinline #0 {{\n{body}\n}}\n"


def _one_by_one(function: Function, target: Target, checked: bool) -> str:
    """Both functions with calls of the code for one state."""
    loops = _rows_loop(function) + _columns_loop(function, target.lanes, target.limits.stack)
    return single_kernel(function, target, checked) + loops


def _rows_loop(function: Function) -> str:
    """Run the single kernel over n rows."""
    body = Instructions()
    status = body.variable("i32", "0")
    with body.repeat("%n") as k:
        rows = [row_of(body, p, size, k) for p, size in zip(pointers_of(function), sizes_of(function), strict=True)]
        status.update("or", body.emit(f"call i32 @{SINGLE}({', '.join(f'ptr {row}' for row in rows)})"))
    body.do(f"ret i32 {status.get()}")
    return f"define i32 @{ROWS}({parameters(function, 'i64 %n')}) #0 {{\n{body}\n}}\n"


def _columns_loop(function: Function, width: int, most: int) -> str:
    """Run the single kernel over n states whose elements lie n apart.

    Results of some states are written together, so that each line of the cache is written once.
    """
    body, split = Instructions(), len(function.inputs)
    pointers, sizes = pointers_of(function), sizes_of(function)
    while width > 1 and width * sum(sizes[split:]) > most:
        width //= 2
    together = Lanes(width)
    buffers = [body.stack(f"[{size} x double]") for size in sizes[:split]]
    buffers += [body.stack(f"[{size * width} x double]") for size in sizes[split:]]
    status = body.variable("i32", "0")
    places = list(zip(pointers, buffers, sizes, strict=True))
    with body.in_blocks("%n", width) as first:
        with body.repeat(str(width)) as k:
            state = body.emit(f"add i64 {first}, {k}")
            for pointer, buffer, size in places[:split]:
                with body.repeat(str(size)) as c:
                    body.store("double", body.load("double", pointer, _strided(body, c, state)), buffer, c)
            rows = buffers[:split] + [row_of(body, buffer, size, k) for _, buffer, size in places[split:]]
            status.update("or", body.emit(f"call i32 @{SINGLE}({', '.join(f'ptr {row}' for row in rows)})"))
        for pointer, buffer, size in places[split:]:
            with body.repeat(str(size)) as c:
                element = body.element(buffer, c)
                values = [body.load("double", element, lane * size) for lane in range(width)]
                whole = values[0] if width == 1 else packed(body, together, values)
                body.store(together.real, whole, pointer, _strided(body, c, first))
    body.do(f"ret i32 {status.get()}")
    return f"define i32 @{COLUMNS}({parameters(function, 'i64 %n')}) #0 {{\n{body}\n}}\n"


def _strided(body: Instructions, element: str, state: str) -> str:
    """Offset of an element of a state in an array of columns."""
    return body.emit(f"add i64 {body.emit(f'mul i64 {element}, %n')}, {state}")
