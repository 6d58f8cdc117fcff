# SPDX-License-Identifier: Apache-2.0
"""Distance of kernels to the peak rate of one core, and to that of straight-line code of the same size.

Operations are additions and multiplications (two for a fused pair) with those of sines and cosines. The peak is a short
loop of independent fused multiply-adds in all lanes. Straight-line code of such instructions with an operand in memory,
as long as the code of the kernel, shows what fetching the code costs: beyond the first-level cache instructions come
from the next one.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache

import numpy as np
from llvmlite.binding import ObjectFileRef

import ada_dynamics as ada
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.computation import kernels_of
from ada_dynamics.expr import Function, cost
from ada_dynamics.expr.column_groups import in_groups
from ada_dynamics.expr.evaluation import without_lanes
from ada_dynamics.jit import Kernel, Target, batch, compiler, scalar
from ada_dynamics.jit.lowering import Instructions, Lanes
from ada_dynamics.robots import mechanisms
from benchmarks import robots
from benchmarks.closed import states_on_loops
from benchmarks.derivatives import FEW, REPEATS, never
from benchmarks.report import Report
from benchmarks.timing import Contender, Schedule, batch_by_address, measure, rows_in_turn

COUNT = 512  # states of a batch
CHAINS, SHORT = 14, 2**11  # values in registers; bytes of a loop that fits everywhere
PART = 2**14  # bytes of a function of straight-line code, whose compile time is quadratic
OPERANDS = 64  # vectors in memory that the instructions of straight-line code have as operands
INSTRUCTION = {1: 9, 2: 9, 4: 9, 8: 7}  # bytes of such a fused multiply-add on x86, by its lanes
INSTRUCTIONS = 2_000_000  # of a call
ROBOTS = ("pa10", "humanoid", "stewart", "two_feet")
ONE, BATCH, PEAK, SAME = "one state", "batch", "peak", "as long as "


def run(report: Report, schedule: Schedule, quick: bool) -> None:
    """Forward dynamics and its derivatives, one state and batches."""
    report.begin("flops", "operations per time against the peak of one core")
    rows: list[list[object]] = []
    for name in ROBOTS[:1] if quick else ROBOTS:
        model, states = _robot(name)
        dynamics = ada.Dynamics(model)
        dynamics.forward_derivatives(*(x[0] for x in states))
        kernels = kernels_of(dynamics)
        known = {"forward": kernels.forward(False), "derivatives": kernels.get("forward_derivatives", never)}
        for quantity, kernel in known.items():
            rows += _measured(f"{name}: {quantity}", kernel, states, schedule)
    columns = ["", "operations", "kB", "us", "GFlop/s", "peak / this", "same size / this"]
    report.table("operations, size of the code, and rates of one core", columns, rows)


def _robot(name: str) -> tuple[ada.Model, tuple[Array, Array, Array]]:
    if name in ("pa10", "humanoid"):
        model = robots.pa10() if name == "pa10" else robots.humanoid()
        return model, robots.random_states(model, COUNT)
    model, start = mechanisms.stewart() if name == "stewart" else robots.of_catalogue(name)
    q, v, tau = (np.resize(x, (COUNT, x.shape[1])) for x in states_on_loops(ada.Dynamics(model), start, 0.1, FEW))
    return model, (q, v, tau)


def _measured(title: str, kernel: Kernel, states: tuple[Array, Array, Array], schedule: Schedule) -> list[list[object]]:
    function, target = kernel.function, Target.host()
    work = {ONE: _work(function), BATCH: _work(in_groups(without_lanes(function)))}
    widest = target.lanes if function.columns else max(node.lanes for node in function.nodes())
    codes = {ONE: (_bytes(scalar.module(function, target), target), widest)}
    codes[BATCH] = _bytes(batch.module(function, target), target), target.lanes
    contenders = [
        rows_in_turn(ONE, kernel, [x[:FEW] for x in states], REPEATS),
        batch_by_address(BATCH, kernel, states, "rows"),
        _straight(PEAK, SHORT, target.lanes),
        *(_straight(SAME + label, 2 ** (size - 1).bit_length(), lanes) for label, (size, lanes) in codes.items()),
    ]
    times = measure(contenders, schedule)
    rates = {label: 1e-9 / times.median(label) for label in times.labels}
    rows: list[list[object]] = []
    for label, (size, _) in codes.items():
        rate = work[label] * rates[label]
        shares = [rates[other] / rate for other in (PEAK, SAME + label)]
        rows.append([f"{title}, {label}", work[label], size / 1024.0, 1e6 * times.median(label), rate, *shares])
    return rows


def _work(function: Function) -> int:
    return cost(function).work + sum(one.count * cost(one.each).work for one in function.columns)


def _bytes(text: str, target: Target) -> int:
    code = compiler.compile_text(text, target, level=0, effort=1)
    return sum(section.size() for section in ObjectFileRef.from_data(code).sections() if section.is_text())


@lru_cache
def _straight(label: str, size: int, lanes: int) -> Contender:
    """A loop over so many bytes of independent multiply-adds, in parts; a "state" is one operation in one lane."""
    target, parts = Target.host(), max(1, size // PART)
    count = min(size, PART) // INSTRUCTION[lanes]
    turns = max(1, INSTRUCTIONS // (parts * count))
    body, texts = Instructions(), [_part(k, count, Lanes(lanes), label != PEAK) for k in range(parts)]
    with body.repeat("%turns"):
        for k in range(parts):
            body.do(f"call void @part_{k}(ptr %out)")
    texts.append(f"define void @loop(ptr %out, i64 %turns) #0 {{\n{body}\n  ret void\n}}\n")
    real, suffix = Lanes(lanes).real, Lanes(lanes).suffix
    texts.append(f"declare {real} @llvm.fma.{suffix}({real}, {real}, {real})\n")
    texts.append(f"attributes #0 = {{ {target.function_attributes} }}\n")
    code = compiler.compile_text("".join(texts), target, level=0, effort=1)
    library, out = compiler.load(code, ["loop"]), np.full((CHAINS + OPERANDS) * lanes, 0.999)
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(library.address("loop"))
    names = {"f": function, "out": out.ctypes.data, "turns": turns, "keep": (library, out)}
    return Contender(label, "f(out, turns)", names, 2 * lanes * count * parts * turns)


def _part(k: int, count: int, lanes: Lanes, with_memory: bool) -> str:
    body, real, factor = Instructions(), lanes.real, lanes.number(0.999)
    now = [body.load(real, "%out", i * lanes.width) for i in range(CHAINS)]
    for i in range(count):
        if with_memory:
            factor = body.load(real, "%out", (CHAINS + i % OPERANDS) * lanes.width)
        operands = f"{real} {now[i % CHAINS]}, {real} {factor}, {real} {lanes.number(0.001)}"
        now[i % CHAINS] = body.emit(f"call {real} @llvm.fma.{lanes.suffix}({operands})")
    for i, x in enumerate(now):
        body.store(real, x, "%out", i * lanes.width)
    return f"define internal void @part_{k}(ptr %out) noinline #0 {{\n{body}\n  ret void\n}}\n"
