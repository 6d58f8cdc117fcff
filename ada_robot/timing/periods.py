# SPDX-License-Identifier: Apache-2.0
"""How well a periodic thread keeps time: figures that take no more room after a day than after a second. No ROS."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.clock import SYSTEM_CLOCK

_BITS = 6  # a bin is 2^-6 of its octave wide: its middle is off by less than 0.8 %
_EXACT = 2 << _BITS  # [ns] shorter times have a bin each
_OCTAVES = 41  # [2^ns] the last bin takes everything from 36 minutes on
_SIZE = (_OCTAVES - _BITS + 1) << _BITS
_NS = 1e-9  # [s]


@dataclass(frozen=True)
class PeriodSummary:
    """Figures of a thread's periods.

    Attributes:
        count: wake-ups.
        missed: periods whose deadline had passed by more than one period when the thread woke, made up for or not.
        slipped_s: time that was given up because the thread was too far behind [s].
        period_p50: between two wake-ups: median [s].
        period_p99: what 99 % of them do not exceed [s].
        period_p999: what 99.9 % do not exceed [s].
        period_max: the longest [s].
        late_p50: of a wake-up behind its deadline: median [s].
        late_p99: what 99 % of them do not exceed [s].
        late_p999: what 99.9 % do not exceed [s].
        late_max: the latest [s].
        since_s: how long these figures have been collected [s].
    """

    count: int
    missed: int
    slipped_s: float
    period_p50: float
    period_p99: float
    period_p999: float
    period_max: float
    late_p50: float
    late_p99: float
    late_p999: float
    late_max: float
    since_s: float


class Histogram:
    """Counts of times in bins that grow with the time: percentiles within 0.8 %, whatever their size.

    Not for several writers; reading from another thread is fine and at worst misses the newest time.
    """

    __slots__ = ("bins", "longest")

    def __init__(self) -> None:
        """Begin without any."""
        self.bins = array("q", bytes(8 * _SIZE))  # counted up faster than an array of numpy's, and copied at once
        self.longest = 0

    def add(self, time_ns: int) -> None:
        """Count one.

        Args:
            time_ns: [ns]; below zero counts as zero.
        """
        if time_ns > self.longest:
            self.longest = time_ns
        shift = time_ns.bit_length() - 1 - _BITS
        if shift <= 0:
            index = time_ns if time_ns > 0 else 0
        else:
            index = (shift << _BITS) + (time_ns >> shift)
            if index >= _SIZE:
                index = _SIZE - 1
        self.bins[index] += 1

    def percentiles(self, shares: Sequence[float]) -> list[float]:
        """The smallest times that these shares of all times do not exceed [s]; zeros where there are none.

        Args:
            shares: between 0 and 1.
        """
        bins = np.array(self.bins)  # one copy: the writer goes on meanwhile
        ranks = np.cumsum(bins)
        count = int(ranks[-1])
        if not count:
            return [0.0] * len(shares)
        # the small allowance keeps 0.99 of 1000 at 990, although the product may round up
        wanted = [max(1, int(np.ceil(share * count - 1e-6))) for share in shares]
        return [min(_middle(int(np.searchsorted(ranks, rank))), self.longest) * _NS for rank in wanted]


def _middle(index: int) -> float:
    """The time in the middle of a bin [ns]."""
    if index < _EXACT:
        return float(index)
    shift = (index >> _BITS) - 1
    lowest = (index - (shift << _BITS)) << shift
    return lowest + 0.5 * ((1 << shift) - 1)


class _Tally:
    """Everything that begins anew at a restart, in one piece: it is exchanged at once."""

    __slots__ = ("count", "late", "missed", "period", "since_ns", "slipped_ns")

    def __init__(self, since_ns: int) -> None:
        self.period, self.late = Histogram(), Histogram()
        self.count = self.missed = self.slipped_ns = 0
        self.since_ns = since_ns


class PeriodStatistics:
    """Periods and delays of one thread, which adds to them; any thread may read them or begin them anew.

    Example::

        statistics = PeriodStatistics()
        statistics.add(late_ns=80_000, period_ns=1_000_020, due=1)
        print(f"p99 of the period: {1e3 * statistics.summary().period_p99:.2f} ms")
    """

    def __init__(self, clock: Callable[[], int] = SYSTEM_CLOCK.now_ns) -> None:
        """Begin.

        Args:
            clock: tells how long figures have been collected [ns].
        """
        self._clock = clock
        self._tally = _Tally(clock())

    def add(self, late_ns: int, period_ns: int | None, due: int = 1) -> None:
        """Count a wake-up.

        Args:
            late_ns: behind the deadline [ns].
            period_ns: since the wake-up before [ns]; None for the first one.
            due: periods that it makes up for, its own among them.
        """
        tally = self._tally
        tally.count += 1
        tally.missed += due - 1
        tally.late.add(late_ns)
        if period_ns is not None:
            tally.period.add(period_ns)

    def slip(self, periods: int, time_ns: int) -> None:
        """Count periods that nothing will make up for.

        Args:
            periods: how many.
            time_ns: that they would have taken [ns].
        """
        tally = self._tally
        tally.missed += periods
        tally.slipped_ns += time_ns

    def restart(self) -> None:
        """Forget what was counted."""
        self._tally = _Tally(self._clock())

    def summary(self) -> PeriodSummary:
        """The figures until now."""
        tally = self._tally
        period_p50, period_p99, period_p999 = tally.period.percentiles((0.5, 0.99, 0.999))
        late_p50, late_p99, late_p999 = tally.late.percentiles((0.5, 0.99, 0.999))
        return PeriodSummary(
            count=tally.count,
            missed=tally.missed,
            slipped_s=tally.slipped_ns * _NS,
            period_p50=period_p50,
            period_p99=period_p99,
            period_p999=period_p999,
            period_max=tally.period.longest * _NS,
            late_p50=late_p50,
            late_p99=late_p99,
            late_p999=late_p999,
            late_max=tally.late.longest * _NS,
            since_s=(self._clock() - tally.since_ns) * _NS,
        )


class PeriodTrace:
    """Each wake-up of a thread, for measurements: as many as there is room for, in memory that is taken at the start.

    Attributes:
        path: where `save` puts them.
    """

    COLUMNS = ("woke_ns", "late_ns", "due")

    def __init__(self, path: Path, capacity: int = 2**20) -> None:
        """Take the memory.

        Args:
            path: of the .npy file: one row of COLUMNS for each wake-up, 64-bit integers.
            capacity: wake-ups; those beyond are dropped. 2^20 are 17 minutes at 1 kHz, 24 MB.
        """
        self.path = path
        self._rows = array("q", bytes(8 * len(self.COLUMNS) * capacity))
        self._next = 0

    def add(self, woke_ns: int, late_ns: int, due: int) -> None:
        """Keep a wake-up.

        Args:
            woke_ns: by the loop's clock [ns].
            late_ns: behind the deadline [ns].
            due: periods that it makes up for.
        """
        i, rows = self._next, self._rows
        if i < len(rows):
            rows[i], rows[i + 1], rows[i + 2] = woke_ns, late_ns, due
            self._next = i + 3

    def rows(self) -> NDArray[np.int64]:
        """The wake-ups that were kept."""
        return np.array(self._rows[: self._next], dtype=np.int64).reshape(-1, len(self.COLUMNS))

    def save(self) -> None:
        """Write the file, and the folder that it is to lie in."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        np.save(self.path, self.rows())
