# SPDX-License-Identifier: Apache-2.0
"""The deadline loop on a clock that only moves when the loop sleeps or works: every moment is known beforehand."""

from __future__ import annotations

import dataclasses
import logging
import math
import sys
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ada_dynamics.clock import ManualClock
from ada_robot.timing.deadlines import DeadlineLoop, Deadlines
from ada_robot.timing.periods import PeriodStatistics

MS = 1_000_000  # [ns]
HALF_A_BIN = 1 / 128  # of the time: bins are 1/64 of their octave wide, and told by their middle


class Clock(ManualClock):
    """A clock whose sleeps are too long."""

    overshoot = 0.0  # [s]

    def sleep(self, duration: float) -> None:
        self.advance(duration + (self.overshoot if duration else 0.0))


class Record:
    """A loop on that clock which notes (time, n) of each tick, does what is planned for it, and ends after the last."""

    def __init__(self, period: float, ticks: int, clock: Clock | None = None, **more: Any) -> None:
        self.clock = clock or Clock()
        self.ticks: list[tuple[int, int]] = []
        self._wanted = ticks
        self._plan: dict[int, Callable[[], Any]] = {}
        self.loop = DeadlineLoop(period, self._tick, clock=self.clock, **more)

    def _tick(self, n: int) -> None:
        self.ticks.append((self.clock.now_ns(), n))
        self._plan.get(len(self.ticks), lambda: None)()
        if len(self.ticks) == self._wanted:
            self.loop.stop()

    def take(self, time_ns: float) -> Callable[[], None]:
        return lambda: self.clock.advance(1e-9 * time_ns)

    def plan(self, tick: int, action: Callable[[], Any]) -> None:
        self._plan[tick] = action

    def run(self) -> list[tuple[int, int]]:
        self.loop.run()
        return self.ticks


@pytest.mark.parametrize("rate", [3000, 7])
def test_deadlines_are_absolute_whatever_sleeps_and_ticks_take(rate: int) -> None:
    record = Record(1.0 / rate, 2000)
    record.clock.overshoot = 80e-6
    for tick in range(1, 2001):
        record.plan(tick, record.take(10_000 + tick % 7))
    ticks = record.run()
    for k, (at, n) in enumerate(ticks, start=1):
        assert n == 1
        assert 0 <= at - Fraction(k * 10**9, rate) <= 80_001  # the thousandth as late as the first


@pytest.mark.parametrize(
    ("catch_up", "late", "ticks", "missed", "given_up"),
    [
        (0.05, 5 * MS + MS // 2, [(MS, 1), (6 * MS + MS // 2, 5), (7 * MS, 1)], 4, 0.0),  # all are made up for
        (0.0, 2 * MS - 1, [(MS, 1), (3 * MS - 1, 1), (3 * MS, 1)], 0, 0.0),  # less than a period misses nothing
        (0.02, 30 * MS + 300_000, [(MS, 1), (31 * MS + 300_000, 1), (32 * MS, 1)], 29, 29e-3),  # the grid stays
        (0.02, 21 * MS, [(MS, 1), (22 * MS, 21), (23 * MS, 1)], 20, 0.0),  # catch_up behind, and no more
    ],
)
def test_a_late_wake_up_makes_up_for_the_periods_that_passed_or_gives_them_up(catch_up, late, ticks, missed, given_up):
    record = Record(1e-3, 3, catch_up=catch_up)
    record.plan(1, record.take(late))
    assert record.run() == ticks
    summary = record.loop.statistics.summary()
    assert (summary.count, summary.missed) == (3, missed)
    assert summary.slipped_s == pytest.approx(given_up)
    assert summary.period_max == pytest.approx(1e-9 * (ticks[1][0] - ticks[0][0]))
    assert summary.late_max == pytest.approx(1e-9 * (ticks[1][0] - 2 * MS))


@given(
    st.sampled_from([1e-3, 1.0 / 3000.0, 0.25, 0.1 + 0.2]),
    st.lists(st.integers(0, 400 * MS), min_size=1, max_size=30),
    st.integers(0, 100 * MS),
)
def test_each_period_is_due_or_given_up_once(period: float, pauses: list[int], catch_up: int) -> None:
    begin = now = 10**15
    deadlines = Deadlines(now)
    deadlines.follow(period, now)
    served = 0
    for pause in pauses:
        now = max(now, deadlines.next) + pause
        late = now - deadlines.next
        due, given_up = deadlines.meet(now, catch_up)
        served += due + given_up
        passed = Fraction(now - begin, 10**9) / Fraction(period)
        # half a nanosecond, by which deadlines are rounded, may decide
        assert math.floor(passed - Fraction(1, 10**6)) <= served <= math.floor(passed + Fraction(1, 10**6))
        assert due >= 1
        assert due == 1 or late <= max(catch_up, round(period * 1e9))
        assert now < deadlines.next <= now + round(period * 1e9) + 1


def test_a_shorter_period_ends_a_long_sleep_and_nothing_was_missed_by_it() -> None:
    class Changing(Clock):
        def sleep(self, duration: float) -> None:
            super().sleep(duration)
            if self.now_ns() == 200 * MS:
                record.loop.period = 1e-3

    record = Record(1000.0, 3, Changing())
    assert record.run() == [(200 * MS, 1), (201 * MS, 1), (202 * MS, 1)]
    assert record.loop.statistics.summary().missed == 0


def test_posted_actions_are_done_in_order_before_the_next_tick_inside_the_loop() -> None:
    record = Record(1e-3, 3)
    done: list[tuple[str, int]] = []
    futures: list[Future[str]] = []

    def action(name: str) -> Callable[[], str]:
        def act() -> str:
            done.append((name, len(record.ticks)))
            return name.upper()

        return act

    futures.append(record.loop.post(action("before the start")))
    record.plan(2, lambda: futures.extend(record.loop.post(action(name)) for name in "abc"))
    record.run()
    assert done == [("before the start", 0), ("a", 2), ("b", 2), ("c", 2)]
    assert [future.result(0.0) for future in futures] == ["BEFORE THE START", "A", "B", "C"]


def test_what_an_action_raises_goes_to_its_future_alone() -> None:
    record = Record(1e-3, 3)
    failing, leaving = record.loop.post(lambda: 1 / 0), record.loop.post(lambda: sys.exit(3))
    assert len(record.run()) == 3 and record.loop.failure is None
    assert isinstance(failing.exception(0.0), ZeroDivisionError) and isinstance(leaving.exception(0.0), SystemExit)


def test_actions_that_wait_when_the_loop_ends_and_those_that_come_later_are_cancelled() -> None:
    record = Record(1e-3, 1)
    waiting: list[Future[int]] = []
    record.plan(1, lambda: waiting.append(record.loop.post(lambda: 1)))
    record.run()
    for future in (*waiting, record.loop.post(lambda: 1)):
        with pytest.raises(CancelledError):
            future.result(0.0)
    never = DeadlineLoop(1.0, lambda n: None, clock=Clock())
    future = never.post(lambda: 1)
    assert never.stop() and future.cancelled()


def test_stop_inside_the_loop_asks_for_the_end_and_does_not_wait_for_itself() -> None:
    record = Record(1e-3, 100)
    asked = record.loop.post(record.loop.stop)
    assert record.run() == []
    assert asked.result(0.0) is False  # it has not ended yet, inside
    answers: list[bool] = []
    record = Record(1e-3, 2)
    record.plan(2, lambda: answers.append(record.loop.stop()))
    assert len(record.run()) == 2
    assert answers == [False]
    assert record.loop.stop() is True


def test_in_lock_step_it_meets_all_deadlines_up_to_the_end_and_goes_on_from_there() -> None:
    record = Record(1e-3, 1000)
    record.loop.run(3.5e-3)
    assert [at for at, _ in record.ticks] == [MS, 2 * MS, 3 * MS] and record.clock.now() == pytest.approx(3.5e-3)
    record.loop.run(2e-3)
    assert [at for at, _ in record.ticks[3:]] == [9 * MS // 2, 11 * MS // 2]
    assert record.loop.statistics.summary().count == 2, "a new start has figures of its own"
    posted = record.loop.post(lambda: 1)
    record.loop.run(1e-3)
    assert posted.result(0.0) == 1, "what is posted between two runs is done in the next one"
    assert record.loop.stop() and record.loop.post(lambda: 1).cancelled()


def test_a_tick_that_fails_ends_the_loop_and_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    reported: list[BaseException] = []
    record = Record(1e-3, 100, on_failure=reported.append)
    waiting: list[Future[int]] = []

    def fail() -> None:
        waiting.append(record.loop.post(lambda: 1))
        raise RuntimeError("lost")

    record.plan(3, fail)
    assert len(record.run()) == 3
    assert [str(failure) for failure in reported] == ["lost"]
    assert record.loop.failure is reported[0]
    assert waiting[0].cancelled()
    assert record.loop.stop() is True
    assert len(reported) == 1
    unasked = Record(1e-3, 100, name="physics")  # without a function to report it to it is logged
    unasked.plan(1, lambda: 1 / 0)
    unasked.run()
    assert [one.levelno for one in caplog.records] == [logging.ERROR] and "ZeroDivisionError" in caplog.text


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
