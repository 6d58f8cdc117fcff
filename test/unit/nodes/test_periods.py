# SPDX-License-Identifier: Apache-2.0
"""Figures of periods: percentiles against numpy's of all the times, counts against those that were given."""

from __future__ import annotations

import dataclasses

import pytest

from ada_dynamics.clock import ManualClock
from ada_robot.timing.periods import PeriodStatistics

HALF_A_BIN = 1 / 128  # of the time: bins are 1/64 of their octave wide, and told by their middle


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
