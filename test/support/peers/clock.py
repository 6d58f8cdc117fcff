# SPDX-License-Identifier: Apache-2.0
"""Time that only goes on when somebody waits, wires on which it does, and answers on their way: in lock step."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable, Iterable

from ada_dynamics.clock import ManualClock
from ada_hardware.transport.wires import Wire
from ada_robot.errors import TransportError

STEP = 0.0005  # [s]
START = 100.0  # [s] of the clock of a scene
Reply = tuple[float, bytes]  # how long after the question it comes [s], and what


class Answers:
    """Replies of a device, with switches for silence, loss, delay and damage."""

    def __init__(self, answer_after: float) -> None:
        self.is_silent, self.lose, self.answer_after = False, 0.0, answer_after
        self.mangle: Callable[[bytes, random.Random], bytes | None] | None = None
        self.chance = random.Random(1)

    def said(self, data: bytes) -> bytes | None:
        """An answer as it arrives, or None if nothing does."""
        if self.is_silent or self.chance.random() < self.lose:
            return None
        return data if self.mangle is None else self.mangle(data, self.chance)


class LockStepWire(Wire):
    """A wire to a peer, which hears packets at once, and bytes of a serial line after their time."""

    def __init__(self, clock: ManualClock, hear: Callable[[float, bytes], Iterable[Reply]], baud: int = 0) -> None:
        """Connect what hears data (time, data) and answers; baud: of a serial line, ten bits to a byte; 0: packets."""
        self.url, self.clock = "lockstep:", clock
        self.is_pulled = False
        self.source: Callable[[float], Iterable[tuple[float, bytes]]] | None = None
        self._hear, self._byte = hear, 10.0 / baud if baud else 0.0
        self._queue: list[tuple[float, int, bytes]] = []
        self._numbers = itertools.count()

    def send(self, data: bytes) -> None:
        self._require()
        self.clock.advance(self._byte * len(data))
        self.add(list(self._hear(self.clock.now(), data)))

    def add(self, replies: Iterable[Reply]) -> None:
        for delay, data in replies:
            self._arrives(self.clock.now() + delay + self._byte * len(data), data)

    def receive(self, timeout: float) -> bytes | None:
        self._require()
        end = self.clock.now() + max(timeout, 0.0)
        while True:  # in steps where the device speaks by itself: what it says depends on what is done to it until then
            until = end if self.source is None else min(end, self.clock.now() + STEP)
            self._hear_source(until)
            if self._queue and self._queue[0][0] <= until:
                at, _, data = heapq.heappop(self._queue)
                self.clock.advance(at - self.clock.now())
                return data
            self.clock.advance(until - self.clock.now())
            if until >= end:
                return None

    def discard_input(self) -> None:
        """Only what has come: what is still on its way comes later."""
        self._hear_source(self.clock.now())
        while self._queue and self._queue[0][0] <= self.clock.now():
            heapq.heappop(self._queue)

    def close(self) -> None:
        """Free it; a driver that was given a wire may open it again."""

    def _hear_source(self, until: float) -> None:
        for at, data in self.source(until) if self.source is not None else ():
            self._arrives(at, data)

    def _arrives(self, at: float, data: bytes) -> None:
        heapq.heappush(self._queue, (at, next(self._numbers), data))

    def _require(self) -> None:
        if self.is_pulled:
            raise TransportError("lock step: the cable is out.")
