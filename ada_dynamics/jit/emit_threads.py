# SPDX-License-Identifier: Apache-2.0
"""A Function as a kernel of threads, one state for each: for graphics processors, and in turn for the one at hand.

The body is the same text for all. Element i of array x of state k lies at `x + k of_state + i of_element`, counted in
numbers: columns, rows, or one state for all. Each state has a byte of status, as of `emit_kernel`; the bits of all are
or-ed into one word, which tells whether there is anything to look at.
"""

from __future__ import annotations

from ada_dynamics.errors import CompileError
from ada_dynamics.expr.expand import expand
from ada_dynamics.expr.function import Function
from ada_dynamics.expr.graph import live_nodes
from ada_dynamics.jit.emit import Call, Emitter, NotFinite, preamble
from ada_dynamics.jit.emit_kernel import status_word
from ada_dynamics.jit.emit_runs import Run
from ada_dynamics.jit.fused import fused
from ada_dynamics.jit.llvm_text import Body, Lanes
from ada_dynamics.jit.target import Target

THREADS = "kernel_threads"
# PTX must be free of calls to anything, and its names are C's; registers are there by the thousand.
_SREG = ("tid.x", "ctaid.x", "ntid.x")
_STATE = "state"


def threads_module(function: Function, target: Target, bits: int = 64) -> str:
    """Text with `kernel_threads(ptr, i32 of_state, i32 of_element of each array, ptr status, ptr any, i32 n)`.

    Args:
        function: what each thread computes.
        target: a graphics processor, or the host, on which one call takes all states in turn.
        bits: of the numbers, 64 or 32.
    """
    function, number = expand(fused(function)), Lanes(1, bits)
    if function.columns:
        raise CompileError(f"kernel {function.name}: columns must be written out for threads")
    body, calls = _state(function, target, number)
    entry = _gpu_entry(function) if target.is_gpu else _host_entry(function)
    return body + entry + preamble(calls, target, [number])


def _parameters(function: Function) -> list[str]:
    arrays = [f"in_{name}" for name in function.inputs] + [f"out_{name}" for name in function.shapes]
    texts = [text for x in arrays for text in (f"ptr %{x}", f"i32 %{x}_of_state", f"i32 %{x}_of_element")]
    return [*texts, "ptr %status", "ptr %any"]


def _state(function: Function, target: Target, number: Lanes) -> tuple[str, set[Call]]:
    """`void @state(..., i64 k)`: everything of state k."""
    body = Body()
    arrays = {x: _Strided(body, x, number) for x in _names(function)}
    emitter = Emitter(body, number, target, lambda name, i: arrays[f"in_{name}"].load(i))
    watch = NotFinite(body, target)
    for name, size in function.inputs.items():
        for node in function.graph.vector(name, size):
            emitter.emit([node])
            watch.watch(number, emitter.value(node))
    results = {name: [Run(i, x) for i, x in enumerate(elements)] for name, elements in function.outputs.items()}
    emitter.emit(live_nodes([*(run.value for one in results.values() for run in one), *function.guards]))
    status = status_word(function, results, emitter, watch, [])
    # All stores come after all loads, so that an output may lie where an input was.
    for name, one in results.items():
        for run in one:
            arrays[f"out_{name}"].store(run.position, emitter.value(run.value))
    body.do(f"store i8 {body.emit(f'trunc i32 {status} to i8')}, ptr {body.element('%status', '%k', 'i8')}, align 1")
    with body.when(body.emit(f"icmp ne i32 {status}, 0")):
        body.emit(f"atomicrmw or ptr %any, i32 {status} monotonic")
    body.do("ret void")
    head = f"define internal void @{_STATE}({', '.join([*_parameters(function), 'i64 %k'])}) alwaysinline #0"
    return f"{head} {{\n{body}\n}}\n", emitter.called


def _names(function: Function) -> list[str]:
    return [f"in_{name}" for name in function.inputs] + [f"out_{name}" for name in function.shapes]


class _Strided:
    """Elements of one state of an array."""

    def __init__(self, body: Body, name: str, number: Lanes) -> None:
        self.body, self.number = body, number
        of_state = body.emit(f"sext i32 %{name}_of_state to i64")
        self.first = body.element(f"%{name}", body.emit(f"mul i64 %k, {of_state}"), number.scalar)
        self.step = body.emit(f"sext i32 %{name}_of_element to i64")

    def _address(self, i: int) -> str:
        if i == 0:
            return self.first
        return self.body.element(self.first, self.body.emit(f"mul i64 {self.step}, {i}"), self.number.scalar)

    def load(self, i: int) -> str:
        return self.body.emit(f"load {self.number.real}, ptr {self._address(i)}, align {self.number.bits // 8}")

    def store(self, i: int, value: str) -> None:
        self.body.do(f"store {self.number.real} {value}, ptr {self._address(i)}, align {self.number.bits // 8}")


def _call(function: Function) -> str:
    return f"call void @{_STATE}({', '.join([*_parameters(function), 'i64 %k'])})"


def _gpu_entry(function: Function) -> str:
    body = Body()
    thread, block, size = (body.emit(f"call i32 @llvm.nvvm.read.ptx.sreg.{name}()") for name in _SREG)
    state = body.emit(f"add i32 {body.emit(f'mul i32 {block}, {size}')}, {thread}")
    with body.when(body.emit(f"icmp ult i32 {state}, %n")):
        body.lines.append(f"  %k = zext i32 {state} to i64")
        body.do(_call(function))
    body.do("ret void")
    declared = "".join(f"declare i32 @llvm.nvvm.read.ptx.sreg.{name}()\n" for name in _SREG)
    head = f"define ptx_kernel void @{THREADS}({', '.join([*_parameters(function), 'i32 %n'])}) #0"
    return f"{declared}{head} {{\n{body}\n}}\n"


def _host_entry(function: Function) -> str:
    body = Body()
    with body.repeat(body.emit("zext i32 %n to i64")) as state:
        body.lines.append(f"  %k = add i64 {state}, 0")
        body.do(_call(function))
    body.do("ret void")
    head = f"define void @{THREADS}({', '.join([*_parameters(function), 'i32 %n'])}) #0"
    return f"{head} {{\n{body}\n}}\n"
