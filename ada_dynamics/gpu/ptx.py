# SPDX-License-Identifier: Apache-2.0
"""LLVM text of GPU kernels with one thread per state, compiled to PTX or, for tests, to a loop on the CPU.

Element i of array x of state k is at `x + k of_state + i of_element`, counted in numbers, so that arrays of rows,
arrays of columns and a single state for all threads use the same code. Each state has a status byte (see `scalar`); the
bits of all states are or-ed into one word. All results of a state with a nonzero status are NaN. A fallback kernel runs
only for the states whose status is nonzero, and replaces their status.

Values that do not fit in registers are spilled as planned by `register_allocation`, to shared memory first, then to
local memory. Long functions are split into several functions. Columns (see `expr.function.Columns`) are loops over as
many columns at once as the registers hold; the values that all columns use are in shared memory where they fit,
constant columns are a table in constant memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import nan, prod
from typing import NamedTuple

from ada_dynamics.expr.evaluation import expand, without_lanes
from ada_dynamics.expr.function import COLUMN, Columns, Function
from ada_dynamics.expr.graph import CONST, COS, NEG, SIN, VAR, Expr, Scalar
from ada_dynamics.jit.expressions import Call, Emitter, NotFinite, either, preamble
from ada_dynamics.jit.fused import fused
from ada_dynamics.jit.lowering import Body, Lanes
from ada_dynamics.jit.register_allocation import Allocation, SpillSlot, Step, StepKind, Task, allocate
from ada_dynamics.jit.scalar import guard_flag, status_of
from ada_dynamics.jit.schedule import results_first
from ada_dynamics.jit.target import Target

GROUP = 64  # threads per block: kernels use up to 255 of 65536 registers each, and small blocks leave fewer unused


@dataclass(frozen=True)
class ThreadMemory:
    """Shared memory (%fast) and local memory (%slow) of a thread."""

    target: Target
    number: Lanes
    stored: Lanes  # type of numbers in arrays

    def kind(self, is_fast: bool) -> str:
        """LLVM type of an address."""
        return ("ptr addrspace(3)" if is_fast else "ptr addrspace(5)") if self.target.is_gpu else "ptr"

    @property
    def table(self) -> str:
        """LLVM type of the address of a constant."""
        return "ptr addrspace(4)" if self.target.is_gpu else "ptr"

    @property
    def constant(self) -> str:
        """Address space of constants in a definition."""
        return "addrspace(4) " if self.target.is_gpu else ""

    @property
    def parameters(self) -> str:
        """Parameters of a function that uses both memories."""
        return f"{self.kind(True)} %fast, {self.kind(False)} %slow"

    def spill(self, body: Body, place: SpillSlot, value: str) -> None:
        """Spill a value. The store is volatile: otherwise ptxas keeps the value in a register and runs out of them."""
        address = self._address(body, place, 0)
        body.do(f"store volatile {self.number.real} {value}, {address}")

    def reload(self, body: Body, place: SpillSlot, further: str | int = 0) -> str:
        """Reload a value from `place`, or from the slot at an offset from it."""
        return body.emit(f"load volatile {self.number.real}, {self._address(body, place, further)}")

    def _address(self, body: Body, place: SpillSlot, further: str | int) -> str:
        kind, first = self.kind(place.is_fast), "%fast" if place.is_fast else "%slow"
        # slots of the threads of a block alternate in shared memory
        step = GROUP if place.is_fast and self.target.is_gpu else 1
        if isinstance(further, str):
            assert step == 1
            offset = body.emit(f"add i64 {further}, {place.number}")
        else:
            offset = str(step * (place.number + further))
        address = body.emit(f"getelementptr {self.number.scalar}, {kind} {first}, i64 {offset}")
        return f"{kind} {address}, align {self.number.bits // 8}"


class StridedAccess:
    """Loads and stores of the elements of state %k of an array."""

    def __init__(self, body: Body, name: str, number: Lanes, stored: Lanes) -> None:
        """Args: function body, name of the array, types of numbers in registers and in the array."""
        self.body, self.number, self.stored = body, number, stored
        of_state = body.emit(f"sext i32 %{name}_of_state to i64")
        self.first = body.element(f"%{name}", body.emit(f"mul i64 %k, {of_state}"), stored.scalar)
        self.step = body.emit(f"sext i32 %{name}_of_element to i64")

    def _address(self, i: int | str) -> str:
        if i == 0:
            return self.first
        return self.body.element(self.first, self.body.emit(f"mul i64 {self.step}, {i}"), self.stored.scalar)

    def load(self, i: int) -> str:
        """Load element i."""
        loaded = self.body.emit(f"load {self.stored.real}, ptr {self._address(i)}, align {self.stored.bits // 8}")
        return self._converted("fpext", self.stored, loaded, self.number)

    def store(self, i: int | str, value: str) -> None:
        """Store element i, an integer or an i64 operand."""
        value = self._converted("fptrunc", self.number, value, self.stored)
        self.body.do(f"store {self.stored.real} {value}, ptr {self._address(i)}, align {self.stored.bits // 8}")

    def store_steps(self, first: str, stride: int, values: Sequence[str]) -> None:
        """Store element `first` (an i64 operand) and every `stride`-th element after it.

        Each address is computed from the previous one, so that no address occupies a register across loop iterations.
        """
        step = self.body.emit(f"mul i64 {self.step}, {stride}")
        address = self._address(first)
        for value in values:
            value = self._converted("fptrunc", self.number, value, self.stored)
            self.body.do(f"store {self.stored.real} {value}, ptr {address}, align {self.stored.bits // 8}")
            address = self.body.element(address, step, self.stored.scalar)

    def _converted(self, how: str, of: Lanes, value: str, to: Lanes) -> str:
        return value if of == to else self.body.emit(f"{how} {of.real} {value} to {to.real}")


# --- columns ----------------------------------------------------------------------------------------------------------
SPARE = 20  # registers for values that are not kept per column
PIECE = 8  # nodes after which values shared by all columns are reloaded


class ColumnStorage:
    """Memory slots of the operands of a function's columns.

    Attributes:
        fast: number of slots used in shared memory.
        slow: number of slots used in local memory.
        places: slots of a node, by its index.
        constants: constants that are stored in slots.
    """

    def __init__(self, function: Function, fast: int) -> None:
        """Args: the function, and the capacity of shared memory in numbers."""
        self.fast = self.slow = 0
        self.places: dict[int, list[SpillSlot]] = {}
        self.constants: list[tuple[Scalar, SpillSlot]] = []
        self._slots: dict[tuple[Scalar, ...], list[SpillSlot]] = {}
        self._tables: dict[tuple[Scalar, ...], str] = {}
        for columns in function.columns:
            self._lay(columns.shared, fast)
        for columns in function.columns:
            self._lay(_elements(columns), 0)

    def _lay(self, values: tuple[Scalar, ...], fast: int) -> None:
        if values in self._slots or values in self._tables:
            return
        if not any(isinstance(x, Expr) for x in values):
            self._tables[values] = f"@columns_table_{len(self._tables)}"
            return
        slots = self._slots[values] = []
        for x in values:
            is_fast = self.fast < fast
            place = SpillSlot(is_fast, self.fast if is_fast else self.slow)
            self.fast, self.slow = self.fast + is_fast, self.slow + (not is_fast)
            slots.append(place)
            if isinstance(x, Expr):
                self.places.setdefault(x.index, []).append(place)
            else:
                self.constants.append((x, place))

    def slots(self, values: tuple[Scalar, ...]) -> list[SpillSlot]:
        """Slot of each value; empty if the values are a constant table."""
        return self._slots.get(values, [])

    def table(self, values: tuple[Scalar, ...]) -> str:
        """LLVM name of the constant table of the values; "" if they are not constant."""
        return self._tables.get(values, "")

    def tables(self, memory: ThreadMemory) -> str:
        """Definitions of all constant tables."""
        number, texts = memory.number, []
        for values, name in self._tables.items():
            numbers = ", ".join(f"{number.scalar} {number.number(float(x))}" for x in values)  # type: ignore[arg-type]
            array = f"[{len(values)} x {number.scalar}] [{numbers}]"
            texts.append(f"{name} = internal {memory.constant}constant {array}, align 8\n")
        return "".join(texts)


def _elements(columns: Columns) -> tuple[Scalar, ...]:
    return tuple(x for row in columns.rows for x in row)


class ColumnLoop(NamedTuple):
    """ColumnLoop over columns: `i32 @name(k, fast, slow, slot of the first row element, out and its strides)`."""

    name: str
    text: str
    called: set[Call]

    def call(self, body: Body, columns: Columns, storage: ColumnStorage, memory: Sequence[str]) -> str:
        """Emit the call; `memory` holds the arguments for both memories. Return the status operand."""
        rows = storage.slots(_elements(columns))
        out = [f"{kind}_{columns.output}{of}" for kind, of in _OUT]
        given = ["i64 %k", *memory, f"i64 {rows[0].number if rows else 0}", *out]
        return body.emit(f"call i32 @{self.name}({', '.join(given)})")


_OUT = (("ptr %out", ""), ("i32 %out", "_of_state"), ("i32 %out", "_of_element"))


def column_loops(function: Function, storage: ColumnStorage, memory: ThreadMemory) -> list[ColumnLoop]:
    """ColumnLoop of each column group of a function; equal groups share one loop."""
    found: dict[tuple[int, int, tuple[Scalar, ...], str], ColumnLoop] = {}
    loops = []
    for columns in function.columns:
        key = id(columns.each), len(columns.rows[0]), columns.shared, storage.table(_elements(columns))
        if key not in found:
            found[key] = _loop(f"columns{len(found)}", columns, storage, memory)
        loops.append(found[key])
    return loops


def _loop(name: str, columns: Columns, storage: ColumnStorage, memory: ThreadMemory) -> ColumnLoop:
    body, number, count = Body(), memory.number, len(columns.rows[0])
    held = (memory.target.registers(number.bits) - SPARE) // len(columns.rows)
    width = max(1, min(memory.target.limits.columns, count, held))
    shared = storage.slots(columns.shared)
    table = storage.table(_elements(columns))
    out = StridedAccess(body, "out", number, memory.stored)
    bad = body.variable("i1", "false")
    with body.in_blocks(str(count), width) as first:
        reloaded: dict[int, str] = {}

        def load(lane: int, variable: str, position: int) -> str:
            if variable != COLUMN:
                if position not in reloaded:
                    reloaded[position] = memory.reload(body, shared[position])
                return reloaded[position]
            at = body.emit(f"add i64 {first}, {position * count + lane}")
            if table:
                address = body.emit(f"getelementptr {number.scalar}, {memory.table} {table}, i64 {at}")
                return body.emit(f"load {number.real}, {memory.table} {address}, align {number.bits // 8}")
            return memory.reload(body, SpillSlot(False, 0), body.emit(f"add i64 {at}, %rows"))

        emitters = [Emitter(body, number, memory.target, partial(load, lane)) for lane in range(width)]
        watch = NotFinite(body, memory.target)
        inner = [node for node in columns.each.nodes() if not _is_reloaded(node)]
        for start in range(0, len(inner), PIECE):
            nodes = _with_reloads(inner[start : start + PIECE])
            reloaded.clear()
            for emitter in emitters:
                emitter.emit(nodes)
                emitter.forget_variables()
                for node in nodes:
                    if node.op is NEG and _is_reloaded(node):
                        del emitter.names[node.index]
        (result,) = columns.each.outputs.values()
        for lane, emitter in enumerate(emitters):
            values = [emitter.value(element) for element in result]
            for value in values:
                watch.watch(number, value)
            out.store_steps(body.emit(f"add i64 {first}, {lane}"), count, values)
        bad.update("or", either(body, watch.flags()))
    body.do(f"ret i32 {status_of(body, bad.get(), None)}")
    name = f"{name}_of_{-(-count // width)}"
    given = ", ".join(["i64 %k", memory.parameters, "i64 %rows", *(f"{kind}{of}" for kind, of in _OUT)])
    called = set().union(*(emitter.called for emitter in emitters))
    return ColumnLoop(name, f"define internal i32 @{name}({given}) noinline #0 {{\n{body}\n}}\n", called)


def _is_reloaded(node: Expr) -> bool:
    """Return True for a variable or a negated variable: negation is an operand modifier and needs no register."""
    return node.op is VAR or (node.op is NEG and node.args[0].op is VAR)


def _with_reloads(piece: Sequence[Expr]) -> list[Expr]:
    """Nodes, each preceded by the variables that it uses."""
    found: dict[Expr, None] = {}
    for node in piece:
        for arg in node.args:
            if _is_reloaded(arg):
                found.update(dict.fromkeys((*arg.args, arg)))
        found[node] = None
    return list(found)


# --- kernels ----------------------------------------------------------------------------------------------------------
THREADS = "kernel_threads"
_SREG = ("tid.x", "ctaid.x", "ntid.x")
_STATE, _PART, _SHARED = "state", "part", "kept"


def threads_module(function: Function, target: Target, bits: int = 64, over: int | None = None) -> str:
    """LLVM module with `kernel_threads(ptr, i32 of_state, i32 of_element per array, ptr status, ptr any, i32 n)`.

    Args:
        function: computation of one thread.
        target: a GPU, or the CPU, on which one call loops over all states.
        bits: precision, 64 or 32.
        over: precision of the arrays of the kernel for which this is the fallback; None if this is not a fallback.
    """
    function, number = _without_lanes(fused(function), target), Lanes(1, bits)
    body, calls = _StateWriter(function, ThreadMemory(target, number, Lanes(1, over or bits))).text()
    entry = (_gpu_entry if target.is_gpu else _host_entry)(function, over is not None)
    return body + entry + preamble(calls, target, [number])


def _without_lanes(function: Function, target: Target) -> Function:
    """The function without SIMD lanes; columns are unrolled if that keeps the text short."""
    written_out = sum(len(columns.each.nodes()) * len(columns.rows[0]) for columns in function.columns)
    return expand(function) if written_out <= target.limits.written_out else without_lanes(function)


def plan(function: Function, target: Target, bits: int, taken: int = 0) -> Allocation:
    """Register allocation of a function, for the cheaper of two orders: as traced, and result by result.

    `taken` slots of shared memory are in use already.
    """
    written = function.nodes()
    orders = (written, results_first([x for x in function.values if isinstance(x, Expr)]))
    fast = target.fast_bytes * 8 // bits - taken
    limits = target.registers(bits), fast, target.limits.thread_part
    plans = (allocate(list(tasks(function, order)), *limits) for order in orders)
    return min(plans, key=lambda one: one.cost)


def tasks(function: Function, order: list[Expr]) -> Iterator[Task]:
    """Tasks in order: loads first, because outputs may alias inputs; outputs and guards as soon as possible."""
    leaving = {x.index for x in function.values if isinstance(x, Expr)}
    inputs = [node for name, size in function.inputs.items() for node in function.graph.vector(name, size)]
    there = {node.index for node in inputs}
    yield from (Task(StepKind.COMPUTE, node) for node in inputs)
    yield from (Task(StepKind.OUTPUT, node) for node in inputs if node.index in leaving)
    pairs: dict[int, list[Expr]] = {}  # sine and cosine of an angle are computed together
    for node in order:
        if node.op in (SIN, COS):
            pairs.setdefault(node.args[0].index, []).append(node)
    for first in order:
        for node in pairs[first.args[0].index] if first.op in (SIN, COS) else (first,):
            if node.index not in there and node.op is not CONST:
                there.add(node.index)
                yield Task(StepKind.COMPUTE, node)
                if node.index in leaving:
                    yield Task(StepKind.OUTPUT, node)


class _StateWriter:
    """Writer of `void @state(..., i64 k)`, the computation of state k."""

    def __init__(self, function: Function, memory: ThreadMemory) -> None:
        self.function, self.memory = function, memory
        self.target, self.number = memory.target, memory.number
        self.storage = ColumnStorage(function, self.target.fast_bytes * 8 // self.number.bits)
        self.plan = plan(function, self.target, self.number.bits, self.storage.fast)
        self.count = {  # slots per memory; the first ones belong to the columns
            True: self.storage.fast + self.plan.places[True],
            False: self.storage.slow + self.plan.places[False],
        }
        self.places: dict[int, list[tuple[str, int]]] = {}  # positions of results, by node
        for name, elements in function.outputs.items():
            for i, x in enumerate(elements):
                if isinstance(x, Expr):
                    self.places.setdefault(x.index, []).append((name, i))
        self.guards = {guard.index for guard in function.guards}

    def text(self) -> tuple[str, set[Call]]:
        """Text of all functions, and the elementary functions that they call."""
        parts = [self._part(k, steps) for k, steps in enumerate(self.plan.parts)]
        body = Body()
        memory = [self._memory(body, is_fast) for is_fast in (True, False)]
        given = ", ".join([*_parameters(self.function), "i64 %k", *memory])
        loops = column_loops(self.function, self.storage, self.memory)
        status = "0"
        for k in range(len(parts)):
            status = body.emit(f"or i32 {status}, {body.emit(f'call i32 @{_PART}{k}({given})')}")
        for loop, columns in zip(loops, self.function.columns, strict=True):
            status = body.emit(f"or i32 {status}, {loop.call(body, columns, self.storage, memory)}")
        byte = body.emit(f"trunc i32 {status} to i8")
        body.do(f"store i8 {byte}, ptr {body.element('%status', '%k', 'i8')}, align 1")
        with body.when(body.emit(f"icmp ne i32 {status}, 0")):
            body.emit(f"atomicrmw or ptr %any, i32 {status} monotonic")
            for name, shape in self.function.shapes.items():
                array = StridedAccess(body, f"out_{name}", self.number, self.memory.stored)
                with body.repeat(str(prod(shape))) as i:
                    array.store(i, self.number.number(nan))
        body.do("ret void")
        head = f"define internal void @{_STATE}({', '.join([*_parameters(self.function), 'i64 %k'])}) alwaysinline #0"
        texts = [self.storage.tables(self.memory), *(text for text, _ in parts)]
        texts += {loop.name: loop.text for loop in loops}.values()
        texts.append(f"{head} {{\n{body}\n}}\n")
        if self.target.is_gpu:
            size = max(1, self.count[True]) * GROUP
            texts.insert(
                0, f"@{_SHARED} = internal addrspace(3) global [{size} x {self.number.scalar}] undef, align 8\n"
            )
            texts.append(f"declare i32 @llvm.nvvm.read.ptx.sreg.{_SREG[0]}()\n")
        return "".join(texts), set().union(*(calls for _, calls in parts), *(loop.called for loop in loops))

    def _memory(self, body: Body, is_fast: bool) -> str:
        """Address of the first slot of this thread."""
        kind, scalar = self.memory.kind(is_fast), self.number.scalar
        if is_fast and self.target.is_gpu:
            thread = body.emit(f"zext i32 {body.emit(f'call i32 @llvm.nvvm.read.ptx.sreg.{_SREG[0]}()')} to i64")
            return f"{kind} {body.emit(f'getelementptr {scalar}, {kind} @{_SHARED}, i64 {thread}')}"
        memory = body.stack(f"[{max(1, self.count[is_fast])} x {scalar}]")
        return f"{kind} {body.emit(f'addrspacecast ptr {memory} to {kind}') if self.target.is_gpu else memory}"

    def _part(self, k: int, steps: list[Step]) -> tuple[str, set[Call]]:
        """Function `i32 @part(...)`, which returns a status."""
        body, function = Body(), self.function
        arrays = {x: StridedAccess(body, x, self.number, self.memory.stored) for x in _names(function)}
        emitter = Emitter(body, self.number, self.target, lambda name, i: arrays[f"in_{name}"].load(i))
        watch, failed = NotFinite(body, self.target), "false"
        if k == 0:
            for name, elements in function.outputs.items():
                for i, x in enumerate(elements):
                    if not isinstance(x, Expr):
                        arrays[f"out_{name}"].store(i, emitter.value(x))
            for x, slot in self.storage.constants:
                self.memory.spill(body, slot, emitter.value(x))
        for kind, node, place in steps:
            if place is not None and kind is StepKind.SPILL:
                self.memory.spill(body, self._after_columns(place), emitter.value(node))
            elif place is not None:
                emitter.names[node.index] = self.memory.reload(body, self._after_columns(place))
            elif kind is StepKind.COMPUTE:
                sines = len(emitter.sines)
                emitter.emit([node])
                for lanes, sine in emitter.sines[sines:]:
                    watch.watch(lanes, sine)
                if not node.args:
                    watch.watch(self.number, emitter.value(node))
            else:
                if node.index in self.guards:
                    failed = body.emit(f"or i1 {failed}, {guard_flag(emitter, node)}")
                for name, i in self.places.get(node.index, ()):
                    arrays[f"out_{name}"].store(i, emitter.value(node))
                for slot in self.storage.places.get(node.index, ()):
                    self.memory.spill(body, slot, emitter.value(node))
                if node.index in self.places:
                    watch.watch(self.number, emitter.value(node))
        body.do(f"ret i32 {status_of(body, either(body, watch.flags()), failed)}")
        inlined = "alwaysinline" if len(self.plan.parts) == 1 else "noinline"
        given = [*_parameters(function), "i64 %k", self.memory.parameters]
        return f"define internal i32 @{_PART}{k}({', '.join(given)}) {inlined} #0 {{\n{body}\n}}\n", emitter.called

    def _after_columns(self, place: SpillSlot) -> SpillSlot:
        return place._replace(number=place.number + (self.storage.fast if place.is_fast else self.storage.slow))


def _parameters(function: Function) -> list[str]:
    texts = [text for x in _names(function) for text in (f"ptr %{x}", f"i32 %{x}_of_state", f"i32 %{x}_of_element")]
    return [*texts, "ptr %status", "ptr %any"]


def _names(function: Function) -> list[str]:
    return [f"in_{name}" for name in function.inputs] + [f"out_{name}" for name in function.shapes]


def _call(body: Body, function: Function, is_fallback: bool) -> None:
    """Call the computation of state %k; a fallback kernel skips states whose status is 0."""
    call = f"call void @{_STATE}({', '.join([*_parameters(function), 'i64 %k'])})"
    if not is_fallback:
        body.do(call)
        return
    status = body.emit(f"load i8, ptr {body.element('%status', '%k', 'i8')}, align 1")
    with body.when(body.emit(f"icmp ne i8 {status}, 0")):
        body.do(call)


def _gpu_entry(function: Function, is_fallback: bool) -> str:
    body = Body()
    thread, block, size = (body.emit(f"call i32 @llvm.nvvm.read.ptx.sreg.{name}()") for name in _SREG)
    state = body.emit(f"add i32 {body.emit(f'mul i32 {block}, {size}')}, {thread}")
    with body.when(body.emit(f"icmp ult i32 {state}, %n")):
        body.lines.append(f"  %k = zext i32 {state} to i64")
        _call(body, function, is_fallback)
    body.do("ret void")
    declared = "".join(f"declare i32 @llvm.nvvm.read.ptx.sreg.{name}()\n" for name in _SREG[1:])
    head = f"define ptx_kernel void @{THREADS}({', '.join([*_parameters(function), 'i32 %n'])}) #0"
    return f"{declared}{head} {{\n{body}\n}}\n"


def _host_entry(function: Function, is_fallback: bool) -> str:
    body = Body()
    with body.repeat(body.emit("zext i32 %n to i64")) as state:
        body.lines.append(f"  %k = add i64 {state}, 0")
        _call(body, function, is_fallback)
    body.do("ret void")
    head = f"define void @{THREADS}({', '.join([*_parameters(function), 'i32 %n'])}) #0"
    return f"{head} {{\n{body}\n}}\n"
