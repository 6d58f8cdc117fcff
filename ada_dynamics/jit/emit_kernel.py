# SPDX-License-Identifier: Apache-2.0
"""A Function as LLVM functions: for one state, for W states in lanes, and for whole batches.

Status word that every kernel returns: bit 0 an input or a result is not finite (or an angle is beyond the range of
sincos), bit 1 a guard fails. Arguments are pointers to doubles: the inputs, then the outputs.
"""

from __future__ import annotations

from dataclasses import replace

from ada_dynamics.expr.expand import expand
from ada_dynamics.expr.function import Function
from ada_dynamics.expr.graph import EXTRACT, Expr
from ada_dynamics.jit.emit import Call, Emitter, NotFinite, either, preamble
from ada_dynamics.jit.lanes import padded
from ada_dynamics.jit.llvm_text import Body, Lanes
from ada_dynamics.jit.schedule import critical_first
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
    target = replace(target, vector_bits=single_vector_bits(function, target.vector_bits))
    text, called = _kernel(function, target, Lanes(1), checked)
    return text + _repeat_loop(function) + preamble(called, target, [1])


def batch_module(function: Function, target: Target, checked: bool = True) -> str:
    """Text with `i32 @kernel_rows(in..., out..., i64 n)` and `@kernel_columns`, both for n >= target.lanes.

    Rows: each array holds n rows, one for each state. Columns: each array holds one run of n for each element.
    """
    function = expand(function)  # here the lanes are states
    text, called = _kernel(function, target, Lanes(target.lanes), checked)
    if checked:
        text += _input_check(function, target)
    sizes_in = sorted(set(function.inputs.values()))
    sizes_out = sorted({len(elements) for elements in function.outputs.values()})
    moves = [rows_in(size, target.lanes) for size in sizes_in] + [rows_out(size, target.lanes) for size in sizes_out]
    moves += [columns_in(size, target.lanes) for size in sizes_in]
    moves += [columns_out(size, target.lanes) for size in sizes_out]
    loops = _blocks_loop(function, ROWS, target.lanes, checked) + _blocks_loop(function, COLUMNS, target.lanes, checked)
    return "".join(moves) + text + loops + preamble(called, target, [target.lanes])


def _pointers(function: Function) -> list[str]:
    return [f"%in_{name}" for name in function.inputs] + [f"%out_{name}" for name in function.outputs]


def _parameters(function: Function, *more: str) -> str:
    return ", ".join([*(f"ptr {pointer}" for pointer in _pointers(function)), *more])


def _kernel(function: Function, target: Target, lanes: Lanes, checked: bool) -> tuple[str, set[Call]]:
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
    nodes = function.nodes()
    emitter.emit(nodes if many else critical_first(nodes))
    status = _status(function, emitter, watch) if checked else "0"
    # All stores come after all loads, so that an output may lie where an input was.
    for name, elements in function.outputs.items():
        for position, element in enumerate(elements):
            body.store(lanes.real, emitter.value(element), address(f"%out_{name}", position))
    body.do(f"ret i32 {status}")
    linkage, name = ("internal ", _LANES) if many else ("", SINGLE)
    head = f"define {linkage}i32 @{name}({_parameters(function)})"
    return f"{head} noinline #0 {{\n{body}\n}}\n", emitter.called


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


def _status(function: Function, emitter: Emitter, watch: NotFinite) -> str:
    body = emitter.body
    for kind, sine in emitter.sines:
        watch.watch(kind, sine)
    for node in _watched_results(function):
        watch.watch(emitter.kind(node), emitter.value(node, emitter.kind(node)))
    bad_value = either(body, watch.flags())
    failed = []
    for guard in function.guards:
        # "not (guard >= 0)": true for NaN as well.
        kind = emitter.kind(guard)
        flag = body.emit(f"fcmp ult {kind.real} {emitter.value(guard, kind)}, {kind.number(0.0)}")
        failed.append(body.any_lane(flag, kind))
    low = body.emit(f"zext i1 {bad_value} to i32")
    if not failed:
        return low
    high = body.emit(f"select i1 {either(body, failed)}, i32 {GUARD_FAILED}, i32 0")
    return body.emit(f"or i32 {low}, {high}")


def _watched_results(function: Function) -> list[Expr]:
    """Every result that is not constant; where all lanes of a value are results, the value in their place."""
    results = list(dict.fromkeys(x for elements in function.outputs.values() for x in elements if isinstance(x, Expr)))
    extracted: dict[Expr, int] = {}
    for node in results:
        if node.op is EXTRACT:
            extracted[node.args[0]] = extracted.get(node.args[0], 0) + 1
    whole = {value for value, lanes in extracted.items() if lanes == value.lanes}
    return list(dict.fromkeys(x.args[0] if x.op is EXTRACT and x.args[0] in whole else x for x in results))


def _sizes(function: Function) -> list[int]:
    return [*function.inputs.values(), *(len(elements) for elements in function.outputs.values())]


def _repeat_loop(function: Function) -> str:
    """Run the single kernel `repeats` times over n rows: the loop that benchmarks time from outside."""
    body = Body()
    body.label("entry")
    body.do("br label %again")
    body.label("again")
    body.do("%turn = phi i64 [0, %entry], [%next_turn, %done]")
    body.do("%before = phi i32 [0, %entry], [%status, %done]")
    body.do("br label %row")
    body.label("row")
    body.do("%k = phi i64 [0, %again], [%next, %row]")
    body.do("%sofar = phi i32 [%before, %again], [%status, %row]")
    rows = [_row(body, p, size, "%k") for p, size in zip(_pointers(function), _sizes(function), strict=True)]
    result = body.emit(f"call i32 @{SINGLE}({', '.join(f'ptr {row}' for row in rows)})")
    body.do(f"%status = or i32 %sofar, {result}")
    body.do("%next = add i64 %k, 1")
    body.do("%more = icmp slt i64 %next, %n")
    body.do("br i1 %more, label %row, label %done")
    body.label("done")
    body.do("%next_turn = add i64 %turn, 1")
    body.do("%on = icmp slt i64 %next_turn, %repeats")
    body.do("br i1 %on, label %again, label %end")
    body.label("end")
    body.do("ret i32 %status")
    head = f"define i32 @{REPEAT}({_parameters(function, 'i64 %n', 'i64 %repeats')}) #0"
    return f"{head} {{\n{body}\n}}\n"


def _row(body: Body, pointer: str, size: int, k: str) -> str:
    offset = body.emit(f"mul i64 {k}, {size}")
    return body.emit(f"getelementptr double, ptr {pointer}, i64 {offset}")


def _batch_loop(function: Function, name: str, lanes: int, start: Body, step: Body) -> str:
    """A loop over blocks of W states; the last block moves back to end with the last state.

    So a state is never computed differently at the end of a batch, only twice.
    """
    body = Body()
    body.label("entry")
    body.lines += start.lines
    body.do(f"%last = sub i64 %n, {lanes}")
    body.do("br label %block")
    body.label("block")
    body.do("%k = phi i64 [0, %entry], [%next, %block]")
    body.do("%before = phi i32 [0, %entry], [%status, %block]")
    body.do("%fits = icmp sle i64 %k, %last")
    body.do("%first = select i1 %fits, i64 %k, i64 %last")
    body.lines += step.lines
    body.do("%status = or i32 %before, %block_status")
    body.do(f"%next = add i64 %k, {lanes}")
    body.do("%more = icmp slt i64 %next, %n")
    body.do("br i1 %more, label %block, label %end")
    body.label("end")
    body.do("ret i32 %status")
    return f"define i32 @{name}({_parameters(function, 'i64 %n')}) #0 {{\n{body}\n}}\n"


def _blocks_loop(function: Function, name: str, lanes: int, checked: bool) -> str:
    """Each block of W states is laid out on the stack, element by element, and its results are taken from there.

    Rows are transposed on the way. Columns are copied: a kernel that read them in place would meet strides that are
    powers of two, which fill a few sets of the cache, and vectors that straddle two of its lines.
    """
    start, step = Body(), Body()
    pointers, sizes, split = _pointers(function), _sizes(function), len(function.inputs)
    blocks = [pointer.replace("%", "%block_") for pointer in pointers]
    for block, size in zip(blocks, sizes, strict=True):
        start.do(f"{block} = alloca [{size * lanes} x double], align 64")
    if name == ROWS:
        places = [_row(step, pointer, size, "%first") for pointer, size in zip(pointers, sizes, strict=True)]
        take, give, stride = rows_in_name, rows_out_name, ""
    else:
        places = [step.emit(f"getelementptr double, ptr {pointer}, i64 %first") for pointer in pointers]
        take, give, stride = columns_in_name, columns_out_name, ", i64 %n"
    moves = list(zip(places, blocks, sizes, strict=True))
    for place, block, size in moves[:split]:
        step.do(f"call void {take(size)}(ptr {place}, ptr {block}{stride})")
    _call_lanes(function, step, blocks, checked)
    for place, block, size in moves[split:]:
        step.do(f"call void {give(size)}(ptr {block}, ptr {place}{stride})")
    return _batch_loop(function, name, lanes, start, step)


def _call_lanes(function: Function, step: Body, blocks: list[str], checked: bool) -> None:
    """Run the lane kernel on W states and leave its status in %block_status."""
    arguments = [f"ptr {block}" for block in blocks]
    status = step.emit(f"call i32 @{_LANES}({', '.join(arguments)})")
    if checked:
        inputs = ", ".join(arguments[: len(function.inputs)])
        bad = step.emit(f"call i1 @{_CHECK}({inputs})")
        wide = step.emit(f"zext i1 {bad} to i32")
        status = step.emit(f"or i32 {status}, {wide}")
    step.do(f"%block_status = or i32 {status}, 0")
