# SPDX-License-Identifier: Apache-2.0
"""Kernels for one state: a Function as LLVM text; also the code for a block of W states that `batch` uses.

Arguments are pointers to doubles: the inputs, then the outputs. Every kernel returns a status word: bit 0 if an input
or a result is not finite (or an angle is beyond the range of sincos), bit 1 if a guard fails, bit 2 if no memory
is available.

Columns of a function are loops (`columns`).

Long code is split into parts, functions with the values between them in memory. In the code for W states a part fits
into the instruction cache, and several blocks pass each part before the next one: code from the second-level cache runs
at a third of the speed (measured on an Intel Emerald Rapids processor). In the code for one state parts keep
the compile time proportional to the length: LLVM takes 5 s for a function of 30 000 operations, 1 s for its parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import NamedTuple

from ada_dynamics.expr.evaluation import without_lanes
from ada_dynamics.expr.function import Function
from ada_dynamics.expr.graph import CONST, VAR, Expr, Scalar, live_nodes
from ada_dynamics.jit.columns import (
    call_loops,
    call_with_operands,
    loop_functions,
    opaque_false,
    operand_values,
    operands,
)
from ada_dynamics.jit.expressions import (
    Call,
    Emitter,
    LaneStore,
    NotFinite,
    either,
    first_angles,
    lane_stores,
    preamble,
    store_lanes,
    unobserved_inputs,
)
from ada_dynamics.jit.fused import fused
from ada_dynamics.jit.lowering import Body, Lanes, padded
from ada_dynamics.jit.schedule import critical_first, hungriest_first, part_starts
from ada_dynamics.jit.target import Target

# --- kernels ----------------------------------------------------------------------------------------------------------
SINGLE_VECTOR_BITS = 256
WIDE = 160  # above this number of results each is stored as soon as it is computed
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
    most = max((node.lanes for node in function.nodes()), default=1)
    return min(vector_bits, max(SINGLE_VECTOR_BITS, 64 * padded(most).width))


def module(function: Function, target: Target, checked: bool = True) -> str:
    """Module with `i32 @kernel(in..., out...)` and `i32 @kernel_repeat(in..., out..., i64 n, i64 repeats)`."""
    function = fused(function)
    text = single_kernel(function, target, checked)
    return text + _repeat_loop(function)


def single_kernel(function: Function, target: Target, checked: bool) -> str:
    """Definition of `i32 @kernel(in..., out...)` of a fused function, with the functions that it calls."""
    target = replace(target, vector_bits=single_vector_bits(function, target.vector_bits))
    if is_long(function, target):
        text, called = _kernel_in_parts(without_lanes(function), target, checked)
        return text + preamble(called, target, [Lanes(1)])
    text, called, widths = kernel(function, target, Lanes(1), checked)
    return text + preamble(called, target, map(Lanes, {1, *widths}))


def is_long(function: Function, target: Target) -> bool:
    """Return True if the code for one state is split into parts; columns are loops, which are short.

    Parts have no lanes of one state, so that functions with lanes are split only if they are longer.
    """
    nodes = function.nodes()
    long = target.limits.long * (4 if any(node.lanes > 1 for node in nodes) else 1)
    return not function.columns and len(nodes) > long


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
    body = Body()
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
    # All stores follow all loads, so that an output may alias an input.
    if not many and sum(map(len, function.outputs.values())) > WIDE:
        order = live_nodes([x for x in wanted if isinstance(x, Expr)])
        emitter.emit([node for node in order if node.op is VAR])
        emitter.emit(order, _EarlyStores(emitter, results, watch).store)
        results = {name: [run for run in one if not isinstance(run.value, Expr)] for name, one in results.items()}
    else:
        emitter.emit(_order(wanted, many))
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


class _EarlyStores:
    """Stores results as soon as they are computed: the compile time is quadratic in the number of live results."""

    def __init__(self, emitter: Emitter, results: Mapping[str, Sequence[LaneStore]], watch: NotFinite) -> None:
        self._emitter, self._watch = emitter, watch
        self._left: dict[int, list[tuple[str, LaneStore]]] = {}
        for name, one in results.items():
            for run in one:
                if isinstance(run.value, Expr):
                    self._left.setdefault(run.value.index, []).append((f"%out_{name}", run))

    def store(self, node: Expr) -> None:
        """Store the results that a node is the value of."""
        places = self._left.pop(node.index, ())
        for pointer, run in places:
            store_lanes(self._emitter, [run], pointer)
        if places:
            kind = self._emitter.kind(node)
            self._watch.watch(kind, self._emitter.value(node, kind))


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
    """LaneStore the single kernel `repeats` times over n rows: the loop that benchmarks time from outside."""
    body = Body()
    status = body.variable("i32", "0")
    with body.repeat("%repeats"), body.repeat("%n") as k:
        rows = [row_of(body, p, size, k) for p, size in zip(pointers_of(function), sizes_of(function), strict=True)]
        status.update("or", body.emit(f"call i32 @{SINGLE}({', '.join(f'ptr {row}' for row in rows)})"))
    body.do(f"ret i32 {status.get()}")
    head = f"define i32 @{REPEAT}({parameters(function, 'i64 %n', 'i64 %repeats')}) #0"
    return f"{head} {{\n{body}\n}}\n"


def row_of(body: Body, pointer: str, size: int, k: str) -> str:
    """Address of row k of an array of rows."""
    offset = body.emit(f"mul i64 {k}, {size}")
    return body.emit(f"getelementptr double, ptr {pointer}, i64 {offset}")


# --- parts ------------------------------------------------------------------------------------------------------------
BLOCK = 64  # nodes of a basic block of a part
MEMORY = ("PyMem_RawMalloc", "PyMem_RawFree")
MEMORY_DECLARATIONS = """\
declare ptr @PyMem_RawMalloc(i64)
declare void @PyMem_RawFree(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""
_LINE = 64  # bytes of a cache line


class Code(NamedTuple):
    """Functions that are called for a block in order: `i32 @name(in..., out..., ptr kept)`."""

    text: str
    names: list[str]
    kept: int  # values per state that are in memory between parts; without any, the functions have no such argument
    called: set[Call]


def block_code(function: Function, target: Target, checked: bool) -> Code:
    """Code for a block of W states; `function` has no lanes of one state."""
    lanes = Lanes(target.lanes)
    parts = _Parts(function, target, lanes, checked)
    if len(parts.nodes) == 1:
        text, called, _ = kernel(function, target, lanes, checked)
        return Code(text, [LANES], 0, called)
    return parts.code()


def _kernel_in_parts(function: Function, target: Target, checked: bool) -> tuple[str, set[Call]]:
    """Kernel for one state that calls parts. Inputs are copied first, so that an output may alias an input."""
    code = _Parts(function, target, Lanes(1), checked).code()
    body, split = Body(), len(function.inputs)
    sizes, pointers = sizes_of(function)[:split], pointers_of(function)
    memory, buffer = allocate(body, sum(sizes) + code.kept)
    inputs = []
    for pointer, size in zip(pointers[:split], sizes, strict=True):
        inputs.append(buffer)
        copy(body, buffer, pointer, size)
        buffer = body.element(buffer, size)
    watch, status = NotFinite(body, target), "0"
    if checked:
        unobserved = unobserved_inputs(function)
        for name, place in zip(function.inputs, inputs, strict=True):
            if unobserved[name]:
                watch.watch_vector(place, function.inputs[name])
        status = body.emit(f"zext i1 {either(body, watch.flags())} to i32")
    arguments = ", ".join(f"ptr {place}" for place in (*inputs, *pointers[split:], buffer))
    for name in code.names:
        status = body.emit(f"or i32 {status}, {body.emit(f'call i32 @{name}({arguments})')}")
    body.do(f"call void @PyMem_RawFree(ptr {memory})")
    body.do(f"ret i32 {status}")
    head = f"define i32 @{SINGLE}({parameters(function)}) noinline #0"
    return f"{MEMORY_DECLARATIONS}{code.text}{head} {{\n{body}\n}}\n", code.called


def allocate(body: Body, numbers: int) -> tuple[str, str]:
    """Allocate heap memory or return NO_MEMORY; the pointer to free, and the first address that is aligned."""
    memory = body.emit(f"call ptr @PyMem_RawMalloc(i64 {8 * numbers + _LINE})")
    body.leave_if(body.emit(f"icmp eq ptr {memory}, null"), str(NO_MEMORY))
    past = body.emit(f"add i64 {body.emit(f'ptrtoint ptr {memory} to i64')}, {_LINE - 1}")
    return memory, body.emit(f"inttoptr i64 {body.emit(f'and i64 {past}, {-_LINE}')} to ptr")


def copy(body: Body, target: str, source: str, numbers: int) -> None:
    """Copy numbers."""
    body.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {8 * numbers}, i1 false)")


class _Parts:
    """Splits a function without lanes of one state into parts, and writes them."""

    def __init__(self, function: Function, target: Target, lanes: Lanes, checked: bool) -> None:
        self.function, self.target, self.lanes, self.checked = function, target, lanes, checked

    def code(self) -> Code:
        """All parts, and one that calls the loops over columns."""
        names = [f"{LANES}_{k}" for k in range(len(self.nodes))]
        found = [self.part(k, name) for k, name in enumerate(names)]
        if self.function.columns:
            names.append(f"{LANES}_columns")
            found.append(self.columns_part(names[-1]))
        texts, calls = zip(*found, strict=True)
        numbers = len(self.kept) + sum(map(len, self.buffers))
        return Code("".join(texts), names, numbers, set().union(*calls))

    @cached_property
    def nodes(self) -> list[list[Expr]]:
        """Nodes of each part in traced order, in which fewer values are live than in the order for fewest spills.

        Columns have many operands, and the traced order may have had lanes; then each operand is computed for itself.
        """
        outputs = {x.index for x in self.function.values if isinstance(x, Expr)}
        order = self.function.nodes()
        if self.function.columns:
            order = hungriest_first([x for x in self.function.values if isinstance(x, Expr)])
        nodes = [x for x in order if x.op is not CONST and (x.op is not VAR or x.index in outputs)]
        positions = {node.index: i for i, node in enumerate(nodes)}
        last_uses = list(range(len(nodes)))
        for i, node in enumerate(nodes):
            for arg in node.args:
                if arg.index in positions:
                    last_uses[positions[arg.index]] = i
        limits = self.target.limits
        length = limits.part if self.lanes.width > 1 else limits.single_part
        starts = [0, *part_starts(last_uses, length), len(nodes)]
        return [nodes[first:after] for first, after in pairwise(starts)]

    @cached_property
    def kept(self) -> dict[int, int]:
        """Slots of values that a later part uses. Inputs are in memory anyway."""
        part = {node.index: k for k, nodes in enumerate(self.nodes) for node in nodes if node.op is not VAR}
        args = ((k, arg.index) for k, nodes in enumerate(self.nodes) for node in nodes for arg in node.args)
        needed = dict.fromkeys(index for k, index in args if part.get(index, k) < k)
        return {index: place for place, index in enumerate(needed)}

    @cached_property
    def buffers(self) -> dict[tuple[Scalar, ...], int]:
        """First slots of the operands of columns, after those of `kept`; constant operands need none."""
        found: dict[tuple[Scalar, ...], int] = {}
        place = len(self.kept)
        for values in operands(self.function):
            found[values] = place
            place += len(values)
        return found

    @cached_property
    def operands(self) -> dict[int, list[int]]:
        """Slots of each node among the operands of columns."""
        places: dict[int, list[int]] = {}
        for values, first in self.buffers.items():
            for i, x in enumerate(values, first):
                if isinstance(x, Expr):
                    places.setdefault(x.index, []).append(i)
        return places

    @cached_property
    def results(self) -> dict[int, list[tuple[str, int]]]:
        """Positions of the results of each node."""
        places: dict[int, list[tuple[str, int]]] = {}
        for name, elements in self.function.outputs.items():
            for i, x in enumerate(elements):
                if isinstance(x, Expr):
                    places.setdefault(x.index, []).append((name, i))
        return places

    def part(self, k: int, name: str) -> tuple[str, set[Call]]:
        """Text of a part, and the functions that it calls. Values are stored as soon as they are computed."""
        body, lanes = Body(), self.lanes
        emitter = Emitter(body, lanes, self.target, lambda x, i: body.load(lanes.real, f"%in_{x}", i * lanes.width))
        watch, failed = NotFinite(body, self.target), list[str]()
        guards = {guard.index for guard in self.function.guards}
        if k == 0:
            self._store_constants(emitter)
        if lanes.width == 1:
            self._gather_angles(self.nodes[k], emitter)
        never = opaque_false(body, pointers_of(self.function)[0])
        for turn, node in enumerate(self.nodes[k]):
            if turn % BLOCK == BLOCK - 1:
                body.leave_if(never, "0")
            self._add(node, emitter)
            value = emitter.value(node)
            slots = [self.kept[node.index]] if node.index in self.kept else []
            for slot in (*slots, *self.operands.get(node.index, ())):
                body.store(lanes.real, value, "%kept", slot * lanes.width)
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
        aligned = f" alignstack({8 * lanes.width})" if lanes.width > 1 else ""
        return f"{head} noinline{aligned} #0 {{\n{body}\n}}\n", emitter.called

    def columns_part(self, name: str) -> tuple[str, set[Call]]:
        """Text of the function that computes all columns."""
        body = Body()
        text, called, _ = loop_functions(self.function, self.target, self.lanes)
        places = {x: body.element("%kept", i * self.lanes.width) for x, i in self.buffers.items()}
        flags = call_loops(body, self.function, self.lanes, places)
        body.do(f"ret i32 {status_of(body, either(body, flags), None) if self.checked else 0}")
        head = f"define internal i32 @{name}({parameters(self.function, 'ptr %kept')}) noinline #0"
        return f"{text}{head} {{\n{body}\n}}\n", called

    def _gather_angles(self, nodes: Sequence[Expr], emitter: Emitter) -> None:
        angles, needed = first_angles(nodes)
        for node in needed:
            self._add(node, emitter)
        for angle in angles:
            self._load(angle, emitter)
        emitter.sincos_of(angles)

    def _add(self, node: Expr, emitter: Emitter) -> None:
        """Emit a node with its operands from inputs and from earlier parts."""
        for arg in node.args:
            self._load(arg, emitter)
        emitter.add(node)

    def _load(self, node: Expr, emitter: Emitter) -> None:
        if node.op is VAR:
            emitter.add(node)
        elif node.index in self.kept and node.index not in emitter.names:
            place = self.kept[node.index] * self.lanes.width
            emitter.names[node.index] = emitter.body.load(self.lanes.real, "%kept", place)

    def _store_constants(self, emitter: Emitter) -> None:
        for name, elements in self.function.outputs.items():
            for i, x in enumerate(elements):
                if not isinstance(x, Expr) or x.op is CONST:
                    emitter.body.store(self.lanes.real, emitter.value(x), f"%out_{name}", i * self.lanes.width)
        for values, first in self.buffers.items():
            for i, x in enumerate(values, first):
                if not isinstance(x, Expr) or x.op is CONST:
                    emitter.body.store(self.lanes.real, emitter.value(x), "%kept", i * self.lanes.width)
