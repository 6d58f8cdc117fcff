# SPDX-License-Identifier: Apache-2.0
"""Timing statistics of periodic threads, in constant memory. No ROS."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ada_dynamics.clock import SYSTEM_CLOCK

_BINS = 64  # bins per octave: their centres are exact to 0.6 %
_SIZE = 41 * _BINS  # the last bin contains all times from 36 minutes on
_NS = 1e-9  # [s]


@dataclass(frozen=True)
class PeriodSummary:
    """Timing statistics of a periodic thread."""

    count: int  # number of wake-ups
    missed: int  # periods whose deadline had passed by more than one period at the wake-up
    slipped_s: float  # skipped time [s]
    period_p50: float  # median time between wake-ups [s]
    period_p99: float  # 99th percentile of it [s]
    period_p999: float  # 99.9th percentile [s]
    period_max: float  # maximum [s]
    late_p50: float  # median delay of a wake-up after its deadline [s]
    late_p99: float  # 99th percentile of it [s]
    late_p999: float  # 99.9th percentile [s]
    late_max: float  # maximum [s]
    since_s: float  # time covered by the statistics [s]


class Histogram:
    """Histogram of times with logarithmic bins, whose percentiles are exact to 0.6 %.

    One thread writes; another may read, and misses at most the latest time.
    """

    __slots__ = ("bins", "longest")

    def __init__(self) -> None:
        """Start empty."""
        self.bins = array("q", bytes(8 * _SIZE))  # increments are faster than in numpy arrays, copies are atomic
        self.longest = 0

    def add(self, time_ns: int) -> None:
        """Count a time [ns]; negative values count as zero."""
        if time_ns > self.longest:
            self.longest = time_ns
        index = int(_BINS * math.log2(time_ns)) if time_ns > 1 else 0
        self.bins[index if index < _SIZE else _SIZE - 1] += 1

    def summary(self) -> tuple[float, float, float, float]:
        """Return median, 99th and 99.9th percentile and maximum [s]; zeros if empty."""
        bins = np.array(self.bins)  # one copy, because the writer continues
        ranks = np.cumsum(bins)
        count = int(ranks[-1])
        if not count:
            return 0.0, 0.0, 0.0, 0.0
        # the tolerance keeps 0.99 of 1000 at 990 if the product is rounded up
        requested = [max(1, int(np.ceil(share * count - 1e-6))) for share in (0.5, 0.99, 0.999)]
        centres = 2.0 ** ((np.searchsorted(ranks, requested) + 0.5) / _BINS)
        p50, p99, p999 = (min(float(centre), self.longest) * _NS for centre in centres)
        return p50, p99, p999, self.longest * _NS


class PeriodStatistics:
    """Timing statistics of one thread, which adds wake-ups and may restart them; any thread may read them.

    Example::

        statistics = PeriodStatistics()
        statistics.add(late_ns=80_000, period_ns=1_000_020, due=1)
        print(f"p99 of the period: {1e3 * statistics.summary().period_p99:.2f} ms")
    """

    def __init__(self, clock: Callable[[], int] = SYSTEM_CLOCK.now_ns) -> None:
        """Start at the present time of a clock [ns]."""
        self._clock = clock
        self.restart()

    def restart(self) -> None:
        """Reset all counters."""
        self._period, self._late = Histogram(), Histogram()
        self._count = self._missed = self._slipped_ns = 0
        self._since_ns = self._clock()

    def add(self, late_ns: int, period_ns: int | None, due: int = 1) -> None:
        """Add a wake-up.

        Args:
            late_ns: delay after the deadline [ns].
            period_ns: time since the previous wake-up [ns]; None for the first one.
            due: number of due periods, including its own.
        """
        self._count += 1
        self._missed += due - 1
        self._late.add(late_ns)
        if period_ns is not None:
            self._period.add(period_ns)

    def slip(self, periods: int, time_ns: int) -> None:
        """Add skipped periods. Args: their number; their duration [ns]."""
        self._missed += periods
        self._slipped_ns += time_ns

    def summary(self) -> PeriodSummary:
        """Return the present statistics."""
        since_s = (self._clock() - self._since_ns) * _NS
        period, late = self._period.summary(), self._late.summary()
        return PeriodSummary(self._count, self._missed, self._slipped_ns * _NS, *period, *late, since_s)


class PeriodTrace:
    """Record of the wake-ups of a thread, in memory allocated at the start.

    Attributes:
        path: .npy file written by `save`, with one row of COLUMNS per wake-up, 64-bit integers.
    """

    COLUMNS = ("woke_ns", "late_ns", "due")

    def __init__(self, path: Path, capacity: int = 2**20) -> None:
        """Allocate memory for a number of wake-ups; later ones are dropped (2^20: 17 minutes at 1 kHz)."""
        self.path = path
        self._rows = array("q", bytes(8 * len(self.COLUMNS) * capacity))
        self._next = 0

    def add(self, woke_ns: int, late_ns: int, due: int) -> None:
        """Record a wake-up. Args: time on the loop's clock [ns]; delay after the deadline [ns]; due periods."""
        i, rows = self._next, self._rows
        if i < len(rows):
            rows[i], rows[i + 1], rows[i + 2] = woke_ns, late_ns, due
            self._next = i + 3

    def save(self) -> None:
        """Write the file, and create its folder."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        np.save(self.path, np.array(self._rows[: self._next]).reshape(-1, len(self.COLUMNS)))
