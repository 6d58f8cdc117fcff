# SPDX-License-Identifier: Apache-2.0
"""A Function as LLVM functions for whole batches: states in blocks of W lanes, or one by one where results are many."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace

from ada_dynamics.expr.evaluation import without_lanes
from ada_dynamics.expr.function import Function
from ada_dynamics.jit.emit import NotFinite, either, preamble
from ada_dynamics.jit.emit_kernel import (
    SINGLE,
    kernel,
    parameters,
    pointers_of,
    row_of,
    single_vector_bits,
    sizes_of,
)
from ada_dynamics.jit.emit_parts import Code, block_code
from ada_dynamics.jit.fused import fused
from ada_dynamics.jit.lanes import packed
from ada_dynamics.jit.llvm_text import Body, Lanes
from ada_dynamics.jit.target import Target
from ada_dynamics.jit.telling import untold
from ada_dynamics.jit.transpose import (
    columns_in,
    columns_in_name,
    columns_out,
    columns_out_name,
    rows_in,
    rows_in_name,
    rows_out,
    rows_out_name,
)

# Results of a state beyond which a block of W states does not stay in the nearest cache: then states go one by one.
WIDE = 512

ROWS = "kernel_rows"
COLUMNS = "kernel_columns"
_CHECK = "inputs_bad"
_DECLARATIONS = """\
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
declare i64 @llvm.smin.i64(i64, i64)
"""


def batch_module(function: Function, target: Target, checked: bool = True) -> str:
    """Text with `i32 @kernel_rows(in..., out..., i64 n)` and `@kernel_columns`, both for n >= target.lanes.

    Rows: each array holds n rows, one for each state. Columns: each array holds one run of n for each element.
    """
    function = fused(function)
    if sum(sizes_of(function)[len(function.inputs) :]) > WIDE:
        return _one_by_one(function, target, checked)
    function = without_lanes(function)  # here the lanes are states
    code = block_code(function, target, checked)
    lanes, together = target.lanes, _blocks_together(function, code, target)
    sizes_in = sorted(set(function.inputs.values()))
    sizes_out = sorted(set(sizes_of(function)[len(function.inputs) :]))
    moves = [rows_in(size, lanes) for size in sizes_in] + [rows_out(size, lanes) for size in sizes_out]
    moves += [columns_in(size, lanes, together) for size in sizes_in]
    moves += [columns_out(size, lanes, together) for size in sizes_out]
    check = _input_check(function, target) if checked else ""
    loops = [_blocks_loop(function, name, lanes, together, code, bool(check)) for name in (ROWS, COLUMNS)]
    return "".join([*moves, code.text, check, *loops, _DECLARATIONS, preamble(code.called, target, [Lanes(lanes)])])


# --- states in blocks -------------------------------------------------------------------------------------------------
def _blocks_together(function: Function, code: Code, target: Target) -> int:
    """How many blocks are laid out at a time, and go through each part of the code before the next part."""
    numbers = target.lanes * (sum(sizes_of(function)) + code.kept)
    return min(target.limits.blocks, max(1, target.limits.near // numbers))


def _blocks_loop(function: Function, name: str, lanes: int, together: int, code: Code, has_check: bool) -> str:
    """Blocks of W states are laid out on the stack, element by element, and their results are taken from there.

    Rows are transposed on the way. Columns are copied: a kernel that read them in place would meet strides that are
    powers of two, which fill a few sets of the cache, and vectors that straddle two of its lines. The last block moves
    back to fit, so that a state is never computed differently at the end of a batch, only twice.
    """
    body = Body()
    pointers, sizes, split = pointers_of(function), sizes_of(function), len(function.inputs)
    laid_out = [*sizes, code.kept] if code.kept else sizes
    rooms = [body.room(f"[{together * size * lanes} x double]") for size in laid_out]
    moved = list(zip(pointers, rooms, sizes, strict=False))
    status = body.variable("i32", "0")
    last = body.emit(f"sub i64 %n, {lanes}")
    with body.repeat("%n", together * lanes) as start:
        count = _blocks_from(body, start, lanes, together)

        @contextmanager
        def each_block() -> Iterator[tuple[str, list[str]]]:
            """Its first state, and where it is laid out."""
            with body.repeat(count) if together > 1 else nullcontext("0") as k:
                own = body.emit(f"add i64 {start}, {body.emit(f'mul i64 {k}, {lanes}')}")
                first = body.emit(f"call i64 @llvm.smin.i64(i64 {own}, i64 {last})")
                where = zip(rooms, laid_out, strict=True)
                yield first, [row_of(body, room, size * lanes, k) for room, size in where]

        if name == COLUMNS:
            for array, room, size in moved[:split]:
                body.do(f"call void {columns_in_name(size)}(ptr {array}, ptr {room}, i64 %n, i64 {start})")
        else:
            with each_block() as (first, blocks):
                for (array, _, size), block in zip(moved[:split], blocks, strict=False):
                    body.do(f"call void {rows_in_name(size)}(ptr {row_of(body, array, size, first)}, ptr {block})")
        for part in code.names:
            with each_block() as (_, blocks):
                given = [f"ptr {block}" for block in blocks]
                status.update("or", body.emit(f"call i32 @{part}({', '.join(given)})"))
                if has_check and part == code.names[-1]:
                    bad = body.emit(f"call i1 @{_CHECK}({', '.join(given[:split])})")
                    status.update("or", body.emit(f"zext i1 {bad} to i32"))
        if name == COLUMNS:
            for array, room, size in moved[split:]:
                body.do(f"call void {columns_out_name(size)}(ptr {array}, ptr {room}, i64 %n, i64 {start})")
        else:
            with each_block() as (first, blocks):
                for (array, _, size), block in zip(moved[split:], blocks[split:], strict=False):
                    body.do(f"call void {rows_out_name(size)}(ptr {block}, ptr {row_of(body, array, size, first)})")
    body.do(f"ret i32 {status.get()}")
    return f"define i32 @{name}({parameters(function, 'i64 %n')}) #0 {{\n{body}\n}}\n"


def _blocks_from(body: Body, start: str, lanes: int, most: int) -> str:
    """How many blocks there are from a state on, up to a number."""
    rest = body.emit(f"add i64 {body.emit(f'sub i64 %n, {start}')}, {lanes - 1}")
    blocks = body.emit(f"udiv i64 {rest}, {lanes}")
    return body.emit(f"call i64 @llvm.smin.i64(i64 {blocks}, i64 {most})")


def _input_check(function: Function, target: Target) -> str:
    """`i1 @inputs_bad(in...)` for a block of W states, of inputs that results do not tell of; "" where there are none.

    A function of its own: inside the kernel the check would keep inputs in registers that are short there.
    """
    body, lanes = Body(), Lanes(target.lanes)
    watch = NotFinite(body, target)
    for name, positions in untold(function).items():
        for position in positions:
            watch.watch(lanes, body.load(lanes.real, f"%in_{name}", position * lanes.width))
    if not watch.sums:
        return ""
    body.do(f"ret i1 {either(body, watch.flags())}")
    inputs = ", ".join(f"ptr %in_{name}" for name in function.inputs)
    return f"define internal i1 @{_CHECK}({inputs}) noinline #0 {{\n{body}\n}}\n"


# --- states one by one ------------------------------------------------------------------------------------------------
def _one_by_one(function: Function, target: Target, checked: bool) -> str:
    """Text of both, from the code for one state."""
    lanes = target.lanes
    target = replace(target, vector_bits=single_vector_bits(function, target.vector_bits))
    text, called, widths = kernel(function, target, Lanes(1), checked)
    return (
        text
        + _rows_loop(function)
        + _columns_loop(function, lanes, target.limits.stack)
        + preamble(called, target, map(Lanes, {1, *widths}))
    )


def _rows_loop(function: Function) -> str:
    """Run the single kernel over n rows."""
    body = Body()
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
    body, split = Body(), len(function.inputs)
    pointers, sizes = pointers_of(function), sizes_of(function)
    while width > 1 and width * sum(sizes[split:]) > most:
        width //= 2
    together = Lanes(width)
    rooms = [body.room(f"[{size} x double]") for size in sizes[:split]]
    rooms += [body.room(f"[{size * width} x double]") for size in sizes[split:]]
    status = body.variable("i32", "0")
    places = list(zip(pointers, rooms, sizes, strict=True))
    with body.in_blocks("%n", width) as first:
        with body.repeat(str(width)) as k:
            state = body.emit(f"add i64 {first}, {k}")
            for pointer, room, size in places[:split]:
                with body.repeat(str(size)) as c:
                    body.store("double", body.load("double", pointer, _strided(body, c, state)), room, c)
            rows = rooms[:split] + [row_of(body, room, size, k) for _, room, size in places[split:]]
            status.update("or", body.emit(f"call i32 @{SINGLE}({', '.join(f'ptr {row}' for row in rows)})"))
        for pointer, room, size in places[split:]:
            with body.repeat(str(size)) as c:
                element = body.element(room, c)
                values = [body.load("double", element, lane * size) for lane in range(width)]
                whole = values[0] if width == 1 else packed(body, together, values)
                body.store(together.real, whole, pointer, _strided(body, c, first))
    body.do(f"ret i32 {status.get()}")
    return f"define i32 @{COLUMNS}({parameters(function, 'i64 %n')}) #0 {{\n{body}\n}}\n"


def _strided(body: Body, element: str, state: str) -> str:
    """Where an element of a state lies among columns."""
    return body.emit(f"add i64 {body.emit(f'mul i64 {element}, %n')}, {state}")
