# SPDX-License-Identifier: Apache-2.0
"""The rates that this processor reaches at most, measured, not taken from a data sheet.

Chains of dependent operations side by side, as many as the registers hold, so that every unit always has something to
do. A processor may have other units for additions than for products: each mixture of operations has a rate of its own.
Clocks change with what a machine does: peaks are contenders, timed in turn with the kernels beside them.
"""

from __future__ import annotations

import ctypes
import timeit
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ada_dynamics import expr
from ada_dynamics.expr import Scalar
from ada_dynamics.expr.graph import ADD, COS, FMA, MUL, NEG, REC, SELECT, SIN, SQRT, SUB
from ada_dynamics.jit import Kernel, Signature, Target
from ada_dynamics.jit.compiler import compile_text, load
from ada_dynamics.jit.expressions import multiply_add, preamble
from ada_dynamics.jit.lowering import Body, Lanes
from benchmarks.timing import CLOCK, Contender

CHAINS = 14  # with two constants in 16 registers; a unit needs four or five of them, and there are two or three
SLOTS = 16  # operations of a chain in one turn, which a mixture is rounded to
TURNS = 2000
STEPS = 128  # of what waits for itself
REPEATS = 500  # per call, so that the call itself does not count
PICO = 1e12
Outputs = dict[str, tuple[Scalar, ...]]


class Mixture(NamedTuple):
    """How many of each kind."""

    additions: int
    products: int
    fused: int

    @property
    def total(self) -> int:
        """Of all kinds."""
        return sum(self)

    def pattern(self) -> list[str]:
        """SLOTS of them, each kind spread evenly."""
        wanted = {kind: count / self.total for kind, count in zip((ADD, MUL, FMA), self, strict=True)}
        given = dict.fromkeys(wanted, 0)
        pattern = []
        for slot in range(SLOTS):
            late = max(wanted, key=lambda kind: wanted[kind] * (slot + 1) - given[kind])
            given[late] += 1
            pattern.append(late)
        return pattern


def at_best_rate(label: str, mixture: Mixture, lanes: int) -> Contender:
    """So many operations, in each of some lanes; the time is that of one lane."""
    return _loop(label, mixture.pattern(), CHAINS, lanes, mixture.total)


def best_rate(mixture: Mixture, seconds: float) -> float:
    """Of operations that wait for none other, how many begin in a picosecond; a mixture that suits the units."""
    loop = at_best_rate("", mixture, 1)
    timer = timeit.Timer(loop.statement, globals=dict(loop.names), timer=CLOCK)
    return mixture.total * loop.states / (_best(timer, seconds) * PICO)


def divisions(label: str, count: int, lanes: int) -> Contender:
    """So many divisions that wait for none other, in each of some lanes; the time is that of one lane."""
    return _loop(label, [REC], CHAINS, lanes, count)


def one_by_one(label: str, count: float) -> Contender:
    """So many fused multiplications and additions, each of which waits for the one before."""
    return _loop(label, [FMA] * SLOTS, 1, 1, count)


def latencies(seconds: float) -> dict[str, int]:
    """Time of each operation where it waits for the one before [ps]."""
    addition = _latency("addition", lambda x, a: x + a, seconds)
    division = _latency("division", lambda x, a: 1.0 / (x + a), seconds)  # without the addition it folds away
    sine = _latency("sine", lambda x, a: expr.sin(x), seconds)
    return {
        ADD: addition,
        SUB: addition,
        NEG: 0,
        SELECT: addition,
        FMA: _latency("multiply_add", lambda x, a: x * a + a, seconds),
        MUL: _latency("multiplication", lambda x, a: x * a, seconds),
        REC: max(division - addition, 0),
        SQRT: _latency("root", lambda x, a: expr.sqrt(x), seconds),
        SIN: sine,
        COS: sine,
    }


def _loop(label: str, pattern: list[str], chains: int, lanes: int, wanted: float) -> Contender:
    """`pattern` on so many numbers, again and again."""
    target = Target.host()
    library = load(compile_text(_loop_text(pattern, chains, Lanes(lanes), target), target), ["loop"])
    out = np.full(chains * lanes, 2.0)
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(library.address("loop"))
    names = {"f": function, "out": ctypes.c_void_p(out.ctypes.data), "turns": TURNS, "keep": (library, out)}
    return Contender(label, "f(out, turns)", names, TURNS * len(pattern) * chains * lanes / max(wanted, 1e-9))


def _loop_text(pattern: list[str], chains: int, lanes: Lanes, target: Target) -> str:
    body, real = Body(), lanes.real
    places = [i * lanes.width for i in range(chains)]
    values = [body.variable(real, body.load(real, "%out", place)) for place in places]  # nothing LLVM could fold
    a, b = lanes.number(0.999), lanes.number(0.001)

    def step(kind: str, x: str) -> str:
        if kind is FMA:
            return multiply_add(body, lanes, target, x, a, b)
        if kind is REC:
            return body.emit(f"fdiv {real} {a}, {x}")
        return body.emit(f"fadd {real} {x}, {b}" if kind is ADD else f"fmul {real} {x}, {a}")

    with body.repeat("%turns"):
        now = [value.get() for value in values]
        for kind in pattern:
            now = [step(kind, x) for x in now]
        for value, x in zip(values, now, strict=True):
            value.set(x)
    for place, value in zip(places, values, strict=True):
        body.store(real, value.get(), "%out", place)
    body.do("ret void")
    return f"define void @loop(ptr %out, i64 %turns) #0 {{\n{body}\n}}\n{preamble([], target, [lanes])}"


def _latency(name: str, step: Callable[[Scalar, Scalar], Scalar], seconds: float) -> int:
    def body(x: tuple[Scalar, ...], a: tuple[Scalar, ...]) -> Outputs:
        value = x[0]
        for _ in range(STEPS):
            value = step(value, a[0])
        return {"y": (value,)}

    function = expr.trace(f"{name}_{STEPS}", {"x": 1, "a": 1}, body)
    kernel = Kernel(Signature.of(function), lambda: function, f"benchmarks {name}", Target.host(), checked=False)
    # Each run begins with the result of the one before: else the processor would work on several at once.
    x, a = np.ones(1), np.ones(1)
    kind = ctypes.CFUNCTYPE(ctypes.c_int, *(ctypes.c_void_p,) * 3, *(ctypes.c_int64,) * 2)
    repeat = kind(kernel.native_address("kernel_repeat"))
    given = (x.ctypes.data, a.ctypes.data, x.ctypes.data, 1, REPEATS)
    taken = _best(timeit.Timer(lambda: repeat(*given), timer=CLOCK), seconds)
    return round(taken / REPEATS / STEPS * PICO)


def _best(timer: timeit.Timer, seconds: float) -> float:
    """Shortest time of a run: a peak is what the processor does undisturbed."""
    timer.timeit(1)
    count = max(1, round(0.005 * seconds / timer.timeit(1)))  # a millisecond: seldom disturbed as a whole
    return min(timer.repeat(repeat=200, number=count)) / count
