# SPDX-License-Identifier: Apache-2.0
"""Kernels for one state: a Function as LLVM text; also the code for a block of W states that `batch` uses.

Arguments are pointers to doubles: the inputs, then the outputs. Every kernel returns a status word: bit 0 if an input
or a result is not finite (or an angle is beyond the range of sincos), bit 1 if a guard fails, bit 2 if no memory
is available.

Columns of a function are loops (`columns`).

Long code consists of segments (`segments`). In the code for W states these form parts, functions that fit into the
instruction cache, and several blocks of states pass each part before the next one: code from the second-level cache
runs at a third of the speed (measured on an Intel Emerald Rapids processor).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from types import MappingProxyType
from typing import NamedTuple

from ada_dynamics.expr.function import Columns, Function
from ada_dynamics.expr.graph import CONST, Expr, Scalar, live_nodes
from ada_dynamics.jit.columns import (
    by_results,
    call_loops,
    call_with_operands,
    column_of_operand,
    loop_functions,
    operand_values,
    operands,
)
from ada_dynamics.jit.expressions import (
    Call,
    Emitter,
    LaneStore,
    NotFinite,
    either,
    lane_stores,
    last_values,
    preamble,
    store_lanes,
    unobserved_inputs,
)
from ada_dynamics.jit.fused import fused
from ada_dynamics.jit.lowering import Instructions, Lanes, padded
from ada_dynamics.jit.schedule import critical_first, hungriest_first
from ada_dynamics.jit.segments import Segments, angles_first
from ada_dynamics.jit.target import Target

# --- kernels ----------------------------------------------------------------------------------------------------------
SINGLE_VECTOR_BITS = 256
WIDE = 160  # above this number of results each is stored as soon as it is computed
WIDE_BLOCK = 512  # the same of a block of states
NOT_FINITE = 1
GUARD_FAILED = 2
NO_MEMORY = 4
SINGLE = "kernel"
REPEAT = "kernel_repeat"
LANES = "kernel_lanes"


def single_vector_bits(function: Function, vector_bits: int) -> int:
    """Width of vectors in the code for one state, which are used for sines, input checks and lanes of the state.

    The widest registers are used only for as many lanes, because they reduce the clock rate and run on fewer
    execution units.
    """
    most = max((node.lanes for node in function.nodes()), default=1) if function.graph.has_lanes else 1
    return min(vector_bits, max(SINGLE_VECTOR_BITS, 64 * padded(most).width))


def module(function: Function, target: Target, checked: bool = True) -> str:
    """Module with `i32 @kernel(in..., out...)` and `i32 @kernel_repeat(in..., out..., i64 n, i64 repeats)`."""
    function = fused(function)
    text = single_kernel(function, target, checked)
    return text + _repeat_loop(function)


def single_kernel(function: Function, target: Target, checked: bool) -> str:
    """Definition of `i32 @kernel(in..., out...)` of a fused function, with the functions that it calls."""
    target = replace(target, vector_bits=single_vector_bits(function, target.vector_bits))
    write = _kernel_in_parts if is_long(function, target) else partial(kernel, lanes=Lanes(1))
    text, called, widths = write(function, target, checked=checked)
    return text + preamble(called, target, map(Lanes, {1, *widths}))


def is_long(function: Function, target: Target) -> bool:
    """Return True if the code for one state consists of segments; its results are stored as they are computed.

    The compile time of other code is quadratic in the number of results.
    """
    results, limits = sum(map(len, function.outputs.values())), target.limits
    return len(function.nodes()) > (limits.with_columns if function.columns else limits.registers) or results > WIDE


def effort(function: Function, target: Target) -> int:
    """Effort of the code generator for the code for one state (see `compiler.compile_text`)."""
    return 1 if result_count(function) > WIDE or is_long(function, target) else 2


def pointers_of(function: Function) -> list[str]:
    """Names of the arrays: inputs, then outputs."""
    return [f"%in_{name}" for name in function.inputs] + [f"%out_{name}" for name in function.shapes]


def parameters(function: Function, *more: str) -> str:
    """Parameters of a kernel: all arrays, and `more`."""
    return ", ".join([*(f"ptr {pointer}" for pointer in pointers_of(function)), *more])


def kernel(function: Function, target: Target, lanes: Lanes, checked: bool) -> tuple[str, set[Call], set[int]]:
    """Kernel for one state, or for a block of W states whose element i is at i W; functions it calls; vector widths."""
    body = Instructions()
    many = lanes.width > 1

    def address(pointer: str, position: int) -> str:
        return body.element(pointer, position * lanes.width)

    emitter = Emitter(
        body, lanes, target, lambda name, position: body.load(lanes.real, address(f"%in_{name}", position))
    )
    watch = NotFinite(body, target)
    if checked and not many:
        for name, positions in unobserved_inputs(function).items():
            if positions:
                watch.watch_vector(f"%in_{name}", function.inputs[name])
    results = {name: lane_stores(elements) for name, elements in function.outputs.items()}
    of_columns, called, widths = loop_functions(function, target, lanes)
    wanted = [*(run.value for one in results.values() for run in one), *operand_values(function), *function.guards]
    emitter.emit(_order(wanted, many))
    # All stores follow all loads, so that an output may alias an input.
    flags = call_with_operands(body, function, emitter)
    status = status_word(function, results, emitter, watch, flags) if checked else "0"
    for name, one in results.items():
        store_lanes(emitter, one, f"%out_{name}")
    body.do(f"ret i32 {status}")
    linkage, name = ("internal ", LANES) if many else ("", SINGLE)
    head = f"define {linkage}i32 @{name}({parameters(function)})"
    # LLVM does not align spill slots by itself: every other vector would cross a cache line
    aligned = f" alignstack({8 * lanes.width})" if lanes.width > 2 else ""
    return f"{of_columns}{head} noinline{aligned} #0 {{\n{body}\n}}\n", emitter.called | called, widths


def _order(wanted: Sequence[Scalar], many: bool) -> list[Expr]:
    """Nodes in execution order: fewest spills for W states, instruction-level parallelism for one state.

    With lanes of one state, which are parallel already, the traced order is faster.
    """
    results = [value for value in wanted if isinstance(value, Expr)]
    if many:
        return hungriest_first(results)
    written = live_nodes(results)
    return critical_first(written if any(node.lanes > 1 for node in written) else hungriest_first(results))


def status_word(
    function: Function,
    results: Mapping[str, Sequence[LaneStore]],
    emitter: Emitter,
    watch: NotFinite,
    flags: Sequence[str],
) -> str:
    """i32: status of results, angles, guards, watched values, and columns."""
    body = emitter.body
    for kind, sine in emitter.sines:
        watch.watch(kind, sine)
    for node in last_values(run.value for one in results.values() for run in one):
        watch.watch(emitter.kind(node), emitter.value(node, emitter.kind(node)))
    failed = [guard_flag(emitter, guard) for guard in function.guards]
    return status_of(body, either(body, [*watch.flags(), *flags]), either(body, failed) if failed else None)


def guard_flag(emitter: Emitter, guard: Expr) -> str:
    """i1: whether a guard fails."""
    kind = emitter.kind(guard)
    # "not (guard >= 0)": true for NaN as well.
    flag = emitter.body.emit(f"fcmp ult {kind.real} {emitter.value(guard, kind)}, {kind.number(0.0)}")
    return emitter.body.any_lane(flag, kind)


def status_of(body: Instructions, bad_value: str, failed: str | None) -> str:
    """i32: status word of two i1, whether a value is not finite and whether a guard fails."""
    low = body.emit(f"zext i1 {bad_value} to i32")
    if failed is None:
        return low
    high = body.emit(f"select i1 {failed}, i32 {GUARD_FAILED}, i32 0")
    return body.emit(f"or i32 {low}, {high}")


def sizes_of(function: Function) -> list[int]:
    """Number of elements per state of each array."""
    return [*function.inputs.values(), *(prod(shape) for shape in function.shapes.values())]


def result_count(function: Function) -> int:
    """Number of results of a state."""
    return sum(prod(shape) for shape in function.shapes.values())


def _repeat_loop(function: Function) -> str:
    """Run the single kernel `repeats` times over n rows: the loop that benchmarks time from outside."""
    body = Instructions()
    status = body.variable("i32", "0")
    with body.repeat("%repeats"), body.repeat("%n") as k:
        rows = [row_of(body, p, size, k) for p, size in zip(pointers_of(function), sizes_of(function), strict=True)]
        status.update("or", body.emit(f"call i32 @{SINGLE}({', '.join(f'ptr {row}' for row in rows)})"))
    body.do(f"ret i32 {status.get()}")
    head = f"define i32 @{REPEAT}({parameters(function, 'i64 %n', 'i64 %repeats')}) #0"
    return f"{head} {{\n{body}\n}}\n"


def row_of(body: Instructions, pointer: str, size: int, k: str) -> str:
    """Address of row k of an array of rows."""
    offset = body.emit(f"mul i64 {k}, {size}")
    return body.emit(f"getelementptr double, ptr {pointer}, i64 {offset}")


# --- parts ------------------------------------------------------------------------------------------------------------
BLOCK = 64
MEMORY = ("PyMem_RawMalloc", "PyMem_RawFree")
MEMORY_DECLARATIONS = """\
declare ptr @PyMem_RawMalloc(i64)
declare void @PyMem_RawFree(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""
_LINE = 64  # bytes of a cache line
_KEPT = "%kept"  # memory of slots and operands


class Code(NamedTuple):
    """Functions that are called for a block in order: `i32 @name(in..., out..., ptr kept)`, some with `ptr ahead`."""

    text: str
    names: list[str]
    kept: int  # values per state that are in memory; without any, the functions have no such argument
    called: set[Call]
    widths: set[int]  # of vectors
    completed: Mapping[str, str] = MappingProxyType({})  # arrays of results of columns: the last function of each


def block_code(function: Function, target: Target, checked: bool) -> Code:
    """Code for a block of W states; `function` has no lanes of one state."""
    lanes = Lanes(target.lanes)
    if len(function.nodes()) > 1.4 * target.limits.part or result_count(function) > WIDE_BLOCK:
        return _Parts(function, target, lanes, checked).code()
    text, called, widths = kernel(function, target, lanes, checked)
    return Code(text, [LANES], 0, called, widths)


def _kernel_in_parts(function: Function, target: Target, checked: bool) -> tuple[str, set[Call], set[int]]:
    """Kernel for one state that calls parts. Inputs are copied first, so that an output may alias an input."""
    code = _Parts(function, target, Lanes(1), checked).code()
    body, split = Instructions(), len(function.inputs)
    sizes, pointers = sizes_of(function)[:split], pointers_of(function)
    memory, kept = allocate(body, sum(sizes) + code.kept)
    inputs, place = [], body.element(kept, code.kept)
    for pointer, size in zip(pointers[:split], sizes, strict=True):
        inputs.append(place)
        copy(body, place, pointer, size)
        place = body.element(place, size)
    watch, status = NotFinite(body, target), "0"
    if checked:
        unobserved = unobserved_inputs(function)
        for name, place in zip(function.inputs, inputs, strict=True):
            if unobserved[name]:
                watch.watch_vector(place, function.inputs[name])
        status = body.emit(f"zext i1 {either(body, watch.flags())} to i32")
    arguments = ", ".join(f"ptr {place}" for place in (*inputs, *pointers[split:], kept))
    for name in code.names:
        status = body.emit(f"or i32 {status}, {body.emit(f'call i32 @{name}({arguments})')}")
    body.do(f"call void @PyMem_RawFree(ptr {memory})")
    body.do(f"ret i32 {status}")
    head = f"define i32 @{SINGLE}({parameters(function)}) noinline #0"
    return f"{MEMORY_DECLARATIONS}{code.text}{head} {{\n{body}\n}}\n", code.called, code.widths


def allocate(body: Instructions, numbers: int) -> tuple[str, str]:
    """Allocate heap memory or return NO_MEMORY; the pointer to free, and the first address that is aligned."""
    memory = body.emit(f"call ptr @PyMem_RawMalloc(i64 {8 * numbers + _LINE})")
    body.leave_if(body.emit(f"icmp eq ptr {memory}, null"), str(NO_MEMORY))
    past = body.emit(f"add i64 {body.emit(f'ptrtoint ptr {memory} to i64')}, {_LINE - 1}")
    return memory, body.emit(f"inttoptr i64 {body.emit(f'and i64 {past}, {-_LINE}')} to ptr")


def copy(body: Instructions, target: str, source: str, numbers: int) -> None:
    """Copy numbers."""
    body.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {8 * numbers}, i1 false)")


class _Parts:
    """Code in segments. Some segments each are a part, a function that fits into the instruction cache.

    One state has one part up to `CodeLimits.registers` operations. The compile time of a longer function is quadratic.

    Results and operands of columns are stored as soon as they are computed.
    """

    def __init__(self, function: Function, target: Target, lanes: Lanes, checked: bool) -> None:
        self.function, self.target, self.lanes, self.checked = function, target, lanes, checked
        runs = [(f"%out_{name}", run) for name, elements in function.outputs.items() for run in lane_stores(elements)]
        wanted = [*(run.value for _, run in runs), *operand_values(function), *function.guards]
        computed = [x for x in wanted if isinstance(x, Expr) and x.op is not CONST]
        indices = {x.index for x in computed}
        order, size = live_nodes(computed), target.limits.part
        if function.columns and lanes.width == 1:
            # from the last operand to the first, as composite bodies are added up from the leaves to the base
            order, size = hungriest_first(computed[::-1]), target.limits.segment
        elif function.columns and len(order) >= 2 * size:
            # column by column, so that the values of few joints are needed at a time
            place = column_of_operand(function)
            computed.sort(key=lambda x: place.get(x, -1))
            order, size = hungriest_first(computed[::-1]), target.limits.block_segment
        elif function.columns:
            order = hungriest_first(computed)
        self.segments = Segments(angles_first(order) if lanes.width == 1 else order, indices, size)
        self.buffers: dict[tuple[Scalar, ...], int] = {}  # first slots of the operands of columns
        self.kept = self.segments.slot_count
        for values in operands(function):
            self.buffers[values] = self.kept
            runs += [(_KEPT, run._replace(position=self.kept + run.position)) for run in lane_stores(values)]
            self.kept += len(values)
        self.sources: dict[str, int] = {}  # and of the matrices that are no outputs
        for name, shape in function.sources.items():
            self.sources[name] = self.kept
            self.kept += prod(shape)
        self.watched = {x.index for x in last_values(run.value for pointer, run in runs if pointer != _KEPT)}
        self.constants: list[tuple[str, LaneStore]] = []
        self.stores: dict[int, list[tuple[str, LaneStore]]] = {index: [] for index in indices}
        for pointer, run in runs:
            of_node = self.stores.get(run.value.index) if isinstance(run.value, Expr) else None
            (self.constants if of_node is None else of_node).append((pointer, run))

    def code(self) -> Code:
        """All parts, and one that calls the loops over columns."""
        count = len(self.segments.nodes)
        total, limits = sum(map(len, self.segments.nodes)), self.target.limits
        is_one = self.lanes.width == 1 and total <= limits.registers and not self.function.columns
        step = count if is_one else max(1, count * limits.part // max(1, total))
        starts = range(0, count, step)
        names = [f"{LANES}_{start}" for start in starts]
        found = [self._part(range(k, min(k + step, count)), name) for k, name in zip(starts, names, strict=True)]
        loops, called, widths = loop_functions(self.function, self.target, self.lanes)
        found.append((loops, called))
        completed = {}
        for result, columns in by_results(self.function).items():
            names.append(f"{LANES}_columns_{result}")
            found.append((self._columns_part(names[-1], columns), set()))
            completed[f"%out_{result}"] = names[-1]
        texts, calls = zip(*found, strict=True)
        return Code("".join(texts), names, max(1, self.kept), set().union(*calls), widths, completed)

    def _part(self, segments: range, name: str) -> tuple[str, set[Call]]:
        """Text of a part, and the functions that it calls."""
        body, lanes = Instructions(), self.lanes
        emitter = Emitter(body, lanes, self.target, lambda x, i: body.load(lanes.real, f"%in_{x}", i * lanes.width))
        watch, failed = NotFinite(body, self.target), list[str]()
        guards = {guard.index for guard in self.function.guards}

        def finish(node: Expr) -> None:
            kind = emitter.kind(node)
            for pointer, run in self.stores.get(node.index, ()):
                store_lanes(emitter, [run], pointer)
            if node.index in self.watched:
                watch.watch(kind, emitter.value(node, kind))
            if node.index in guards:
                failed.append(guard_flag(emitter, node))
            while emitter.sines:
                watch.watch(*emitter.sines.pop())

        if segments.start == 0:
            for pointer, run in self.constants:
                store_lanes(emitter, [run], pointer)
        self.segments.emit(segments, emitter, _KEPT, finish)
        status = status_of(body, either(body, watch.flags()), either(body, failed) if failed else None)
        body.do(f"ret i32 {status if self.checked else 0}")
        aligned = f" alignstack({8 * lanes.width})" if lanes.width > 1 else ""
        return f"{self._head(name)}{aligned} #0 {{\n{body}\n}}\n", emitter.called

    def _columns_part(self, name: str, columns: Sequence[Columns]) -> str:
        """Text of a function that computes some columns."""
        body, width = Instructions(), self.lanes.width
        places = {x: body.element(_KEPT, i * width) for x, i in self.buffers.items()}
        sources = {name: body.element(_KEPT, i * width) for name, i in self.sources.items()}
        ahead = ["%ahead"] if width > 1 else []
        flags = call_loops(body, self.function, self.lanes, places, sources, columns, *ahead)
        body.do(f"ret i32 {status_of(body, either(body, flags), None) if self.checked else 0}")
        return f"{self._head(name, *ahead)} #0 {{\n{body}\n}}\n"

    def _head(self, name: str, *more: str) -> str:
        every = parameters(self.function, *(f"ptr {pointer}" for pointer in (_KEPT, *more)))
        return f"define internal i32 @{name}({every}) noinline"
