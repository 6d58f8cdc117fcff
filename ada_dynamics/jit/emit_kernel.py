# SPDX-License-Identifier: Apache-2.0
"""A Function as an LLVM function: for one state, or for W states in lanes.

Status word that every kernel returns: bit 0 an input or a result is not finite (or an angle is beyond the range of
sincos), bit 1 a guard fails. Arguments are pointers to doubles: the inputs, then the outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from ada_dynamics.expr.function import Function
from ada_dynamics.expr.graph import VAR, Expr, Scalar, live_nodes
from ada_dynamics.jit.emit import Call, Emitter, NotFinite, either, preamble
from ada_dynamics.jit.emit_columns import call_columns, columns_functions, needed
from ada_dynamics.jit.emit_runs import Run, runs, store_runs
from ada_dynamics.jit.fused import fused
from ada_dynamics.jit.lanes import padded
from ada_dynamics.jit.llvm_text import Body, Lanes
from ada_dynamics.jit.schedule import critical_first, hungriest_first
from ada_dynamics.jit.target import Target
from ada_dynamics.jit.telling import untold

SINGLE_VECTOR_BITS = 256
WIDE = 160  # results; of more, each leaves as soon as it is known
NOT_FINITE = 1
GUARD_FAILED = 2

SINGLE = "kernel"
REPEAT = "kernel_repeat"
LANES = "kernel_lanes"


def single_vector_bits(function: Function, vector_bits: int) -> int:
    """Width of vectors in the code for one state, where they are for sines, input checks and lanes of the state.

    The widest registers would slow the processor's clock, or wait for a unit that scalars do not use, for more than
    they save, unless there are as many lanes.
    """
    most = max((node.lanes for node in function.nodes()), default=1)
    return min(vector_bits, max(SINGLE_VECTOR_BITS, 64 * padded(most).width))


def single_module(function: Function, target: Target, checked: bool = True) -> str:
    """Text with `i32 @kernel(in..., out...)` and `i32 @kernel_repeat(in..., out..., i64 n, i64 repeats)`."""
    function = fused(function)
    target = replace(target, vector_bits=single_vector_bits(function, target.vector_bits))
    text, called, widths = kernel(function, target, Lanes(1), checked)
    return text + _repeat_loop(function) + preamble(called, target, map(Lanes, {1, *widths}))


def pointers_of(function: Function) -> list[str]:
    """Names of the arrays: inputs, then outputs."""
    return [f"%in_{name}" for name in function.inputs] + [f"%out_{name}" for name in function.shapes]


def parameters(function: Function, *more: str) -> str:
    """Of a function of the code that takes these arrays."""
    return ", ".join([*(f"ptr {pointer}" for pointer in pointers_of(function)), *more])


def kernel(function: Function, target: Target, lanes: Lanes, checked: bool) -> tuple[str, set[Call], set[int]]:
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
        for name, positions in untold(function).items():
            if positions:
                watch.watch_vector(f"%in_{name}", function.inputs[name])
    results = {name: runs(elements) for name, elements in function.outputs.items()}
    of_columns, called, widths = columns_functions(function, target, lanes)
    wanted = [*(run.value for one in results.values() for run in one), *needed(function), *function.guards]
    # All stores come after all loads, so that an output may lie where an input was.
    if not many and sum(map(len, function.outputs.values())) > WIDE:
        order = live_nodes([x for x in wanted if isinstance(x, Expr)])
        emitter.emit([node for node in order if node.op is VAR])
        emitter.emit(order, _Leaving(emitter, results, watch).leave)
        results = {name: [run for run in one if not isinstance(run.value, Expr)] for name, one in results.items()}
    else:
        emitter.emit(_order(wanted, many))
    flags = call_columns(body, function, emitter)
    status = status_word(function, results, emitter, watch, flags) if checked else "0"
    for name, one in results.items():
        store_runs(emitter, one, f"%out_{name}")
    body.do(f"ret i32 {status}")
    linkage, name = ("internal ", LANES) if many else ("", SINGLE)
    head = f"define {linkage}i32 @{name}({parameters(function)})"
    # LLVM does not align what it spills by itself: every other vector would straddle two lines of the cache
    aligned = f" alignstack({8 * lanes.width})" if lanes.width > 2 else ""
    return f"{of_columns}{head} noinline{aligned} #0 {{\n{body}\n}}\n", emitter.called | called, widths


class _Leaving:
    """Stores results as soon as they are known: of a thousand that wait, each costs the compiler as long as all do."""

    def __init__(self, emitter: Emitter, results: Mapping[str, Sequence[Run]], watch: NotFinite) -> None:
        self._emitter, self._watch = emitter, watch
        self._left: dict[int, list[tuple[str, Run]]] = {}
        for name, one in results.items():
            for run in one:
                if isinstance(run.value, Expr):
                    self._left.setdefault(run.value.index, []).append((f"%out_{name}", run))

    def leave(self, node: Expr) -> None:
        """Store what the node is the value of."""
        places = self._left.pop(node.index, ())
        for pointer, run in places:
            store_runs(self._emitter, [run], pointer)
        if places:
            kind = self._emitter.kind(node)
            self._watch.watch(kind, self._emitter.value(node, kind))


def _order(wanted: Sequence[Scalar], many: bool) -> list[Expr]:
    """Everything that is needed, operands first: what spills least, and for one state what can run side by side.

    Lanes of one state do run side by side; with them the order in which the algorithm was written is faster.
    """
    results = [value for value in wanted if isinstance(value, Expr)]
    if many:
        return hungriest_first(results)
    written = live_nodes(results)
    return critical_first(written if any(node.lanes > 1 for node in written) else hungriest_first(results))


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


def sizes_of(function: Function) -> list[int]:
    """Numbers of a state in each array."""
    return [*function.inputs.values(), *(prod(shape) for shape in function.shapes.values())]


def _repeat_loop(function: Function) -> str:
    """Run the single kernel `repeats` times over n rows: the loop that benchmarks time from outside."""
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
