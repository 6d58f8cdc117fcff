# SPDX-License-Identifier: Apache-2.0
"""Time contenders against each other: in turn, in one process, many short rounds, medians.

Absolute times drift with the load of the machine; within one round all contenders meet the same conditions. Therefore
a ratio is taken per round, and the median of these ratios counts.
"""

from __future__ import annotations

import ctypes
import os
import time
import timeit
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.jit import Kernel
from ada_dynamics.jit.generic import GenericKernel

# Processor time of this process, which stops while others run; the time of day if that is too coarse.
CLOCK = time.process_time if time.get_clock_info("process_time").resolution <= 1e-6 else time.perf_counter


class Schedule(NamedTuple):
    """Duration of a measurement."""

    rounds: int
    seconds: float  # per contender and round


USUAL = Schedule(rounds=31, seconds=0.015)  # ratios steady to some percent
QUICK = Schedule(rounds=3, seconds=0.001)  # only to see that everything runs


@dataclass(frozen=True)
class Contender:
    """A statement to time.

    Attributes:
        label: for the table.
        statement: Python text, run in a bare loop (no lambda, whose call would count).
        names: variables of the statement.
        states: evaluations by one run of the statement.
    """

    label: str
    statement: str
    names: Mapping[str, Any]
    states: float = 1


class Timings:
    """Seconds per evaluation: one row per contender, one column per round."""

    def __init__(self, labels: Sequence[str], seconds: np.ndarray) -> None:
        """Label the rows."""
        self._rows = dict(zip(labels, seconds, strict=True))

    @property
    def labels(self) -> list[str]:
        """All contenders."""
        return list(self._rows)

    def median(self, label: str) -> float:
        """Median time of an evaluation [s]."""
        return float(median(self._rows[label]))

    def best(self, label: str) -> float:
        """Shortest time of an evaluation [s]."""
        return float(self._rows[label].min())

    def ratio(self, slow: str, fast: str) -> float:
        """Median over the rounds of the time of `slow` divided by that of `fast`."""
        return float(median(self._rows[slow] / self._rows[fast]))

    def spread(self, slow: str, fast: str) -> tuple[float, float]:
        """Quartiles of that ratio over the rounds."""
        low, high = np.quantile(self._rows[slow] / self._rows[fast], [0.25, 0.75])
        return float(low), float(high)


def measure(contenders: Sequence[Contender], schedule: Schedule) -> Timings:
    """Run all contenders in turn, round after round; the first run of each, which may compile, does not count."""
    timers = [timeit.Timer(c.statement, timer=CLOCK, globals=dict(c.names)) for c in contenders]
    repeats = [_repeats(timer, schedule.seconds) for timer in timers]
    rounds = [[timer.timeit(n) / n for timer, n in zip(timers, repeats, strict=True)] for _ in range(schedule.rounds)]
    states = np.array([c.states for c in contenders], dtype=float)
    return Timings([c.label for c in contenders], np.array(rounds).T / states[:, np.newaxis])


def _repeats(timer: timeit.Timer, seconds: float) -> int:
    """Number of runs that fill a round."""
    timer.timeit(1)
    count = 1
    while True:
        taken = timer.timeit(count)
        if taken > 0.2 * seconds:
            return max(1, round(count * seconds / taken))
        count *= 4


# --- compiled kernels: many rows in a call, so that the library's Python code takes no part --------------------------
def batch_by_address(label: str, kernel: Kernel, inputs: Sequence[Array], order: str = "columns") -> Contender:
    """The batch code on arrays (N, size) whose columns or rows are contiguous."""
    turned = np.asfortranarray if order == "columns" else np.ascontiguousarray
    arrays = [turned(x) for x in inputs]
    count = len(arrays[0])
    outputs = [turned(np.empty((count, *shape))) for _, shape in kernel.signature.outputs]
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*arrays, *outputs)]
    kind = ctypes.CFUNCTYPE(ctypes.c_int, *(ctypes.c_void_p,) * len(pointers), ctypes.c_int64)
    function = kind(kernel.native_address(f"kernel_{order}"))
    names: dict[str, object] = {"f": function, "n": ctypes.c_int64(count), "keep": (arrays, outputs, kernel)}
    names |= {f"p{i}": pointer for i, pointer in enumerate(pointers)}
    return Contender(label, f"f({', '.join(f'p{i}' for i in range(len(pointers)))}, n)", names, count)


def rows_in_turn(label: str, kernel: Kernel | GenericKernel, inputs: Sequence[Array], repeats: int = 1) -> Contender:
    """The code of one state over all rows, one after the other."""
    names = {"f": kernel.native_repeat, "rows": [np.ascontiguousarray(x) for x in inputs]}
    return Contender(label, f"f(*rows, repeats={repeats})", names, repeats * len(inputs[0]))


# --- processors ------------------------------------------------------------------------------------------------------
_AFFINITY = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else frozenset[int]()


@contextmanager
def on_all_cpus() -> Iterator[None]:
    """Run threads that begin here on every processor that this process may use."""
    if not _AFFINITY:
        yield
        return
    pinned = os.sched_getaffinity(0)
    os.sched_setaffinity(0, _AFFINITY)
    try:
        yield
    finally:
        os.sched_setaffinity(0, pinned)


def pin_to_one_cpu() -> str:
    """Keep this process on one processor if the system can; returns a description."""
    if not hasattr(os, "sched_setaffinity"):
        return "not pinned (this system cannot)"
    chosen = max(os.sched_getaffinity(0))
    try:
        os.sched_setaffinity(0, {chosen})
    except OSError as error:
        return f"not pinned ({error})"
    return f"pinned to CPU {chosen}"
