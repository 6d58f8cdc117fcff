# SPDX-License-Identifier: Apache-2.0
"""Functions that the tests of kernels share, their numbers, and what a call leaves behind."""

from __future__ import annotations

import gc
import hashlib
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from ada_dynamics.expr import (
    Function,
    Traced,
    absolute,
    atan2,
    cos,
    evaluate,
    expand,
    maximum,
    minimum,
    select,
    sin,
    sqrt,
    trace,
)
from ada_dynamics.expr.printing import python_source
from ada_dynamics.jit import Kernel, Signature, Target
from ada_dynamics.jit.target import CodeLimits


def host_runs(name: str) -> bool:
    """Whether this machine can run code made for a named target."""
    needs = {"sse2": {"sse2"}, "avx2": {"avx2", "fma"}, "avx512": {"avx512f", "avx512vl", "avx512dq"}}
    if name == "host":
        return True
    flags = Path("/proc/cpuinfo")
    return name in needs and flags.exists() and needs[name] <= set(flags.read_text().split())


TARGETS = [target for target in ("host", "sse2", "avx2", "avx512") if host_runs(target)]


def mixed_body(q, v, tau):
    """Every operation, several shapes, an angle that depends on other sines, and a guard."""
    twist = sin(q[0]) * cos(q[1]) + v[0] / (3.0 + q[2] * q[2])
    wave = sin(q[0] + q[1]) - cos(-q[2]) * sqrt(1.0 + tau[0] * tau[0])
    rows = ((twist, 0.0, wave), (select(q[0], v[1], twist, -wave), 1.5, sin(twist)))
    return Traced({"m": rows, "s": absolute(wave) * v[1] - tau[1], "w": (q[1], v[0])}, (v[1] + 50.0, q[0] + 60.0))


def mixed() -> Function:
    return trace("mixed", {"q": 3, "v": 2, "tau": 2}, mixed_body)


def printed_body(q, v, unused):
    """Every operation that printed C and Python have, and guards."""
    a, b, c = q
    y = (
        sin(a * b) / (2.0 + cos(c)),
        sqrt(3.0 + a * a) - 1e-7 * c,
        select(a, b, -a, 2.5),
        a,
        -0.75,
        1e30 * v[0],
        atan2(-a, c),
    )
    return Traced({"y": y, "m": ((a + b, 0.0), (absolute(b), -1.0 / c))}, (b - 0.5, a + 10.0))


PRINTED = trace("mixed", {"q": 3, "v": 1, "unused": 2}, printed_body)
PRINTED_STATE = {"q": np.array([0.3, 1.7, -2.0]), "v": np.array([0.1]), "unused": np.zeros(2)}


def square(name: str = "square", size: int = 7) -> Function:
    """q, v, tau of one size to one output of that size, as forward dynamics has it."""

    def body(q, v, tau):
        return {"a": tuple(tau[i] - v[i] * v[i - 1] * sin(q[i]) + cos(q[i - 1]) for i in range(size))}

    return trace(name, {"q": size, "v": size, "tau": size}, body)


def key_of(function: Function) -> str:
    """Differs for any two functions: tests share a cache."""
    return hashlib.blake2b(python_source(expand(function)).encode()).hexdigest()


def kernel_of(function: Function, target: str | Target = "host", **options) -> Kernel:
    target = Target.named(target) if isinstance(target, str) else target
    return Kernel(Signature.of(function), lambda: function, key_of(function), target=target, **options)


def parts_of(function: Function, target: str | Target = "host", part: int = 20, **options) -> Kernel:
    """Kernel whose codes for one state and for batches are split into parts of so many operations."""
    target = Target.named(target) if isinstance(target, str) else target
    return kernel_of(function, replace(target, limits=CodeLimits(registers=0, segment=part, part=part)), **options)


def close(found, expected, tolerance: float = 1e-14) -> None:
    for a, b in zip(found, expected, strict=True):
        assert a == pytest.approx(b, rel=tolerance, abs=tolerance)


# Every step keeps numbers near one and is continuous, so rounding cannot grow into a visible difference.
STEPS = {
    "add": lambda a, b: 0.5 * (a + b),
    "sub": lambda a, b: 0.5 * (a - b),
    "mul": lambda a, b: sin(a * b),
    "fused": lambda a, b: 0.25 * (a * b + b * a * 0.5 - a * a),
    "neg": lambda a, b: -a,
    "div": lambda a, b: a / (1.5 + b * b),
    "sqrt": lambda a, b: sqrt(absolute(a) + 0.25),
    "sin": lambda a, b: sin(a + 0.5),
    "cos": lambda a, b: cos(sin(b)),
    "atan2": lambda a, b: atan2(0.4 * a, 1.5 + b * b) + 0.3 * atan2(b, a + 60.0),
    "min": minimum,
    "max": maximum,
    "constant": lambda a, b: a * 0.75 - 0.25,
}


def programs(*left_out: str):
    """Random sequences of the steps: a name, and two places among what there is by then."""
    names = st.sampled_from(sorted(set(STEPS) - set(left_out)))
    return st.lists(st.tuples(names, st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=25)


def run_program(program, pool):
    pool = list(pool)
    for name, i, j in program:
        pool.append(STEPS[name](pool[i % len(pool)], pool[j % len(pool)]))
    return pool


def states(function: Function, count: int, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(count, size)) for size in function.inputs.values()]


def reference(function: Function, batch: list[np.ndarray]) -> list[np.ndarray]:
    """Outputs for a batch, state by state, in 80-bit arithmetic where there is any."""
    wide = [array.astype(np.longdouble) for array in batch]
    rows = [evaluate(function, **dict(zip(function.inputs, row, strict=True))) for row in zip(*wide, strict=True)]
    return [np.array([row[name] for row in rows]).astype(float) for name in function.outputs]


def memory_taken(run, times):
    tracemalloc.start()
    run(10)
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    run(times)
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return after - before


def assert_leaks_nothing(run, times=2000, objects=()):
    """Neither memory nor references to objects, over many times."""
    gc.collect()  # what other tests left
    run(10)
    counts = [sys.getrefcount(x) for x in objects]
    grown = min(memory_taken(run, times) for _ in range(3))  # another thread's memory comes once, a leak each time
    assert [sys.getrefcount(x) for x in objects] == counts
    assert grown < 20 * times  # a float has 24 bytes
