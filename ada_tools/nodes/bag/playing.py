# SPDX-License-Identifier: Apache-2.0
"""Playback of recorded messages at their recorded times, in a separate thread; imports no rclpy.

Each message has an absolute due time on the steady clock, relative to the last start, pause or rate change, so that
delays do not accumulate. Late messages are played immediately, in order.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_tools.nodes.bag.reading import RecordedMessage

CLOCK_PERIOD = 0.01  # [s]
LOOP_PAUSE = 0.1  # [s] between the end and the next repetition
_NANOSECONDS = 1e9


class Player:
    """Plays messages, once or repeatedly.

    Its methods may be called from any thread; `publish`, `tick` and the other callbacks are called by the thread of the
    player.

    Attributes:
        played: number of messages played, over all repetitions.
        position: recording time of the last played message [ns]; None before the first.
        is_paused: whether it waits for `pause(False)`.
        has_ended: whether all messages were played; `restart` plays them again.
    """

    def __init__(
        self,
        messages: Callable[[], Iterator[RecordedMessage]],
        publish: Callable[[RecordedMessage], None],
        *,
        rate: float = 1.0,
        loop: bool = False,
        paused: bool = False,
        tick: Callable[[int], None] | None = None,
        on_end: Callable[[], None] | None = None,
        on_failure: Callable[[Exception], None] | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Create a player; `start` starts it.

        Args:
            messages: creates an iterator over all messages, for each repetition.
            publish: called with each message when it is due.
            rate: playback speed; 0: as fast as possible.
            loop: repeat at the end.
            paused: wait for `pause(False)`.
            tick: called with the recording time [ns] at least every `CLOCK_PERIOD` and before each message.
            on_end: called at the end of the last repetition.
            on_failure: called with an exception of `messages` or `publish`; the player has stopped then.
            clock: steady clock of the due times.
        """
        self._messages, self._publish, self._tick = messages, publish, tick
        self._on_end, self._on_failure = on_end, on_failure
        self._rate, self._loop, self._clock = rate, loop, clock
        self.played = 0
        self.position: int | None = None
        self.is_paused = paused
        self.has_ended = False
        self._condition = threading.Condition()
        # Steady clock and recording time [ns] of the last start, pause, resumption or change of the rate.
        self._base: tuple[int, int] | None = None
        self._restarts = 0
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name="player", daemon=True)

    # --- requests -----------------------------------------------------------------------------------------------
    def start(self) -> None:
        """Start playing."""
        self._thread.start()

    def pause(self, paused: bool) -> None:
        """Pause before the next message, or resume."""
        with self._condition:
            self._rebase()
            self.is_paused = paused

    def set_rate(self, rate: float) -> None:
        """Set the playback speed; 0: as fast as possible."""
        with self._condition:
            self._rebase()
            self._rate = rate

    def set_loop(self, loop: bool) -> None:
        """Repeat at the end, or not."""
        with self._condition:
            self._loop = loop
            self._condition.notify_all()

    def restart(self) -> None:
        """Restart from the beginning; a paused player stays paused."""
        with self._condition:
            self._begin_again()
            self._condition.notify_all()

    def stop(self) -> None:
        """Stop the thread; idempotent, from any thread."""
        with self._condition:
            self._is_stopped = True
            self._condition.notify_all()
        if self._thread.ident is not None and threading.current_thread() is not self._thread:
            self._thread.join()

    def _rebase(self) -> None:
        """Let due times start at the present recording time."""
        if self._base is not None:
            self._base = self._clock.now_ns(), self._now(self._base)
        self._condition.notify_all()

    def _begin_again(self) -> None:
        self._restarts += 1
        self.has_ended = False
        self.position = self._base = None

    def _now(self, base: tuple[int, int]) -> int:
        """Present recording time."""
        steady, position = base
        return position if self.is_paused else position + round((self._clock.now_ns() - steady) * self._rate)

    # --- the thread ---------------------------------------------------------------------------------------------
    def _run(self) -> None:
        try:
            while not self._is_stopped:
                number = self._restarts
                if self._play(number):
                    self._end_of(number)
        except Exception as problem:  # passed to `on_failure`
            with self._condition:
                self._is_stopped = True
            if self._on_failure is not None:
                self._on_failure(problem)

    def _play(self, number: int) -> bool:
        """Play once; return True if the end was reached."""
        for message in self._messages():
            if not self._wait_until(message.at, number):
                return False
            if self._tick is not None:
                self._tick(message.at)
            self._publish(message)
            self.played += 1
            self.position = message.at
        return True

    def _end_of(self, number: int) -> None:
        """Handle the end: repeat, or wait for a restart."""

        def is_over() -> bool:
            return self._is_stopped or number != self._restarts

        with self._condition:
            if self._loop:
                self._condition.wait_for(is_over, LOOP_PAUSE)
            self.has_ended = not self._loop and not is_over()
        if self.has_ended and self._on_end is not None:
            self._on_end()
        with self._condition:
            self._condition.wait_for(lambda: self._loop or is_over())
            if not is_over():
                self._begin_again()

    def _wait_until(self, at: int, number: int) -> bool:
        """Wait until a recording time; return False if this repetition was cancelled."""
        with self._condition:
            while not self._is_stopped and number == self._restarts:
                base = self._base
                if base is None or (not self._rate and not self.is_paused):
                    base = self._base = self._clock.now_ns(), at
                ahead = (at - self._now(base)) / _NANOSECONDS
                if self.is_paused:
                    self._condition.wait()
                elif ahead <= 0.0:
                    return True
                elif self._tick is None:
                    self._condition.wait(ahead / self._rate)
                elif not self._condition.wait(min(ahead / self._rate, CLOCK_PERIOD)) and base is self._base:
                    self._tick(min(at, self._now(base)))
            return False
