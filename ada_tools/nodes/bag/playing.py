# SPDX-License-Identifier: Apache-2.0
"""Plays recorded messages at the times that they have, in a thread of its own; no rclpy in here.

Each message has an absolute due time on the steady clock, counted from the last start, pause or change of speed: delays
do not add up. Late messages are played at once, in their order.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator

from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_tools.nodes.bag.reading import Recorded, TopicFile

CLOCK_PERIOD = 0.01  # [s]
LOOP_PAUSE = 0.1  # [s] between the end and the next beginning
_NANOSECONDS = 1e9


def latched_first(
    file: TopicFile, channels: Collection[int], latched: Collection[int], since: int
) -> Iterator[Recorded]:
    """Messages from a time on, after the last ones of latched topics until then, or their first ones.

    Who subscribes to a latched topic knows its last message before others arrive, whenever that was recorded.

    Args:
        file: to play.
        channels: that are wanted.
        latched: those of them that keep their last messages.
        since: [ns].
    """
    played = set()
    later = [file.starts[channel] for channel in latched if file.starts.get(channel, 0) > since]
    for message in file.messages(latched, until=max([since, *later])):
        if message.at < since or message.at == file.starts[message.channel]:
            played.add(message)
            yield message._replace(at=since)
    for message in file.messages(channels, since=since):
        if message in played:
            played.discard(message)
        else:
            yield message


class Player:
    """Plays messages, once or again and again.

    Its methods may be called from any thread; `publish`, `tick` and `on_failure` are called by the player's own.
    """

    def __init__(
        self,
        messages: Callable[[], Iterator[Recorded]],
        publish: Callable[[Recorded], None],
        *,
        rate: float = 1.0,
        loop: bool = False,
        paused: bool = False,
        tick: Callable[[int], None] | None = None,
        on_end: Callable[[], None] | None = None,
        on_failure: Callable[[Exception], None] | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Make a player; `start` starts it.

        Args:
            messages: begins anew; called for each pass.
            publish: takes each message when it is due.
            rate: seconds of the recording in one second; 0: as fast as it goes.
            loop: whether it begins again at the end.
            paused: whether it waits for `pause(False)`.
            tick: gets the time in the recording [ns], at least each `CLOCK_PERIOD`, and before each message.
            on_end: called at the end of the last pass.
            on_failure: gets what `messages` or `publish` raised; the player has ended then.
            clock: due times are on its steady time.
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
        self._anchor: tuple[int, int] | None = None  # steady clock and time in the recording, both [ns]
        self._from: int | None = None  # time in the recording from which due times count; None: from the first message
        self._reached: int | None = None
        self._pass = 0  # a new number begins anew
        self._played = 0
        self._is_stopped = False
        self._has_ended = False
        self._thread = threading.Thread(target=self._run, name="player", daemon=True)

    # --- requests and state -------------------------------------------------------------------------------------
    @property
    def played(self) -> int:
        """How many messages were played, in all passes."""
        return self._played

    @property
    def position(self) -> int | None:
        """Time in the recording of the last message that was played [ns]; None before the first one."""
        return self._reached

    @property
    def is_paused(self) -> bool:
        """True if it waits for `pause(False)`."""
        return self._is_paused

    @property
    def has_ended(self) -> bool:
        """True if all was played; `restart` plays it again."""
        return self._has_ended

    def start(self) -> None:
        """Begin to play."""
        self._thread.start()

    def pause(self, paused: bool) -> None:
        """Stop at the next message, or go on from there."""
        with self._condition:
            self._is_paused = paused
            self._forget_anchor()

    def set_rate(self, rate: float) -> None:
        """Seconds of the recording in one second; 0: as fast as it goes."""
        with self._condition:
            self._forget_anchor()
            self._rate = rate

    def set_loop(self, loop: bool) -> None:
        """Begin again at the end, or not."""
        with self._condition:
            self._loop = loop
            self._condition.notify_all()

    def restart(self) -> None:
        """Begin anew; where it was paused, it stays so."""
        with self._condition:
            self._pass += 1
            self._begin_anew()
            self._condition.notify_all()

    def stop(self) -> None:
        """End the thread; idempotent, and from any thread."""
        with self._condition:
            self._is_stopped = True
            self._condition.notify_all()
        if self._thread.ident is not None and threading.current_thread() is not self._thread:
            self._thread.join()

    def _forget_anchor(self) -> None:
        """Count due times anew, from where the recording is now."""
        if self._anchor is not None:
            self._from = self._now()
        self._anchor = None
        self._condition.notify_all()

    def _begin_anew(self) -> None:
        self._has_ended = False
        self._from = self._reached = self._anchor = None

    # --- the thread ---------------------------------------------------------------------------------------------
    def _run(self) -> None:
        try:
            while not self._is_stopped:
                number = self._pass
                if self._play(number):
                    self._end_of(number)
        except Exception as problem:  # passed to the owner of the player
            with self._condition:
                self._is_stopped = True
            if self._on_failure is not None:
                self._on_failure(problem)

    def _play(self, number: int) -> bool:
        """One pass; whether it came to its end."""
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
        """Wait for what makes it begin anew."""

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
                self._begin_anew()

    def _wait_until(self, at: int, number: int) -> bool:
        """Wait until a time of the recording; False where that time is not to come in this pass."""
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
        """The time in the recording."""
        assert self._anchor is not None
        steady, position = self._anchor
        return position + round((self._clock.now_ns() - steady) * self._rate)
