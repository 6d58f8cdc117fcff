# SPDX-License-Identifier: Apache-2.0
"""Periodic thread with absolute deadlines on the steady clock, and conversion of its times to stamps. No ROS.

Executor timers share one thread with all other callbacks, and each waits for the previous one. Work at 1 kHz therefore
runs in a separate thread; the executor runs work that may be late.

A periodic thread may wake late and catch up: its messages are stamped with their deadlines instead of the send time, so
that position differences by stamps are the velocities at any load.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import math
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from pathlib import Path
from typing import Any, TypeVar

from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_dynamics.errors import AdaError
from ada_dynamics.simulation.record.messages import NANOSECONDS
from ada_robot.timing.periods import PeriodStatistics, PeriodTrace
from ada_robot.timing.realtime import set_realtime_priority

_SET = 1_000_000  # tolerance of the clock offset, beyond which a clock was set [ns]
_TRIES = 5
T = TypeVar("T")
CATCH_UP = 0.05  # default delay up to which missed periods are made up for [s]
TRACES = "ADA_PERIODS"  # environment variable: folder for the wake-up traces of all loops
SWITCH_INTERVAL = 5e-5  # [s]
_NS = 1e-9  # [s]
_LONGEST_SLEEP = 50_000_000  # maximum sleep before the loop checks for its end and for posted actions [ns]
_REST_AFTER = 1_000_000  # interval of short sleeps in loops without deadlines [ns]
_log = logging.getLogger("ada_dynamics")


class Stamps:
    """Conversion from the steady clock to another clock of the same rate, which may be set."""

    def __init__(self, now: Callable[[], int], steady: Callable[[], int] = SYSTEM_CLOCK.now_ns) -> None:
        """Convert from the steady clock to the clock of `now` [ns]."""
        self._now, self._steady = now, steady
        self._offset: int | None = None
        self._last = 0

    @classmethod
    def of(cls, clock: Any) -> Stamps:
        """Create the conversion to the clock of a node."""
        return cls(lambda: int(clock.now().nanoseconds))

    def at(self, moment: float) -> int:
        """Convert a time of the steady clock in seconds; see `due`."""
        return self.due(round(moment * NANOSECONDS))

    def due(self, moment: int) -> int:
        """Convert a time of the steady clock. Results do not decrease unless the clock is set back.

        Args:
            moment: recent time [ns].
        """
        earliest, latest = self._between()
        if self._offset is None or not earliest - _SET <= self._offset <= latest + _SET:  # a clock was set
            # the tightest of several measurements, because preemption widens the bounds
            earliest, latest = min((self._between() for _ in range(_TRIES)), key=lambda pair: pair[1] - pair[0])
            self._offset, self._last = (earliest + latest) // 2, 0
        self._last = max(self._last, moment + self._offset)
        return self._last

    def _between(self) -> tuple[int, int]:
        """Return bounds of the clock offset: the steady clock is read before and after the other clock."""
        before = self._steady()
        now = self._now()
        return now - self._steady(), now - before


def outcome(future: Future[T], timeout: float, ended: str, slow: str) -> T:
    """Wait for the result of a posted action; AdaError with these messages if the loop has ended, or is too slow."""
    try:
        return future.result(timeout)
    except CancelledError:
        raise AdaError(ended) from None
    except FutureTimeoutError:
        future.cancel()
        raise AdaError(slow) from None


def reduce_interpreter_jitter() -> None:
    """Reduce delays of periodic threads by the Python interpreter. Call it after all initialization.

    - The interpreter lock is handed over every 0.05 ms instead of every 5 ms. With a second thread busy in pure Python,
      a loop at 1 kHz wakes 0.2 ms late (median; 5.2 ms without this, 0.08 ms without the busy thread). The throughput
      of the busy thread does not change.
    - Existing objects are exempt from garbage collection, which otherwise stops all threads for 30 to 60 ms for the
      50 000 objects of a compiled robot and rclpy.
    """
    sys.setswitchinterval(SWITCH_INTERVAL)
    gc.collect()
    gc.freeze()


class DeadlineLoop:
    """Thread that calls a function at absolute deadlines.

    Example::

        loop = DeadlineLoop(1e-3, simulation.step, name="physics")
        loop.start()
        state = loop.post(plant.snapshot).result(timeout=1.0)     # executed by the loop's thread, between two ticks
        loop.stop()

    The first deadline is one period after the start; deadlines do not drift. A loop that wakes late makes up for the
    missed periods in one call, tick(n), if it is at most `catch_up` late (or one period, if longer). Otherwise it calls
    tick(1) and skips the missed periods, which the statistics count as slipped. It sleeps between deadlines.

    If the environment variable ADA_PERIODS names a folder, each loop writes all its wake-ups to FOLDER/NAME.npy; see
    `PeriodTrace`.

    Attributes:
        period: time between deadlines [s]; 0 for no deadlines. A change counts from the last deadline.
        statistics: timing statistics, readable from any thread.
        deadline: deadline of the last tick on the steady clock [ns].
        failure: exception that ended the loop; None before.
    """

    def __init__(
        self,
        period: float,
        tick: Callable[[int], object],
        *,
        name: str = "loop",
        catch_up: float = CATCH_UP,
        priority: int = 0,
        on_failure: Callable[[BaseException], object] | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Configure the loop; `start` starts it.

        Args:
            period: time between deadlines [s]; 0 to call tick(1) without pause.
            tick: called with the number of due periods; an exception ends the loop.
            name: name of the thread.
            catch_up: delay up to which missed periods are made up for [s].
            priority: real-time priority 1 to 99 (SCHED_FIFO); 0 for none. Without permission the loop logs a warning
                and runs without it.
            on_failure: called once in the loop's thread with the exception that ended it; None logs it.
            clock: clock of the deadlines.
        """
        self.period, self._catch_up_ns = period, round(catch_up / _NS)
        self._tick, self._name, self._priority, self._on_failure = tick, name, priority, on_failure
        self._clock = clock
        self._lock = threading.Lock()  # guards start and end, and the posting of actions
        self._actions: deque[tuple[Callable[[], object], Future[object]]] = deque()
        self._is_closed = False
        self._thread: threading.Thread | None = None
        self._ending = threading.Event()
        self.statistics = PeriodStatistics(clock.now_ns)
        self.deadline = clock.now_ns()
        self.failure: BaseException | None = None

    # --- from any thread ------------------------------------------------------------------------------------------
    @property
    def is_running(self) -> bool:
        """True while the thread is alive."""
        thread = self._thread
        return thread is not None and thread.is_alive()

    def start(self) -> None:
        """Start the thread, also after an end; without effect if it is running.

        Raises:
            AdaError: if a stopped loop has not ended yet.
        """
        with self._lock:
            if self.is_running:
                if self._ending.is_set():
                    raise AdaError(f"{self._name}: cannot restart before its last tick has returned; wait for it.")
                return
            ending = self._opened()
            # a daemon thread does not keep a program without `stop` alive
            self._thread = threading.Thread(target=self._run, args=(ending,), name=self._name, daemon=True)
            self._thread.start()

    def run(self, duration: float = math.inf) -> None:
        """Run in the calling thread instead of a separate one, with a `ManualClock` in lock step.

        Args:
            duration: run time [s]; deadlines up to then are met, and actions posted afterwards are executed in the
                next run. `stop` ends the run earlier.

        Raises:
            AdaError: if the loop is running.
        """
        with self._lock:
            if self.is_running:
                raise AdaError(f"{self._name}: already running in another thread.")
            ending = self._opened()
            self._thread = threading.current_thread()
        try:
            self._run(ending, duration)
        finally:
            self._thread = None

    def _opened(self) -> threading.Event:
        self._ending = threading.Event()
        self._is_closed, self.failure = False, None
        self.statistics.restart()
        return self._ending

    def stop(self, timeout: float = 2.0) -> bool:
        """End after the present tick, and cancel waiting actions. From inside the loop, only request the end.

        Args:
            timeout: time to wait for the thread [s].

        Returns:
            True if the thread has ended.
        """
        with self._lock:
            self._ending.set()
            thread = self._thread
        if thread is threading.current_thread():
            return False
        if thread is None:
            self._close()
            return True
        # join raises if a signal interrupted the start of the thread
        with contextlib.suppress(RuntimeError):
            thread.join(timeout)
        return not thread.is_alive()

    def post(self, action: Callable[[], T]) -> Future[T]:
        """Execute an action in the loop's thread before its next tick, after earlier ones.

        Args:
            action: its result or exception is stored in the future only.

        Returns:
            A future, cancelled if the loop has ended or ends before the action. Waiting for it inside the loop
            deadlocks.
        """
        future: Future[T] = Future()
        with self._lock:
            if self._is_closed:
                future.cancel()
            else:
                self._actions.append((action, future))  # type: ignore[arg-type]  # the types of both agree
        return future

    # --- the thread -----------------------------------------------------------------------------------------------
    def _run(self, ending: threading.Event, duration: float = math.inf) -> None:
        folder = os.environ.get(TRACES)
        trace = PeriodTrace(Path(folder) / f"{self._name}.npy") if folder else None
        lacks = set_realtime_priority(self._priority)
        if lacks:
            _log.warning("%s: runs with %s", self._name, lacks)
        try:
            self._work(ending, trace, duration)
        except BaseException as failure:  # report every exception that ends the thread
            self.failure = failure
            ending.set()
        finally:
            if ending.is_set():
                self._close()
        if trace is not None:
            try:
                trace.save()
            except OSError as problem:
                _log.warning("%s=...: %s cannot be written: %s", TRACES, trace.path, problem.strerror)
        if self.failure is not None:
            if self._on_failure is None:
                _log.error("%s: ended by an exception", self._name, exc_info=self.failure)
            else:
                self._on_failure(self.failure)

    def _work(self, ending: threading.Event, trace: PeriodTrace | None, duration: float) -> None:
        clock, sleep, statistics = self._clock.now_ns, self._clock.sleep, self.statistics
        deadlines = Deadlines(clock())
        end = clock() + duration / _NS
        before: int | None = None
        rested = clock()
        while not ending.is_set():
            if self._actions:
                self._do_actions()
                continue  # an action may have ended the loop or changed its period
            now = clock()
            deadlines.follow(self.period, now)
            wait = deadlines.next - now
            if wait > 0:
                if now >= end:
                    return
                sleep(min(wait, end - now, _LONGEST_SLEEP) * _NS)
                continue
            due, given_up = deadlines.meet(now, self._catch_up_ns)
            self.deadline = deadlines.last
            statistics.add(-wait, None if before is None else now - before, due)
            if given_up:
                statistics.slip(given_up, deadlines.duration(given_up))
            if trace is not None:
                trace.add(now, -wait, due)
            before = now
            self._tick(due)
            if not deadlines.period and now - rested >= _REST_AFTER:
                sleep(0.0)  # releases the interpreter lock, for about 0.06 ms
                rested = now

    def _do_actions(self) -> None:
        # only those present now: an action that posts itself again must not block the ticks
        for _ in range(len(self._actions)):
            action, future = self._actions.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = action()
            except BaseException as failure:  # handled by the waiting caller
                future.set_exception(failure)
            else:
                future.set_result(result)

    def _close(self) -> None:
        with self._lock:
            self._is_closed = True
            while self._actions:
                self._actions.popleft()[1].cancel()


class Deadlines:
    """Deadlines origin + k period in whole nanoseconds, without drift.

    Attributes:
        next: next deadline [ns].
        last: previous deadline; after `meet` the latest one not after the present time [ns].
        period: time between deadlines [s].
    """

    def __init__(self, now: int) -> None:
        """Start at the present time [ns]; `follow` must be called before other methods."""
        self.period, self.next = -1.0, now
        self._origin = self.last = now
        self._count = 0

    def follow(self, period: float, now: int) -> None:
        """Set the period. A change counts from the last deadline, but sets no deadline in the past.

        Args:
            period: time between deadlines [s]; 0 for no deadlines.
            now: present time [ns].
        """
        if not period:
            self.next = now
        if period == self.period:
            return
        length = round(period / _NS)
        self._origin = max(self.last, now - length) if self.period else now
        self.period, self._count = period, 1
        self.next = self._origin + length if period else now

    def meet(self, now: int, catch_up: int) -> tuple[int, int]:
        """Advance to the first deadline after the present time.

        Args:
            now: present time, not before `next` [ns].
            catch_up: delay up to which missed periods are made up for [ns]; at least one period.

        Returns:
            Number of due periods, and of skipped periods.
        """
        self.last = self.next
        if not self.period:
            return 1, 0
        late, first = now - self.next, self._count
        self._count = int((now - self._origin) * _NS / self.period)
        while self._time(self._count) <= now:  # the division may be rounded
            self._count += 1
        self.last, self.next = self._time(self._count - 1), self._time(self._count)
        missed = self._count - first - 1
        return (1, missed) if late > max(catch_up, self.duration(1)) else (1 + missed, 0)

    def duration(self, periods: int) -> int:
        """Duration of a number of periods [ns]."""
        return round(periods * self.period / _NS)

    def _time(self, count: int) -> int:
        return self._origin + self.duration(count)
