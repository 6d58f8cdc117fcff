# SPDX-License-Identifier: Apache-2.0
"""LLVM text of GPU kernels with one thread per state, compiled to PTX or, for tests, to a loop on the CPU.

Element i of array x of state k is at `x + k of_state + i of_element`, counted in numbers, so that arrays of rows,
arrays of columns and a single state for all threads use the same code. Each state has a status byte (see `scalar`); the
bits of all states are or-ed into one word. All results of a state with a nonzero status are NaN. A fallback kernel runs
only for the states whose status is nonzero, and replaces their status.

Values that do not fit in registers are spilled as planned by `register_allocation`, to shared memory first, then to
local memory. Long functions are split into several functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import nan, prod

from ada_dynamics.expr.evaluation import expand
from ada_dynamics.expr.function import Function
from ada_dynamics.expr.graph import CONST, COS, SIN, Expr
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
    def parameters(self) -> str:
        """Parameters of a function that uses both memories."""
        return f"{self.kind(True)} %fast, {self.kind(False)} %slow"

    def spill(self, body: Body, place: SpillSlot, value: str) -> None:
        """Spill a value. The store is volatile: otherwise ptxas keeps the value in a register and runs out of them."""
        body.do(f"store volatile {self.number.real} {value}, {self._address(body, place)}")

    def reload(self, body: Body, place: SpillSlot) -> str:
        """Reload a value."""
        return body.emit(f"load volatile {self.number.real}, {self._address(body, place)}")

    def _address(self, body: Body, place: SpillSlot) -> str:
        kind, first = self.kind(place.is_fast), "%fast" if place.is_fast else "%slow"
        # slots of the threads of a block alternate in shared memory
        step = GROUP if place.is_fast and self.target.is_gpu else 1
        address = body.emit(f"getelementptr {self.number.scalar}, {kind} {first}, i64 {step * place.number}")
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

    def _converted(self, how: str, of: Lanes, value: str, to: Lanes) -> str:
        return value if of == to else self.body.emit(f"{how} {of.real} {value} to {to.real}")


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
    function, number = expand(fused(function)), Lanes(1, bits)
    body, calls = _StateWriter(function, ThreadMemory(target, number, Lanes(1, over or bits))).text()
    entry = (_gpu_entry if target.is_gpu else _host_entry)(function, over is not None)
    return body + entry + preamble(calls, target, [number])


def plan(function: Function, target: Target, bits: int) -> Allocation:
    """Register allocation of a function, for the cheaper of two orders: as traced, and result by result."""
    written = function.nodes()
    orders = (written, results_first([x for x in function.values if isinstance(x, Expr)]))
    limits = target.registers(bits), target.fast_bytes * 8 // bits, target.limits.thread_part
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
        self.plan = plan(function, self.target, self.number.bits)
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
        status = "0"
        for k in range(len(parts)):
            status = body.emit(f"or i32 {status}, {body.emit(f'call i32 @{_PART}{k}({given})')}")
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
        texts = [*(text for text, _ in parts), f"{head} {{\n{body}\n}}\n"]
        if self.target.is_gpu:
            size = max(1, self.plan.places[True]) * GROUP
            texts.insert(
                0, f"@{_SHARED} = internal addrspace(3) global [{size} x {self.number.scalar}] undef, align 8\n"
            )
            texts.append(f"declare i32 @llvm.nvvm.read.ptx.sreg.{_SREG[0]}()\n")
        return "".join(texts), set().union(*(calls for _, calls in parts))

    def _memory(self, body: Body, is_fast: bool) -> str:
        """Address of the first slot of this thread."""
        kind, scalar = self.memory.kind(is_fast), self.number.scalar
        if is_fast and self.target.is_gpu:
            thread = body.emit(f"zext i32 {body.emit(f'call i32 @llvm.nvvm.read.ptx.sreg.{_SREG[0]}()')} to i64")
            return f"{kind} {body.emit(f'getelementptr {scalar}, {kind} @{_SHARED}, i64 {thread}')}"
        memory = body.stack(f"[{max(1, self.plan.places[is_fast])} x {scalar}]")
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
        for kind, node, place in steps:
            if place is not None and kind is StepKind.SPILL:
                self.memory.spill(body, place, emitter.value(node))
            elif place is not None:
                emitter.names[node.index] = self.memory.reload(body, place)
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
                if node.index in self.places:
                    watch.watch(self.number, emitter.value(node))
        body.do(f"ret i32 {status_of(body, either(body, watch.flags()), failed)}")
        inlined = "alwaysinline" if len(self.plan.parts) == 1 else "noinline"
        given = [*_parameters(function), "i64 %k", self.memory.parameters]
        return f"define internal i32 @{_PART}{k}({', '.join(given)}) {inlined} #0 {{\n{body}\n}}\n", emitter.called


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
