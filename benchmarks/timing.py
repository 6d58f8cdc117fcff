# SPDX-License-Identifier: Apache-2.0
"""Time contenders against each other: in turn, in one process, many short rounds, medians.

Absolute times drift with whatever else the machine does; within one round all contenders meet the same conditions, so
the ratio is taken per round and the median of these ratios is what counts.
"""

from __future__ import annotations

import os
import time
import timeit
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np


def _clock() -> Callable[[], float]:
    """The processor time of this process, which stops while others run; the time of day where that is too coarse."""
    precise = time.get_clock_info("process_time").resolution <= 1e-6
    return time.process_time if precise else time.perf_counter


CLOCK = _clock()


@dataclass(frozen=True)
class Plan:
    """How long to measure."""

    rounds: int
    seconds: float  # per contender and round

    @staticmethod
    def usual() -> Plan:
        """Ratios steady to some percent."""
        return Plan(rounds=31, seconds=0.015)

    @staticmethod
    def quick() -> Plan:
        """Only to see that everything runs."""
        return Plan(rounds=3, seconds=0.001)


@dataclass(frozen=True)
class Contender:
    """A statement to time.

    Attributes:
        label: for the table.
        statement: Python text, run in a bare loop (no lambda, whose call would count).
        names: what the statement refers to.
        states: evaluations that one run of the statement makes, or what it is worth.
    """

    label: str
    statement: str
    names: Mapping[str, Any]
    states: float = 1


class Timings:
    """Seconds per evaluation: one row per contender, one column per round."""

    def __init__(self, labels: Sequence[str], seconds: np.ndarray) -> None:
        """Args: labels of the rows, and the rows."""
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
        """How many times longer `slow` takes: the median over the rounds."""
        return float(median(self._rows[slow] / self._rows[fast]))

    def spread(self, slow: str, fast: str) -> tuple[float, float]:
        """Quartiles of that ratio over the rounds."""
        low, high = np.quantile(self._rows[slow] / self._rows[fast], [0.25, 0.75])
        return float(low), float(high)


def measure(contenders: Sequence[Contender], plan: Plan) -> Timings:
    """Run all contenders in turn, round after round; the first run of each, which may compile, does not count."""
    timers = [timer_of(c) for c in contenders]
    repeats = [_repeats(timer, plan.seconds) for timer in timers]
    rounds = [[timer.timeit(n) / n for timer, n in zip(timers, repeats, strict=True)] for _ in range(plan.rounds)]
    states = np.array([c.states for c in contenders], dtype=float)
    return Timings([c.label for c in contenders], np.array(rounds).T / states[:, np.newaxis])


def timer_of(contender: Contender) -> timeit.Timer:
    """Times runs of a contender."""
    return timeit.Timer(contender.statement, timer=CLOCK, globals=dict(contender.names))


def _repeats(timer: timeit.Timer, seconds: float) -> int:
    """How many runs fill a round."""
    timer.timeit(1)
    count = 1
    while True:
        taken = timer.timeit(count)
        if taken > 0.2 * seconds:
            return max(1, round(count * seconds / taken))
        count *= 4


_AFFINITY = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else frozenset[int]()


@contextmanager
def on_all_cpus() -> Iterator[None]:
    """Threads that begin here may run on every processor that this process was given, pinned or not."""
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
    """Keep this process on one processor, where the system can; says what was done."""
    if not hasattr(os, "sched_setaffinity"):
        return "not pinned (this system cannot)"
    chosen = max(os.sched_getaffinity(0))
    try:
        os.sched_setaffinity(0, {chosen})
    except OSError as error:
        return f"not pinned ({error})"
    return f"pinned to CPU {chosen}"
