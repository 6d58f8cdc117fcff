# SPDX-License-Identifier: Apache-2.0
"""A thread that works at absolute deadlines on the steady clock. No ROS.

Timers of an executor share a thread with everything that the executor does, and each waits for the one before. Work
at a thousand times a second has a thread of its own; the executor keeps the work that may be late.
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
from concurrent.futures import Future
from pathlib import Path
from typing import TypeVar

from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_dynamics.errors import AdaError, InputError
from ada_robot.timing.periods import PeriodStatistics, PeriodTrace
from ada_robot.timing.realtime import set_realtime_priority

T = TypeVar("T")
CATCH_UP = 0.05  # [s] behind its deadlines up to which a loop makes up for what it missed
TRACES = "ADA_PERIODS"  # environment: a folder into which each loop writes all its wake-ups when it ends
SWITCH_INTERVAL = 5e-5  # [s]
_NS = 1e-9  # [s]
_LONGEST_SLEEP = 50_000_000  # [ns] after which a sleeping loop checks for its end and for posted actions
_REST_AFTER = 1_000_000  # [ns] without deadlines
_log = logging.getLogger("ada_dynamics")


def reduce_interpreter_jitter() -> None:
    """Keep Python itself from delaying a periodic thread; to be called when everything is set up, before it starts.

    - Threads hand the interpreter over every 0.05 ms instead of every 5 ms. Beside a thread that is busy with pure
      Python, a loop of 1 kHz wakes 5.2 ms late (median; 0.2 ms with this, 0.08 ms without the busy thread) and misses
      five of six periods. The busy thread gets as much done as before.
    - Objects that exist now are never scanned again by the garbage collector, which otherwise stops all threads for 30
      to 60 ms each time that it goes through the 50 000 objects of a compiled robot and of rclpy; with this, for
      microseconds.
    """
    sys.setswitchinterval(SWITCH_INTERVAL)
    gc.collect()
    gc.freeze()


class DeadlineLoop:
    """Calls a function at absolute deadlines, in a thread of its own.

    Example::

        loop = DeadlineLoop(1e-3, simulation.step, name="physics")
        loop.start()
        state = loop.post(plant.snapshot).result(timeout=1.0)     # done by the loop's thread, between two ticks
        loop.stop()

    The first deadline is one period after the start; the deadlines do not drift. A loop that wakes late makes up for
    what it missed in one call, tick(n), as long as it is no more than `catch_up` behind (or one period, where that is
    longer). Further behind it calls tick(1) and gives up the time of the missed periods, which the statistics count as
    slipped. It sleeps between deadlines and never waits busily.

    With the environment's ADA_PERIODS=FOLDER each loop writes all its wake-ups to FOLDER/NAME.npy; see `PeriodTrace`.

    Attributes:
        statistics: of the periods; any thread may read them.
        deadline: the last one that a tick was called for, on the steady clock [ns].
        failure: what the function raised to end the loop; None until then.
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
        """Prepare; `start` begins.

        Args:
            period: between deadlines [s]; 0: no deadlines, tick(1) again and again.
            tick: called with the number of periods that are due; what it raises ends the loop.
            name: of the thread.
            catch_up: see above [s].
            priority: 1 to 99 of the system's real-time class SCHED_FIFO, which other programs then cannot delay;
                where that is not allowed the loop runs as usual and logs so once. 0: as usual.
            on_failure: called once, in the loop's thread, with what ended it; it is logged where this is None.
            clock: deadlines are on its steady time.

        Raises:
            InputError: a period, catch_up or priority that cannot be.
        """
        self._period = _checked_time("period", period)
        self._catch_up_ns = round(_checked_time("catch_up", catch_up) / _NS)
        if not 0 <= priority <= 99:
            text = f"{name}: priority is {priority!r}; it must be from 1 to 99, or 0 for none."
            raise InputError(text, field="priority", value=priority, allowed=(0, 99))
        self._tick, self._name, self._priority, self._on_failure = tick, name, priority, on_failure
        self._clock = clock
        self._lock = threading.Lock()  # guards start and end, and what may still be posted
        self._actions: deque[tuple[Callable[[], object], Future[object]]] = deque()
        self._is_closed = False
        self._thread: threading.Thread | None = None
        self._ending = threading.Event()
        self.statistics = PeriodStatistics(clock.now_ns)
        self.deadline = clock.now_ns()
        self.failure: BaseException | None = None

    # --- from any thread ------------------------------------------------------------------------------------------
    @property
    def period(self) -> float:
        """Between deadlines [s]; 0 is as fast as possible. A new one counts from the last deadline on."""
        return self._period

    @period.setter
    def period(self, period: float) -> None:
        self._period = _checked_time("period", period)

    @property
    def is_running(self) -> bool:
        """True if the thread is alive."""
        thread = self._thread
        return thread is not None and thread.is_alive()

    @property
    def run_inside(self) -> bool:
        """True if the caller is the loop's own thread."""
        return threading.current_thread() is self._thread

    def start(self) -> None:
        """Begin, also after an end; nothing happens where it runs already.

        Raises:
            AdaError: a stopped loop has not ended yet.
        """
        with self._lock:
            if self.is_running:
                if self._ending.is_set():
                    raise AdaError(f"{self._name}: cannot start anew before its last tick has returned; wait for it.")
                return
            ending = self._opened()
            # a daemon: a program that forgets to stop it ends nevertheless
            self._thread = threading.Thread(target=self._run, args=(ending,), name=self._name, daemon=True)
            self._thread.start()

    def run(self, duration: float = math.inf) -> None:
        """Run in the calling thread, on a `ManualClock` in lock step, instead of in a thread of its own.

        Args:
            duration: after which it returns [s]; deadlines up to then are met, and what is posted afterwards is done
                in the next run. It returns earlier with `stop`.

        Raises:
            AdaError: it runs already.
        """
        with self._lock:
            if self.is_running:
                raise AdaError(f"{self._name}: runs already, in another thread.")
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
        """End after the present tick; actions that wait are cancelled.

        From inside the loop it only asks for the end.

        Args:
            timeout: how long to wait for the thread [s].

        Returns:
            True if the thread has ended.
        """
        with self._lock:
            self._ending.set()
            thread = self._thread
        if self.run_inside:
            return False
        if thread is None:
            self._close()
            return True
        # a signal may have interrupted its start: begun or not, it has nothing to do
        with contextlib.suppress(RuntimeError):
            thread.join(timeout)
        return not thread.is_alive()

    def post(self, action: Callable[[], T]) -> Future[T]:
        """Run an action in the loop's thread before its next tick, after all that was posted earlier.

        Args:
            action: what it returns or raises goes to the future alone.

        Returns:
            A future, which is cancelled where the loop has ended, or ends before. Waiting for it inside the loop
            would wait for ever.
        """
        future: Future[T] = Future()
        with self._lock:
            if self._is_closed:
                future.cancel()
            else:
                self._actions.append((action, future))  # type: ignore[arg-type]  # what goes in comes out again
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
        except BaseException as failure:  # no error may end the thread silently
            self.failure = failure
            ending.set()
        finally:
            if ending.is_set():
                self._close()
        if trace is not None:
            _save(trace)
        if self.failure is not None:
            if self._on_failure is None:
                _log.error("%s: ended by an error", self._name, exc_info=self.failure)
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
                continue  # one of them may have ended the loop, or changed its period
            now = clock()
            deadlines.follow(self._period, now)
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
                sleep(0.0)  # releases the interpreter, for the 0.06 ms that the system makes of it
                rested = now

    def _do_actions(self) -> None:
        # only those present now: one that posts itself again must not keep the loop from its ticks
        for _ in range(len(self._actions)):
            action, future = self._actions.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = action()
            except BaseException as failure:  # the waiting caller handles it
                future.set_exception(failure)
            else:
                future.set_result(result)

    def _close(self) -> None:
        with self._lock:
            self._is_closed = True
            while self._actions:
                self._actions.popleft()[1].cancel()


class Deadlines:
    """A grid of times: origin + k period, in whole nanoseconds and without drift, however long it goes on.

    Attributes:
        next: the deadline to be met [ns].
        last: the one before, after `meet` the newest that is not after the present time [ns].
        period: between deadlines [s].
    """

    def __init__(self, now: int) -> None:
        """Args: present time [ns]; `follow` has to be called with a period before anything else."""
        self.period, self.next = -1.0, now
        self._origin = self.last = now
        self._count = 0

    def follow(self, period: float, now: int) -> None:
        """Take a period, if it is a new one: it counts from the last deadline on, but no deadline is in the past.

        Args:
            period: [s]; with 0 each moment is a deadline.
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
        """Go on to the deadline after the present time.

        Args:
            now: present time, not before `next` [ns].
            catch_up: how far behind periods are still made up for [ns]; at least one period.

        Returns:
            How many periods are due, and how many are given up.
        """
        self.last = self.next
        if not self.period:
            return 1, 0
        late = now - self.next
        missed = int(late * _NS / self.period)
        # the division rounds: the next deadline decides
        while self._time(self._count + missed + 1) <= now:
            missed += 1
        while missed and self._time(self._count + missed) > now:
            missed -= 1
        self.last = self._time(self._count + missed)
        self._count += missed + 1
        self.next = self._time(self._count)
        return (1, missed) if late > max(catch_up, self.duration(1)) else (1 + missed, 0)

    def duration(self, periods: int) -> int:
        """How long some periods are [ns]."""
        return round(periods * self.period / _NS)

    def _time(self, count: int) -> int:
        return self._origin + round(count * self.period / _NS)


def _checked_time(what: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value < math.inf:
        text = f"{what} is {value!r:.80}; it must be a number of seconds, not negative."
        raise InputError(text, field=what, value=value, allowed=(0.0, math.inf))
    return float(value)


def _save(trace: PeriodTrace) -> None:
    try:
        trace.save()
    except OSError as problem:
        _log.warning("%s=...: %s cannot be written: %s", TRACES, trace.path, problem.strerror)
