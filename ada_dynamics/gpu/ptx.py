# SPDX-License-Identifier: Apache-2.0
"""LLVM text of GPU kernels with one thread per state, compiled to PTX or, for tests, to a loop on the CPU.

Element i of array x of state k is at `x + k of_state + i of_element`, counted in numbers, so that arrays of rows,
arrays of columns and a single state for all threads use the same code. Each state has a status byte (see `scalar`); the
bits of all states are or-ed into one word. All results of a state with a nonzero status are NaN. A fallback kernel runs
only for the states whose status is nonzero, and replaces their status.
"""

from __future__ import annotations

from math import nan, prod

from ada_dynamics.expr.evaluation import expand
from ada_dynamics.expr.function import Function
from ada_dynamics.expr.graph import Expr
from ada_dynamics.jit.expressions import Call, Emitter, NotFinite, either, preamble
from ada_dynamics.jit.fused import fused
from ada_dynamics.jit.lowering import Instructions, Lanes
from ada_dynamics.jit.scalar import guard_flag, status_of
from ada_dynamics.jit.target import Target

GROUP = 64  # threads per block: kernels use up to 255 of 65536 registers each, and small blocks leave fewer unused


class StridedAccess:
    """Loads and stores of the elements of state %k of an array."""

    def __init__(self, body: Instructions, name: str, number: Lanes, stored: Lanes) -> None:
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
_STATE = "state"


def threads_module(function: Function, target: Target, bits: int = 64, over: int | None = None) -> str:
    """LLVM module with `kernel_threads(ptr, i32 of_state, i32 of_element per array, ptr status, ptr any, i32 n)`.

    Args:
        function: computation of one thread.
        target: a GPU, or the CPU, on which one call loops over all states.
        bits: precision, 64 or 32.
        over: precision of the arrays of the kernel for which this is the fallback; None if this is not a fallback.
    """
    function, number = expand(fused(function)), Lanes(1, bits)
    state, calls = _state(function, target, number, Lanes(1, over or bits))
    entry = (_gpu_entry if target.is_gpu else _host_entry)(function, over is not None)
    return state + entry + preamble(calls, target, [number])


def _state(function: Function, target: Target, number: Lanes, stored: Lanes) -> tuple[str, set[Call]]:
    """`void @state(..., i64 k)`, the computation of state k, and the elementary functions that it calls.

    All inputs are loaded first, because outputs may alias inputs; results are stored as soon as possible.
    """
    body = Instructions()
    arrays = {x: StridedAccess(body, x, number, stored) for x in _names(function)}
    emitter = Emitter(body, number, target, lambda name, i: arrays[f"in_{name}"].load(i))
    watch, failed, sines = NotFinite(body, target), "false", 0
    places: dict[int, list[tuple[str, int]]] = {}  # positions of results, by node
    for name, elements in function.outputs.items():
        for i, x in enumerate(elements):
            if isinstance(x, Expr):
                places.setdefault(x.index, []).append((f"out_{name}", i))
    guards = {guard.index for guard in function.guards}

    def finish(node: Expr) -> None:
        nonlocal failed, sines
        for lanes, sine in emitter.sines[sines:]:
            watch.watch(lanes, sine)
        sines = len(emitter.sines)
        if node.index in guards:
            failed = body.emit(f"or i1 {failed}, {guard_flag(emitter, node)}")
        for name, i in places.get(node.index, ()):
            arrays[name].store(i, emitter.value(node))
        if node.index in places:
            watch.watch(number, emitter.value(node))

    inputs = [node for name, size in function.inputs.items() for node in function.graph.vector(name, size)]
    emitter.emit(inputs, lambda node: watch.watch(number, emitter.value(node)))
    emitter.emit(function.nodes(), finish)
    for name, elements in function.outputs.items():
        for i, x in enumerate(elements):
            if not isinstance(x, Expr):
                arrays[f"out_{name}"].store(i, emitter.value(x))
    status = status_of(body, either(body, watch.flags()), failed)
    byte = body.emit(f"trunc i32 {status} to i8")
    body.do(f"store i8 {byte}, ptr {body.element('%status', '%k', 'i8')}, align 1")
    with body.when(body.emit(f"icmp ne i32 {status}, 0")):
        body.emit(f"atomicrmw or ptr %any, i32 {status} monotonic")
        for name, shape in function.shapes.items():
            with body.repeat(str(prod(shape))) as element:
                arrays[f"out_{name}"].store(element, number.number(nan))
    body.do("ret void")
    head = f"define internal void @{_STATE}({', '.join([*_parameters(function), 'i64 %k'])}) alwaysinline #0"
    return f"{head} {{\n{body}\n}}\n", emitter.called


def _parameters(function: Function) -> list[str]:
    texts = [text for x in _names(function) for text in (f"ptr %{x}", f"i32 %{x}_of_state", f"i32 %{x}_of_element")]
    return [*texts, "ptr %status", "ptr %any"]


def _names(function: Function) -> list[str]:
    return [f"in_{name}" for name in function.inputs] + [f"out_{name}" for name in function.shapes]


def _call(body: Instructions, function: Function, is_fallback: bool) -> None:
    """Call the computation of state %k; a fallback kernel skips states whose status is 0."""
    call = f"call void @{_STATE}({', '.join([*_parameters(function), 'i64 %k'])})"
    if not is_fallback:
        body.do(call)
        return
    status = body.emit(f"load i8, ptr {body.element('%status', '%k', 'i8')}, align 1")
    with body.when(body.emit(f"icmp ne i8 {status}, 0")):
        body.do(call)


def _gpu_entry(function: Function, is_fallback: bool) -> str:
    body = Instructions()
    thread, block, size = (body.emit(f"call i32 @llvm.nvvm.read.ptx.sreg.{name}()") for name in _SREG)
    state = body.emit(f"add i32 {body.emit(f'mul i32 {block}, {size}')}, {thread}")
    with body.when(body.emit(f"icmp ult i32 {state}, %n")):
        body.lines.append(f"  %k = zext i32 {state} to i64")
        _call(body, function, is_fallback)
    body.do("ret void")
    declared = "".join(f"declare i32 @llvm.nvvm.read.ptx.sreg.{name}()\n" for name in _SREG)
    head = f"define ptx_kernel void @{THREADS}({', '.join([*_parameters(function), 'i32 %n'])}) #0"
    return f"{declared}{head} {{\n{body}\n}}\n"


def _host_entry(function: Function, is_fallback: bool) -> str:
    body = Instructions()
    with body.repeat(body.emit("zext i32 %n to i64")) as state:
        body.lines.append(f"  %k = add i64 {state}, 0")
        _call(body, function, is_fallback)
    body.do("ret void")
    head = f"define void @{THREADS}({', '.join([*_parameters(function), 'i32 %n'])}) #0"
    return f"{head} {{\n{body}\n}}\n"
