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

    Its methods may be called from any thread; `publish`, `tick` and `on_failure` are called by the thread of the
    player.
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
        self._messages = messages
        self._publish = publish
        self._rate = rate
        self._loop = loop
        self._is_paused = paused
        self._tick, self._clock = tick, clock
        self._on_end = on_end
        self._on_failure = on_failure
        self._condition = threading.Condition()
        self._anchor: tuple[int, int] | None = None  # steady clock and recording time [ns]
        self._from: int | None = None  # recording time at which due times start; None: at the first message
        self._reached: int | None = None
        self._pass = 0  # incremented by each restart
        self._played = 0
        self._is_stopped = False
        self._has_ended = False
        self._thread = threading.Thread(target=self._run, name="player", daemon=True)

    # --- requests and state -------------------------------------------------------------------------------------
    @property
    def played(self) -> int:
        """Number of messages played, over all repetitions."""
        return self._played

    @property
    def position(self) -> int | None:
        """Recording time of the last played message [ns]; None before the first."""
        return self._reached

    @property
    def is_paused(self) -> bool:
        """Return True if it waits for `pause(False)`."""
        return self._is_paused

    @property
    def has_ended(self) -> bool:
        """Return True if all messages were played; `restart` plays them again."""
        return self._has_ended

    def start(self) -> None:
        """Start playing."""
        self._thread.start()

    def pause(self, paused: bool) -> None:
        """Pause before the next message, or resume."""
        with self._condition:
            self._is_paused = paused
            self._forget_anchor()

    def set_rate(self, rate: float) -> None:
        """Set the playback speed; 0: as fast as possible."""
        with self._condition:
            self._forget_anchor()
            self._rate = rate

    def set_loop(self, loop: bool) -> None:
        """Repeat at the end, or not."""
        with self._condition:
            self._loop = loop
            self._condition.notify_all()

    def restart(self) -> None:
        """Restart from the beginning; a paused player stays paused."""
        with self._condition:
            self._pass += 1
            self._restart()
            self._condition.notify_all()

    def stop(self) -> None:
        """Stop the thread; idempotent, from any thread."""
        with self._condition:
            self._is_stopped = True
            self._condition.notify_all()
        if self._thread.ident is not None and threading.current_thread() is not self._thread:
            self._thread.join()

    def _forget_anchor(self) -> None:
        """Recompute due times from the present recording time."""
        if self._anchor is not None:
            self._from = self._now()
        self._anchor = None
        self._condition.notify_all()

    def _restart(self) -> None:
        self._has_ended = False
        self._from = self._reached = self._anchor = None

    # --- the thread ---------------------------------------------------------------------------------------------
    def _run(self) -> None:
        try:
            while not self._is_stopped:
                number = self._pass
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
            self._played += 1
            self._reached = message.at
        return True

    def _end_of(self, number: int) -> None:
        """Handle the end: repeat, or wait for a restart."""

        def is_over() -> bool:
            return self._is_stopped or number != self._pass

        with self._condition:
            if self._loop:
                self._condition.wait_for(is_over, LOOP_PAUSE)
            self._has_ended = not self._loop and not is_over()
        if self._has_ended and self._on_end is not None:
            self._on_end()
        with self._condition:
            self._condition.wait_for(lambda: self._loop or is_over())
            if not is_over():
                self._pass += 1
                self._restart()

    def _wait_until(self, at: int, number: int) -> bool:
        """Wait until a recording time; return False if this repetition was cancelled."""
        with self._condition:
            while not self._is_stopped and number == self._pass:
                if self._from is None:
                    self._from = at
                if self._is_paused:
                    self._condition.wait()
                    continue
                if not self._rate:
                    self._from = at
                    return True
                if self._anchor is None:
                    self._anchor = self._clock.now_ns(), self._from
                ahead = (at - self._now()) / _NANOSECONDS / self._rate
                if ahead <= 0.0:
                    return True
                if self._tick is None:
                    self._condition.wait(ahead)
                elif not self._condition.wait(min(ahead, CLOCK_PERIOD)) and self._anchor is not None:
                    self._tick(min(at, self._now()))
            return False

    def _now(self) -> int:
        """Present recording time."""
        assert self._anchor is not None
        steady, position = self._anchor
        return position + round((self._clock.now_ns() - steady) * self._rate)
