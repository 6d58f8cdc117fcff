# SPDX-License-Identifier: Apache-2.0
"""Figures of periods: percentiles against numpy's of all the times, counts against those that were given."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ada_dynamics.clock import ManualClock
from ada_robot.timing.periods import Histogram, PeriodStatistics, PeriodTrace

HALF_A_BIN = 1 / 128  # of the time: bins are 1/64 of their octave wide, and told by their middle
SHARES = (0.0, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0)


def filled(times: list[int]) -> Histogram:
    histogram = Histogram()
    for time in times:
        histogram.add(time)
    return histogram


@given(st.lists(st.integers(0, 2**40), min_size=1, max_size=50))
def test_percentiles_are_the_smallest_times_that_the_share_does_not_exceed(times: list[int]) -> None:
    ordered = sorted(times)
    ranks = [math.ceil(Fraction(str(share)) * len(times)) for share in SHARES]
    exact = [ordered[max(rank, 1) - 1] * 1e-9 for rank in ranks]
    assert filled(times).percentiles(SHARES) == pytest.approx(exact, rel=HALF_A_BIN, abs=1e-15)


def test_a_summary_counts_wake_ups_missed_periods_and_slipped_time_until_a_restart() -> None:
    clock = ManualClock(5.0)
    statistics = PeriodStatistics(clock.now_ns)
    statistics.add(100, None)  # the first wake-up ends no period
    statistics.add(200, 1000)
    statistics.add(3300, 4100, due=4)
    statistics.add(90_000, 90_800)
    statistics.slip(89, 89_000)
    clock.advance(2.5)
    summary = statistics.summary()
    assert (summary.count, summary.missed) == (4, 3 + 89)
    assert summary.slipped_s == pytest.approx(89e-6)
    assert summary.period_max == pytest.approx(90.8e-6)
    assert summary.late_max == pytest.approx(90e-6)
    assert summary.period_p50 == pytest.approx(4.1e-6, rel=HALF_A_BIN)
    assert summary.late_p50 == pytest.approx(200e-9, rel=HALF_A_BIN)
    assert summary.since_s == pytest.approx(2.5)
    statistics.restart()
    assert set(dataclasses.astuple(statistics.summary())) == {0}


def test_a_trace_keeps_each_wake_up_until_it_is_full(tmp_path: Path) -> None:
    trace = PeriodTrace(tmp_path / "deeper" / "physics.npy", capacity=3)
    trace.save()
    assert np.load(trace.path).shape == (0, 3)
    given_rows = [(10**18 + i, 80 + i, 1 + i) for i in range(5)]
    for row in given_rows:
        trace.add(*row)
    trace.save()
    saved = np.load(trace.path)
    assert saved.dtype == np.int64
    assert saved.tolist() == [list(row) for row in given_rows[:3]]
