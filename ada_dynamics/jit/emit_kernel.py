# SPDX-License-Identifier: Apache-2.0
"""A Function as LLVM functions: for one state, for W states in lanes, and for whole batches.

Status word that every kernel returns: bit 0 an input or a result is not finite (or an angle is beyond the range of
sincos), bit 1 a guard fails. Arguments are pointers to doubles: the inputs, then the outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from ada_dynamics.expr.expand import without_lanes
from ada_dynamics.expr.function import Function
from ada_dynamics.expr.graph import Expr, Scalar, live_nodes
from ada_dynamics.jit.emit import Call, Emitter, NotFinite, either, preamble
from ada_dynamics.jit.emit_columns import call_columns, columns_functions, needed
from ada_dynamics.jit.emit_runs import Run, runs, store_runs
from ada_dynamics.jit.fused import fused
from ada_dynamics.jit.lanes import packed, padded
from ada_dynamics.jit.llvm_text import Body, Lanes
from ada_dynamics.jit.schedule import critical_first, hungriest_first
from ada_dynamics.jit.target import Target
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

SINGLE_VECTOR_BITS = 256
# Results of a state beyond which a block of W states does not stay in the nearest cache: then states go one by one.
WIDE = 512
STACK = 1 << 15  # numbers of results that are laid out there at a time
NOT_FINITE = 1
GUARD_FAILED = 2

SINGLE = "kernel"
REPEAT = "kernel_repeat"
ROWS = "kernel_rows"
COLUMNS = "kernel_columns"
_LANES = "kernel_lanes"
_CHECK = "inputs_bad"


def single_vector_bits(function: Function, vector_bits: int) -> int:
    """Width of vectors in the code for one state, where they are for sines, input checks and lanes of the state.

    The widest registers would slow the processor's clock, or wait for a unit that scalars do not use, for more than
    they save, unless there are as many lanes.
    """
    most = max((padded(node.lanes).width for node in function.nodes()), default=1)
    return min(vector_bits, max(SINGLE_VECTOR_BITS, 64 * most))


def single_module(function: Function, target: Target, checked: bool = True) -> str:
    """Text with `i32 @kernel(in..., out...)` and `i32 @kernel_repeat(in..., out..., i64 n, i64 repeats)`."""
    function = fused(function)
    target = replace(target, vector_bits=single_vector_bits(function, target.vector_bits))
    text, called, widths = _kernel(function, target, Lanes(1), checked)
    return text + _repeat_loop(function) + preamble(called, target, map(Lanes, {1, *widths}))


def batch_module(function: Function, target: Target, checked: bool = True) -> str:
    """Text with `i32 @kernel_rows(in..., out..., i64 n)` and `@kernel_columns`, both for n >= target.lanes.

    Rows: each array holds n rows, one for each state. Columns: each array holds one run of n for each element.
    """
    function = fused(function)
    if sum(_sizes(function)[len(function.inputs) :]) > WIDE:
        return _one_by_one(function, target, checked)
    function = without_lanes(function)  # here the lanes are states
    text, called, _ = _kernel(function, target, Lanes(target.lanes), checked)
    if checked:
        text += _input_check(function, target)
    sizes_in = sorted(set(function.inputs.values()))
    sizes_out = sorted(set(_sizes(function)[len(function.inputs) :]))
    moves = [rows_in(size, target.lanes) for size in sizes_in] + [rows_out(size, target.lanes) for size in sizes_out]
    moves += [columns_in(size, target.lanes) for size in sizes_in]
    moves += [columns_out(size, target.lanes) for size in sizes_out]
    loops = _blocks_loop(function, ROWS, target.lanes, checked) + _blocks_loop(function, COLUMNS, target.lanes, checked)
    return "".join(moves) + text + loops + preamble(called, target, [Lanes(target.lanes)])


def _one_by_one(function: Function, target: Target, checked: bool) -> str:
    """Likewise, of the code for one state."""
    lanes = target.lanes
    target = replace(target, vector_bits=single_vector_bits(function, target.vector_bits))
    text, called, widths = _kernel(function, target, Lanes(1), checked)
    return (
        text
        + _rows_loop(function)
        + _columns_loop(function, lanes)
        + preamble(called, target, map(Lanes, {1, *widths}))
    )


def _pointers(function: Function) -> list[str]:
    return [f"%in_{name}" for name in function.inputs] + [f"%out_{name}" for name in function.shapes]


def _parameters(function: Function, *more: str) -> str:
    return ", ".join([*(f"ptr {pointer}" for pointer in _pointers(function)), *more])


def _kernel(function: Function, target: Target, lanes: Lanes, checked: bool) -> tuple[str, set[Call], set[int]]:
    """The kernel for one state, or for a block of W states whose element i lies at i W; and the functions it calls."""
    body = Body()
    many = lanes.width > 1

    def address(pointer: str, position: int) -> str:
        return body.element(pointer, position * lanes.width)

    emitter = Emitter(
        body, lanes, target, lambda name, position: body.load(lanes.real, address(f"%in_{name}", position))
    )
    watch = NotFinite(body, target)
    if checked and not many:
        for name, size in function.inputs.items():
            watch.watch_vector(f"%in_{name}", size)
    results = {name: runs(elements) for name, elements in function.outputs.items()}
    of_columns, called, widths = columns_functions(function, target, lanes)
    emitter.emit(
        _order([*(run.value for one in results.values() for run in one), *needed(function), *function.guards], many)
    )
    flags = call_columns(body, function, emitter)
    status = status_word(function, results, emitter, watch, flags) if checked else "0"
    # All stores come after all loads, so that an output may lie where an input was.
    for name, one in results.items():
        store_runs(emitter, one, f"%out_{name}")
    body.do(f"ret i32 {status}")
    linkage, name = ("internal ", _LANES) if many else ("", SINGLE)
    head = f"define {linkage}i32 @{name}({_parameters(function)})"
    # LLVM does not align what it spills by itself: every other vector would straddle two lines of the cache
    aligned = f" alignstack({8 * lanes.width})" if lanes.width > 2 else ""
    return f"{of_columns}{head} noinline{aligned} #0 {{\n{body}\n}}\n", emitter.called | called, widths


def _order(wanted: Sequence[Scalar], many: bool) -> list[Expr]:
    """Everything that is needed, operands first: what spills least, and for one state what can run side by side.

    Lanes of one state do run side by side; with them the order in which the algorithm was written is faster.
    """
    results = [value for value in wanted if isinstance(value, Expr)]
    if many:
        return hungriest_first(results)
    written = live_nodes(results)
    return critical_first(written if any(node.lanes > 1 for node in written) else hungriest_first(results))


def _input_check(function: Function, target: Target) -> str:
    """`i1 @inputs_bad(in...)` for a block of W states.

    A function of its own: inside the kernel the check would keep inputs in registers that are short there.
    """
    body, lanes = Body(), Lanes(target.lanes)
    watch = NotFinite(body, target)
    for name, size in function.inputs.items():
        for position in range(size):
            watch.watch(lanes, body.load(lanes.real, f"%in_{name}", position * lanes.width))
    body.do(f"ret i1 {either(body, watch.flags())}")
    inputs = ", ".join(f"ptr %in_{name}" for name in function.inputs)
    return f"define internal i1 @{_CHECK}({inputs}) noinline #0 {{\n{body}\n}}\n"


def status_word(
    function: Function,
    results: Mapping[str, Sequence[Run]],
    emitter: Emitter,
    watch: NotFinite,
    flags: Sequence[str],
) -> str:
    """i32 of results, angles, guards and what is watched already, with the flags of columns."""
    body = emitter.body
    for kind, sine in emitter.sines:
        watch.watch(kind, sine)
    for node in dict.fromkeys(run.value for one in results.values() for run in one if isinstance(run.value, Expr)):
        watch.watch(emitter.kind(node), emitter.value(node, emitter.kind(node)))
    failed = [guard_flag(emitter, guard) for guard in function.guards]
    return status_of(body, either(body, [*watch.flags(), *flags]), either(body, failed) if failed else None)


def guard_flag(emitter: Emitter, guard: Expr) -> str:
    """i1: whether a guard fails."""
    kind = emitter.kind(guard)
    # "not (guard >= 0)": true for NaN as well.
    flag = emitter.body.emit(f"fcmp ult {kind.real} {emitter.value(guard, kind)}, {kind.number(0.0)}")
    return emitter.body.any_lane(flag, kind)


def status_of(body: Body, bad_value: str, failed: str | None) -> str:
    """i32 of two i1: whether something is not finite, and whether a guard fails."""
    low = body.emit(f"zext i1 {bad_value} to i32")
    if failed is None:
        return low
    high = body.emit(f"select i1 {failed}, i32 {GUARD_FAILED}, i32 0")
    return body.emit(f"or i32 {low}, {high}")


def _sizes(function: Function) -> list[int]:
    return [*function.inputs.values(), *(prod(shape) for shape in function.shapes.values())]


def _repeat_loop(function: Function) -> str:
    """Run the single kernel `repeats` times over n rows: the loop that benchmarks time from outside."""
    body = Body()
    status = body.variable("i32", "0")
    with body.repeat("%repeats"), body.repeat("%n") as k:
        rows = [_row(body, p, size, k) for p, size in zip(_pointers(function), _sizes(function), strict=True)]
        status.update("or", body.emit(f"call i32 @{SINGLE}({', '.join(f'ptr {row}' for row in rows)})"))
    body.do(f"ret i32 {status.get()}")
    head = f"define i32 @{REPEAT}({_parameters(function, 'i64 %n', 'i64 %repeats')}) #0"
    return f"{head} {{\n{body}\n}}\n"


def _rows_loop(function: Function) -> str:
    """Run the single kernel over n rows."""
    body = Body()
    status = body.variable("i32", "0")
    with body.repeat("%n") as k:
        rows = [_row(body, p, size, k) for p, size in zip(_pointers(function), _sizes(function), strict=True)]
        status.update("or", body.emit(f"call i32 @{SINGLE}({', '.join(f'ptr {row}' for row in rows)})"))
    body.do(f"ret i32 {status.get()}")
    return f"define i32 @{ROWS}({_parameters(function, 'i64 %n')}) #0 {{\n{body}\n}}\n"


def _columns_loop(function: Function, width: int) -> str:
    """Run the single kernel over n states whose elements lie n apart.

    Results of some states are written together, so that each line of the cache is written once.
    """
    body, split = Body(), len(function.inputs)
    pointers, sizes = _pointers(function), _sizes(function)
    while width > 1 and width * sum(sizes[split:]) > STACK:
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
            rows = rooms[:split] + [_row(body, room, size, k) for _, room, size in places[split:]]
            status.update("or", body.emit(f"call i32 @{SINGLE}({', '.join(f'ptr {row}' for row in rows)})"))
        for pointer, room, size in places[split:]:
            with body.repeat(str(size)) as c:
                element = body.element(room, c)
                values = [body.load("double", element, lane * size) for lane in range(width)]
                whole = values[0] if width == 1 else packed(body, together, values)
                body.store(together.real, whole, pointer, _strided(body, c, first))
    body.do(f"ret i32 {status.get()}")
    return f"define i32 @{COLUMNS}({_parameters(function, 'i64 %n')}) #0 {{\n{body}\n}}\n"


def _strided(body: Body, element: str, state: str) -> str:
    """Where an element of a state lies among columns."""
    return body.emit(f"add i64 {body.emit(f'mul i64 {element}, %n')}, {state}")


def _row(body: Body, pointer: str, size: int, k: str) -> str:
    offset = body.emit(f"mul i64 {k}, {size}")
    return body.emit(f"getelementptr double, ptr {pointer}, i64 {offset}")


def _blocks_loop(function: Function, name: str, lanes: int, checked: bool) -> str:
    """Each block of W states is laid out on the stack, element by element, and its results are taken from there.

    Rows are transposed on the way. Columns are copied: a kernel that read them in place would meet strides that are
    powers of two, which fill a few sets of the cache, and vectors that straddle two of its lines.
    """
    body = Body()
    pointers, sizes, split = _pointers(function), _sizes(function), len(function.inputs)
    blocks = [body.room(f"[{size * lanes} x double]") for size in sizes]
    status = body.variable("i32", "0")
    with body.in_blocks("%n", lanes) as first:
        if name == ROWS:
            places = [_row(body, pointer, size, first) for pointer, size in zip(pointers, sizes, strict=True)]
            take, give, stride = rows_in_name, rows_out_name, ""
        else:
            places = [body.element(pointer, first) for pointer in pointers]
            take, give, stride = columns_in_name, columns_out_name, ", i64 %n"
        moves = list(zip(places, blocks, sizes, strict=True))
        for place, block, size in moves[:split]:
            body.do(f"call void {take(size)}(ptr {place}, ptr {block}{stride})")
        arguments = [f"ptr {block}" for block in blocks]
        status.update("or", body.emit(f"call i32 @{_LANES}({', '.join(arguments)})"))
        if checked:
            bad = body.emit(f"call i1 @{_CHECK}({', '.join(arguments[:split])})")
            status.update("or", body.emit(f"zext i1 {bad} to i32"))
        for place, block, size in moves[split:]:
            body.do(f"call void {give(size)}(ptr {block}, ptr {place}{stride})")
    body.do(f"ret i32 {status.get()}")
    return f"define i32 @{name}({_parameters(function, 'i64 %n')}) #0 {{\n{body}\n}}\n"
