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
from math import nan

from ada_dynamics.errors import CompileError
from ada_dynamics.expr.expand import expand
from ada_dynamics.expr.function import Function
from ada_dynamics.expr.graph import CONST, COS, SIN, Expr, live_nodes
from ada_dynamics.jit.emit import Call, Emitter, NotFinite, either, preamble
from ada_dynamics.jit.emit_kernel import guard_flag, status_of
from ada_dynamics.jit.fused import fused
from ada_dynamics.jit.keeping import Do, Place, Plan, Step, Task, keep
from ada_dynamics.jit.llvm_text import Body, Lanes
from ada_dynamics.jit.schedule import results_first
from ada_dynamics.jit.target import Target

THREADS = "kernel_threads"
GROUP = 64  # threads side by side: kernels use up to 255 of 65536 registers each, and small groups leave fewer unused
REGISTERS = {
    64: 106,
    32: 214,
}  # for numbers, by their bits; of 255 that a thread has, addresses and copies use the others
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
    function, number = expand(fused(function)), Lanes(1, bits)
    if function.columns:
        raise CompileError(f"kernel {function.name}: columns must be written out for threads")
    body, calls = _State(function, target, number, Lanes(1, over or bits)).text()
    entry = (_gpu_entry if target.is_gpu else _host_entry)(function, over is not None)
    return body + entry + preamble(calls, target, [number])


def plan(function: Function, target: Target, bits: int) -> Plan:
    """Where the numbers of a function are, in the better of two orders: as it was written, and result by result."""
    written = live_nodes([*(x for elements in function.outputs.values() for x in elements), *function.guards])
    results = [x for elements in function.outputs.values() for x in elements if isinstance(x, Expr)]
    orders = (written, results_first([*results, *function.guards]))
    fast = target.fast_bytes * 8 // bits
    plans = (keep(list(_tasks(function, order)), REGISTERS[bits], fast) for order in orders)
    return min(plans, key=lambda one: one.cost)


def _tasks(function: Function, order: list[Expr]) -> Iterator[Task]:
    """Inputs first: a result may lie where an input was. Results and conditions leave as soon as they are known."""
    leaving = {x.index for elements in function.outputs.values() for x in elements if isinstance(x, Expr)}
    leaving |= {guard.index for guard in function.guards}
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

    def __init__(self, function: Function, target: Target, number: Lanes, stored: Lanes) -> None:
        self.function, self.target, self.number, self.stored = function, target, number, stored
        self.plan = plan(function, target, number.bits)
        # LLVM's names of the two kinds of memory.
        self.kinds = (
            {True: "ptr addrspace(3)", False: "ptr addrspace(5)"}
            if target.is_gpu
            else dict.fromkeys((True, False), "ptr")
        )
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
        status = "0"
        for k in range(len(parts)):
            status = body.emit(f"or i32 {status}, {body.emit(f'call i32 @{_PART}{k}({given})')}")
        byte = body.emit(f"trunc i32 {status} to i8")
        body.do(f"store i8 {byte}, ptr {body.element('%status', '%k', 'i8')}, align 1")
        with body.when(body.emit(f"icmp ne i32 {status}, 0")):
            body.emit(f"atomicrmw or ptr %any, i32 {status} monotonic")
            for name, elements in self.function.outputs.items():
                array = _Strided(body, f"out_{name}", self.number, self.stored)
                with body.repeat(str(len(elements))) as i:
                    array.store(i, self.number.number(nan))
        body.do("ret void")
        head = f"define internal void @{_STATE}({', '.join([*_parameters(self.function), 'i64 %k'])}) alwaysinline #0"
        texts = [*(text for text, _ in parts), f"{head} {{\n{body}\n}}\n"]
        if self.target.is_gpu:
            room = max(1, self.plan.places[True]) * GROUP
            texts.insert(
                0, f"@{_SHARED} = internal addrspace(3) global [{room} x {self.number.scalar}] undef, align 8\n"
            )
            texts.append(f"declare i32 @llvm.nvvm.read.ptx.sreg.{_SREG[0]}()\n")
        return "".join(texts), set().union(*(calls for _, calls in parts))

    def _memory(self, body: Body, is_fast: bool) -> str:
        """Where this state's places of a kind begin."""
        kind, scalar = self.kinds[is_fast], self.number.scalar
        if is_fast and self.target.is_gpu:
            thread = body.emit(f"zext i32 {body.emit(f'call i32 @llvm.nvvm.read.ptx.sreg.{_SREG[0]}()')} to i64")
            return f"{kind} {body.emit(f'getelementptr {scalar}, {kind} @{_SHARED}, i64 {thread}')}"
        room = body.room(f"[{max(1, self.plan.places[is_fast])} x {scalar}]")
        return f"{kind} {body.emit(f'addrspacecast ptr {room} to {kind}') if self.target.is_gpu else room}"

    def _part(self, k: int, steps: list[Step]) -> tuple[str, set[Call]]:
        """`i32 @part(...)`: its status."""
        body, function = Body(), self.function
        arrays = {x: _Strided(body, x, self.number, self.stored) for x in _names(function)}
        emitter = Emitter(body, self.number, self.target, lambda name, i: arrays[f"in_{name}"].load(i))
        watch, failed = NotFinite(body, self.target), "false"
        if k == 0:
            for name, elements in function.outputs.items():
                for i, x in enumerate(elements):
                    if not isinstance(x, Expr):
                        arrays[f"out_{name}"].store(i, emitter.value(x))
        for do, node, place in steps:
            if place is not None:
                self._move(emitter, do, node, place)
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
                if node.index in self.places:
                    watch.watch(self.number, emitter.value(node))
        body.do(f"ret i32 {status_of(body, either(body, watch.flags()), failed)}")
        inlined = "alwaysinline" if len(self.plan.parts) == 1 else "noinline"
        given = [*_parameters(function), "i64 %k", f"{self.kinds[True]} %fast", f"{self.kinds[False]} %slow"]
        return f"define internal i32 @{_PART}{k}({', '.join(given)}) {inlined} #0 {{\n{body}\n}}\n", emitter.called

    def _move(self, emitter: Emitter, do: Do, node: Expr, place: Place) -> None:
        """To memory or back. Volatile: an assembler that keeps such numbers in registers after all runs out of them."""
        body, kind, number = emitter.body, self.kinds[place.is_fast], self.number
        first = "%fast" if place.is_fast else "%slow"
        # threads of a group lie side by side in what they share
        offset = place.number * (GROUP if place.is_fast and self.target.is_gpu else 1)
        address = body.emit(f"getelementptr {number.scalar}, {kind} {first}, i64 {offset}")
        align = f"align {number.bits // 8}"
        if do is Do.PUT:
            body.do(f"store volatile {number.real} {emitter.value(node)}, {kind} {address}, {align}")
        else:
            emitter.names[node.index] = body.emit(f"load volatile {number.real}, {kind} {address}, {align}")


def _parameters(function: Function) -> list[str]:
    texts = [text for x in _names(function) for text in (f"ptr %{x}", f"i32 %{x}_of_state", f"i32 %{x}_of_element")]
    return [*texts, "ptr %status", "ptr %any"]


def _names(function: Function) -> list[str]:
    return [f"in_{name}" for name in function.inputs] + [f"out_{name}" for name in function.shapes]


class _Strided:
    """Elements of one state of an array."""

    def __init__(self, body: Body, name: str, number: Lanes, stored: Lanes) -> None:
        self.body, self.number, self.stored = body, number, stored
        of_state = body.emit(f"sext i32 %{name}_of_state to i64")
        self.first = body.element(f"%{name}", body.emit(f"mul i64 %k, {of_state}"), stored.scalar)
        self.step = body.emit(f"sext i32 %{name}_of_element to i64")

    def _address(self, i: int | str) -> str:
        if i == 0:
            return self.first
        return self.body.element(self.first, self.body.emit(f"mul i64 {self.step}, {i}"), self.stored.scalar)

    def load(self, i: int) -> str:
        loaded = self.body.emit(f"load {self.stored.real}, ptr {self._address(i)}, align {self.stored.bits // 8}")
        return self._converted("fpext", self.stored, loaded, self.number)

    def store(self, i: int | str, value: str) -> None:
        value = self._converted("fptrunc", self.number, value, self.stored)
        self.body.do(f"store {self.stored.real} {value}, ptr {self._address(i)}, align {self.stored.bits // 8}")

    def _converted(self, how: str, of: Lanes, value: str, to: Lanes) -> str:
        return value if of == to else self.body.emit(f"{how} {of.real} {value} to {to.real}")


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
