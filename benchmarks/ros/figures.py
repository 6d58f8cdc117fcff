# SPDX-License-Identifier: Apache-2.0
"""From wake-ups of processes to figures: periods, missed ones, and those for which the machine itself stood still."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]  # woke [ns], late [ns], periods due; see ada_robot.timing.periods.PeriodTrace
Times = NDArray[np.float64]

STALL = 250_000  # [ns] by which a bare process is only late when the machine does not let it run
QUANTILES = (0.5, 0.99, 0.999, 1.0)


@dataclass(frozen=True)
class Window:
    """The time in which counts are taken, by the steady clock that all processes share [ns]."""

    begin: int
    end: int

    @property
    def seconds(self) -> float:
        """Duration [s]."""
        return (self.end - self.begin) * 1e-9

    def of(self, rows: Rows) -> Rows:
        """The wake-ups in it."""
        return rows[(rows[:, 0] >= self.begin) & (rows[:, 0] < self.end)]


@dataclass(frozen=True)
class Keeping:
    """Periods of a process.

    Attributes:
        periods: between wake-ups: median, 99 %, 99.9 %, longest [s].
        late: behind the deadline, likewise [s].
        missed: periods whose deadline had passed by more than a period.
        unexplained: of these, those while no bare process was as late.
        steps: done, per period that passed.
    """

    periods: Times
    late: Times
    missed: int
    unexplained: int
    steps: float

    @property
    def milliseconds(self) -> list[float]:
        """Quantiles of the periods, 99 % and longest of the delays [ms]."""
        return [float(t) * 1e3 for t in (*self.periods, self.late[1], self.late[3])]


def keeping(rows: Rows, window: Window, period: int, bare: Sequence[Rows]) -> Keeping:
    """Figures of a process.

    Args:
        rows: its wake-ups.
        window: in which they count.
        period: [ns].
        bare: wake-ups of the bare processes.
    """
    inside = window.of(rows)
    late = np.maximum(inside[:, 1], 0)
    missed = late // period
    explained = [is_explained(woke - by, woke, period, bare) for woke, by in inside[missed > 0, :2].tolist()]
    return Keeping(
        periods=quantiles(np.diff(inside[:, 0]) * 1e-9),
        late=quantiles(late * 1e-9),
        missed=int(missed.sum()),
        unexplained=int(missed[missed > 0][~np.array(explained, dtype=bool)].sum()),
        steps=float(inside[:, 2].sum()) * period / (window.end - window.begin),
    )


def is_explained(begin: int, end: int, period: int, bare: Sequence[Rows]) -> bool:
    """True if a bare process was kept from running in this time, as long as the whole of it.

    Such a process sees of a stall what is behind its own deadline: up to a period less.

    Args:
        begin: of a delay [ns].
        end: of it [ns].
        period: of the bare processes [ns].
        bare: their wake-ups.
    """
    return longest_stall(begin, end, bare) >= max(end - begin - period, STALL)


def longest_stall(begin: int, end: int, bare: Sequence[Rows]) -> int:
    """The longest delay of a bare process that reaches into a time [ns]."""
    longest = 0
    for rows in bare:
        woke, late = rows[:, 0], rows[:, 1]
        inside = (woke >= begin) & (woke - late <= end)
        if inside.any():
            longest = max(longest, int(late[inside].max()))
    return longest


def quantiles(times: Times) -> Times:
    """Median, 99 %, 99.9 % and the longest; NaN where there are none."""
    if not len(times):
        return np.full(len(QUANTILES), np.nan)
    return np.asarray(np.quantile(times, QUANTILES, method="inverted_cdf"), dtype=np.float64)
