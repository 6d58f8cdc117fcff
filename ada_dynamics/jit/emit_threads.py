# SPDX-License-Identifier: Apache-2.0
"""A Function as a kernel of threads, one state for each: for graphics processors, and in turn for the one at hand.

The body is the same text for all. Element i of array x of state k lies at `x + k of_state + i of_element`, counted in
numbers: columns, rows, or one state for all. Each state has a byte of status, as of `emit_kernel`; the bits of all are
or-ed into one word, which tells whether there is anything to look at. Results of a state with a status are all NaN.
A kernel that takes over from another one runs for the states that have a status already, and gives them a new one.

Numbers for which there is no register wait where `keeping` puts them: in memory that the threads of a group share, then
in the thread's own. Long functions are several functions of the code, one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import nan, prod

from ada_dynamics.expr.expand import expand, without_lanes
from ada_dynamics.expr.function import Function
from ada_dynamics.expr.graph import CONST, COS, SIN, Expr
from ada_dynamics.jit.emit import Call, Emitter, NotFinite, either, preamble
from ada_dynamics.jit.emit_kernel import guard_flag, status_of
from ada_dynamics.jit.emit_thread_columns import ColumnRooms, column_loops
from ada_dynamics.jit.fused import fused
from ada_dynamics.jit.keeping import Do, Place, Plan, Step, Task, keep
from ada_dynamics.jit.llvm_text import Body, Lanes
from ada_dynamics.jit.schedule import results_first
from ada_dynamics.jit.target import Target
from ada_dynamics.jit.thread_memory import GROUP, Strided, ThreadMemory

THREADS = "kernel_threads"
# PTX must be free of calls to anything, and its names are C's; registers are there by the thousand.
_SREG = ("tid.x", "ctaid.x", "ntid.x")
_STATE, _PART, _SHARED = "state", "part", "kept"


def threads_module(function: Function, target: Target, bits: int = 64, over: int | None = None) -> str:
    """Text with `kernel_threads(ptr, i32 of_state, i32 of_element of each array, ptr status, ptr any, i32 n)`.

    Args:
        function: what each thread computes.
        target: a graphics processor, or the host, on which one call takes all states in turn.
        bits: of the numbers, 64 or 32.
        over: bits of the arrays of another kernel, from which it takes over the states that have a status.
    """
    function, number = _without_lanes(fused(function), target), Lanes(1, bits)
    body, calls = _State(function, ThreadMemory(target, number, Lanes(1, over or bits))).text()
    entry = (_gpu_entry if target.is_gpu else _host_entry)(function, over is not None)
    return body + entry + preamble(calls, target, [number])


def _without_lanes(function: Function, target: Target) -> Function:
    """Each number by itself, and columns written out where that is no long text."""
    written_out = sum(len(columns.each.nodes()) * len(columns.rows[0]) for columns in function.columns)
    return expand(function) if written_out <= target.limits.written_out else without_lanes(function)


def plan(function: Function, target: Target, bits: int, taken: int = 0) -> Plan:
    """Where the numbers of a function are, in the better of two orders: as it was written, and result by result.

    So many places of fast memory are taken.
    """
    written = function.nodes()
    orders = (written, results_first([x for x in function.values if isinstance(x, Expr)]))
    fast = target.fast_bytes * 8 // bits - taken
    limits = target.registers(bits), fast, target.limits.thread_part
    plans = (keep(list(tasks(function, order)), *limits) for order in orders)
    return min(plans, key=lambda one: one.cost)


def tasks(function: Function, order: list[Expr]) -> Iterator[Task]:
    """Inputs first: a result may lie where an input was. Results and conditions leave as soon as they are known."""
    leaving = {x.index for x in function.values if isinstance(x, Expr)}
    inputs = [node for name, size in function.inputs.items() for node in function.graph.vector(name, size)]
    there = {node.index for node in inputs}
    yield from (Task(Do.COMPUTE, node) for node in inputs)
    yield from (Task(Do.DELIVER, node) for node in inputs if node.index in leaving)
    turns: dict[int, list[Expr]] = {}  # sine and cosine of an angle are computed together
    for node in order:
        if node.op in (SIN, COS):
            turns.setdefault(node.args[0].index, []).append(node)
    for first in order:
        for node in turns[first.args[0].index] if first.op in (SIN, COS) else (first,):
            if node.index not in there and node.op is not CONST:
                there.add(node.index)
                yield Task(Do.COMPUTE, node)
                if node.index in leaving:
                    yield Task(Do.DELIVER, node)


class _State:
    """`void @state(..., i64 k)`: everything of state k."""

    def __init__(self, function: Function, memory: ThreadMemory) -> None:
        self.function, self.memory = function, memory
        self.target, self.number = memory.target, memory.number
        self.rooms = ColumnRooms(function, self.target.fast_bytes * 8 // self.number.bits)
        self.plan = plan(function, self.target, self.number.bits, self.rooms.fast)
        self.count = {  # of places; those of columns come first
            True: self.rooms.fast + self.plan.places[True],
            False: self.rooms.slow + self.plan.places[False],
        }
        self.places: dict[int, list[tuple[str, int]]] = {}  # of results, by their nodes
        for name, elements in function.outputs.items():
            for i, x in enumerate(elements):
                if isinstance(x, Expr):
                    self.places.setdefault(x.index, []).append((name, i))
        self.guards = {guard.index for guard in function.guards}

    def text(self) -> tuple[str, set[Call]]:
        """All of it, and the functions that it calls."""
        parts = [self._part(k, steps) for k, steps in enumerate(self.plan.parts)]
        body = Body()
        memory = [self._memory(body, is_fast) for is_fast in (True, False)]
        given = ", ".join([*_parameters(self.function), "i64 %k", *memory])
        loops = column_loops(self.function, self.rooms, self.memory)
        status = "0"
        for k in range(len(parts)):
            status = body.emit(f"or i32 {status}, {body.emit(f'call i32 @{_PART}{k}({given})')}")
        for loop, columns in zip(loops, self.function.columns, strict=True):
            status = body.emit(f"or i32 {status}, {loop.call(body, columns, self.rooms, memory)}")
        byte = body.emit(f"trunc i32 {status} to i8")
        body.do(f"store i8 {byte}, ptr {body.element('%status', '%k', 'i8')}, align 1")
        with body.when(body.emit(f"icmp ne i32 {status}, 0")):
            body.emit(f"atomicrmw or ptr %any, i32 {status} monotonic")
            for name, shape in self.function.shapes.items():
                array = Strided(body, f"out_{name}", self.number, self.memory.stored)
                with body.repeat(str(prod(shape))) as i:
                    array.store(i, self.number.number(nan))
        body.do("ret void")
        head = f"define internal void @{_STATE}({', '.join([*_parameters(self.function), 'i64 %k'])}) alwaysinline #0"
        texts = [self.rooms.tables(self.memory), *(text for text, _ in parts)]
        texts += {loop.name: loop.text for loop in loops}.values()
        texts.append(f"{head} {{\n{body}\n}}\n")
        if self.target.is_gpu:
            room = max(1, self.count[True]) * GROUP
            texts.insert(
                0, f"@{_SHARED} = internal addrspace(3) global [{room} x {self.number.scalar}] undef, align 8\n"
            )
            texts.append(f"declare i32 @llvm.nvvm.read.ptx.sreg.{_SREG[0]}()\n")
        return "".join(texts), set().union(*(calls for _, calls in parts), *(loop.called for loop in loops))

    def _memory(self, body: Body, is_fast: bool) -> str:
        """Where this state's places of a kind begin."""
        kind, scalar = self.memory.kind(is_fast), self.number.scalar
        if is_fast and self.target.is_gpu:
            thread = body.emit(f"zext i32 {body.emit(f'call i32 @llvm.nvvm.read.ptx.sreg.{_SREG[0]}()')} to i64")
            return f"{kind} {body.emit(f'getelementptr {scalar}, {kind} @{_SHARED}, i64 {thread}')}"
        room = body.room(f"[{max(1, self.count[is_fast])} x {scalar}]")
        return f"{kind} {body.emit(f'addrspacecast ptr {room} to {kind}') if self.target.is_gpu else room}"

    def _part(self, k: int, steps: list[Step]) -> tuple[str, set[Call]]:
        """`i32 @part(...)`: its status."""
        body, function = Body(), self.function
        arrays = {x: Strided(body, x, self.number, self.memory.stored) for x in _names(function)}
        emitter = Emitter(body, self.number, self.target, lambda name, i: arrays[f"in_{name}"].load(i))
        watch, failed = NotFinite(body, self.target), "false"
        if k == 0:
            for name, elements in function.outputs.items():
                for i, x in enumerate(elements):
                    if not isinstance(x, Expr):
                        arrays[f"out_{name}"].store(i, emitter.value(x))
            for x, room in self.rooms.constants:
                self.memory.put(body, room, emitter.value(x))
        for do, node, place in steps:
            if place is not None and do is Do.PUT:
                self.memory.put(body, self._after_columns(place), emitter.value(node))
            elif place is not None:
                emitter.names[node.index] = self.memory.fetch(body, self._after_columns(place))
            elif do is Do.COMPUTE:
                sines = len(emitter.sines)
                emitter.emit([node])
                for kind, sine in emitter.sines[sines:]:
                    watch.watch(kind, sine)
                if not node.args:
                    watch.watch(self.number, emitter.value(node))
            else:
                if node.index in self.guards:
                    failed = body.emit(f"or i1 {failed}, {guard_flag(emitter, node)}")
                for name, i in self.places.get(node.index, ()):
                    arrays[f"out_{name}"].store(i, emitter.value(node))
                for room in self.rooms.places.get(node.index, ()):
                    self.memory.put(body, room, emitter.value(node))
                if node.index in self.places:
                    watch.watch(self.number, emitter.value(node))
        body.do(f"ret i32 {status_of(body, either(body, watch.flags()), failed)}")
        inlined = "alwaysinline" if len(self.plan.parts) == 1 else "noinline"
        given = [*_parameters(function), "i64 %k", self.memory.parameters]
        return f"define internal i32 @{_PART}{k}({', '.join(given)}) {inlined} #0 {{\n{body}\n}}\n", emitter.called

    def _after_columns(self, place: Place) -> Place:
        return place._replace(number=place.number + (self.rooms.fast if place.is_fast else self.rooms.slow))


def _parameters(function: Function) -> list[str]:
    texts = [text for x in _names(function) for text in (f"ptr %{x}", f"i32 %{x}_of_state", f"i32 %{x}_of_element")]
    return [*texts, "ptr %status", "ptr %any"]


def _names(function: Function) -> list[str]:
    return [f"in_{name}" for name in function.inputs] + [f"out_{name}" for name in function.shapes]


def _call(body: Body, function: Function, takes_over: bool) -> None:
    """Everything of state %k, or nothing where another kernel has done it."""
    call = f"call void @{_STATE}({', '.join([*_parameters(function), 'i64 %k'])})"
    if not takes_over:
        body.do(call)
        return
    status = body.emit(f"load i8, ptr {body.element('%status', '%k', 'i8')}, align 1")
    with body.when(body.emit(f"icmp ne i8 {status}, 0")):
        body.do(call)


def _gpu_entry(function: Function, takes_over: bool) -> str:
    body = Body()
    thread, block, size = (body.emit(f"call i32 @llvm.nvvm.read.ptx.sreg.{name}()") for name in _SREG)
    state = body.emit(f"add i32 {body.emit(f'mul i32 {block}, {size}')}, {thread}")
    with body.when(body.emit(f"icmp ult i32 {state}, %n")):
        body.lines.append(f"  %k = zext i32 {state} to i64")
        _call(body, function, takes_over)
    body.do("ret void")
    declared = "".join(f"declare i32 @llvm.nvvm.read.ptx.sreg.{name}()\n" for name in _SREG[1:])
    head = f"define ptx_kernel void @{THREADS}({', '.join([*_parameters(function), 'i32 %n'])}) #0"
    return f"{declared}{head} {{\n{body}\n}}\n"


def _host_entry(function: Function, takes_over: bool) -> str:
    body = Body()
    with body.repeat(body.emit("zext i32 %n to i64")) as state:
        body.lines.append(f"  %k = add i64 {state}, 0")
        _call(body, function, takes_over)
    body.do("ret void")
    head = f"define void @{THREADS}({', '.join([*_parameters(function), 'i32 %n'])}) #0"
    return f"{head} {{\n{body}\n}}\n"
