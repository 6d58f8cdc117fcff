# SPDX-License-Identifier: Apache-2.0
"""The rates that this processor reaches at most, measured with our own compiler, not taken from a data sheet."""

from __future__ import annotations

import ctypes
import timeit
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ada_dynamics import expr
from ada_dynamics.expr import Scalar
from ada_dynamics.expr.graph import ADD, COS, FMA, MUL, NEG, REC, SELECT, SIN, SQRT, SUB
from ada_dynamics.jit import Kernel, Signature, Target
from benchmarks.native import batch_by_address
from benchmarks.timing import CLOCK, timer_of

CHAINS = (8, 12, 16, 24)  # independent chains: enough to fill the pipes, few enough for the registers
# Short enough that several chains are under way at once, whatever order the code has; long, that loads do not count.
LENGTHS = (16, 32)
STEPS = 128  # of what waits for itself
REPEATS = 500  # per call, so that the call itself does not count
PICO = 1e12
Outputs = dict[str, tuple[Scalar, ...]]


@dataclass(frozen=True)
class Peaks:
    """Best rates of one core [Gflop/s] and times of dependent operations [ps]."""

    scalar: float  # multiplications and additions
    scalar_fma: float  # the same fused
    vector: float
    vector_fma: float
    latency: Mapping[str, int]


def measure_peaks(seconds: float) -> Peaks:
    """Try several numbers of chains, keep the best rate of each kind."""
    plain, fused = replace(Target.host(), fma=False), Target.host()
    rates = []
    for target in (plain, fused):
        kernels = [(_chains(n, length, target), n, 2.0 * n * length) for n in CHAINS for length in LENGTHS]
        rates.append(max(_scalar_rate(*one, seconds) for one in kernels))
        rates.append(max(_vector_rate(*one, seconds) for one in kernels))
    return Peaks(rates[0], rates[2], rates[1], rates[3], _latencies(seconds))


def _kernel(name: str, inputs: Mapping[str, int], body: Callable[..., Outputs], t: Target) -> Kernel:
    function = expr.trace(name, inputs, body)
    return Kernel(Signature.of(function), lambda: function, f"benchmarks {name}", t, checked=False)


def _chains(n: int, length: int, target: Target) -> Kernel:
    """N chains of x -> x a + b, side by side."""

    def body(x: tuple[Scalar, ...], a: tuple[Scalar, ...]) -> Outputs:
        values = list(x)
        for _ in range(length):
            values = [value * a[0] + a[1] for value in values]
        return {"y": tuple(values)}

    return _kernel(f"chains_{n}_{length}", {"x": n, "a": 2}, body, target)


def _scalar_rate(kernel: Kernel, n: int, flops: float, seconds: float) -> float:
    x, a = np.ones((1, n)), np.array([[0.999, 0.001]])
    taken = _best(timeit.Timer(lambda: kernel.native_repeat(x, a, repeats=REPEATS), timer=CLOCK), seconds) / REPEATS
    return flops / taken * 1e-9


def _vector_rate(kernel: Kernel, n: int, flops: float, seconds: float) -> float:
    count = 64 * kernel.backend.lanes
    x, a = np.ones((count, n)), np.tile([0.999, 0.001], (count, 1))
    contender = batch_by_address("", kernel, (x, a))
    taken = _best(timer_of(contender), seconds)
    return flops * count / taken * 1e-9


def _latencies(seconds: float) -> dict[str, int]:
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


def _latency(name: str, step: Callable[[Scalar, Scalar], Scalar], seconds: float) -> int:
    def body(x: tuple[Scalar, ...], a: tuple[Scalar, ...]) -> Outputs:
        value = x[0]
        for _ in range(STEPS):
            value = step(value, a[0])
        return {"y": (value,)}

    kernel = _kernel(f"{name}_{STEPS}", {"x": 1, "a": 1}, body, Target.host())
    # Each run begins with the result of the one before: else the processor would work on several at once.
    x, a = np.ones(1), np.ones(1)
    kind = ctypes.CFUNCTYPE(ctypes.c_int, *(ctypes.c_void_p,) * 3, *(ctypes.c_int64,) * 2)
    function = kind(kernel.native_address("kernel_repeat"))
    given = (x.ctypes.data, a.ctypes.data, x.ctypes.data, 1, REPEATS)
    taken = _best(timeit.Timer(lambda: function(*given), timer=CLOCK), seconds)
    return round(taken / REPEATS / STEPS * PICO)


def _best(timer: timeit.Timer, seconds: float) -> float:
    """Shortest time of a run: a peak is what the processor does undisturbed."""
    timer.timeit(1)
    count = max(1, round(0.005 * seconds / timer.timeit(1)))  # a millisecond: seldom disturbed as a whole
    return min(timer.repeat(repeat=200, number=count)) / count
