# SPDX-License-Identifier: Apache-2.0
"""Time that only goes on when somebody waits, and wires on which it does: the world in lock step."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable

from ada_dynamics.clock import ManualClock
from ada_hardware.transport.wires import Wire
from ada_robot.errors import TransportError

STEP = 0.0005  # [s]
START = 100.0  # [s] of the clock of a scene
Reply = tuple[float, bytes]  # how long after the question it comes [s], and what


class _Arrivals:
    """Data on its way to the host."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.is_pulled = self.is_closed = False
        self.source: Callable[[float], Iterable[tuple[float, bytes]]] | None = None
        self._queue: list[tuple[float, int, bytes]] = []
        self._numbers = itertools.count()

    def add(self, replies: Iterable[Reply]) -> None:
        for delay, data in replies:
            heapq.heappush(self._queue, (self.clock.now() + delay, next(self._numbers), data))

    def take(self, timeout: float) -> bytes | None:
        self.require()
        end = self.clock.now() + max(timeout, 0.0)
        while True:  # in steps where the device speaks by itself: what it says depends on what is done to it until then
            until = end if self.source is None else min(end, self.clock.now() + STEP)
            for at, data in self.source(until) if self.source is not None else ():
                heapq.heappush(self._queue, (at, next(self._numbers), data))
            if self._queue and self._queue[0][0] <= until:
                at, _, data = heapq.heappop(self._queue)
                self.clock.advance(at - self.clock.now())
                return data
            self.clock.advance(until - self.clock.now())
            if until >= end:
                return None

    def forget(self) -> None:
        """Only what has come: what is still on its way comes later."""
        for at, data in self.source(self.clock.now()) if self.source is not None else ():
            heapq.heappush(self._queue, (at, next(self._numbers), data))
        while self._queue and self._queue[0][0] <= self.clock.now():
            heapq.heappop(self._queue)

    def require(self) -> None:
        if self.is_pulled:
            raise TransportError("lock step: the cable is out.")
        if self.is_closed:
            raise TransportError("lock step: is closed.")


class LockStepPackets(Wire):
    """Packets to a peer: each is heard at once, and answers come when the peer says."""

    def __init__(
        self, clock: ManualClock, peer: Callable[[float, object, bytes], Iterable[Reply]], sender: object
    ) -> None:
        """Args: clock; what hears packets (time, sender, packet) and answers; the sender's address."""
        self.url = f"lockstep:{sender}"
        self._peer, self._sender, self.arrivals = peer, sender, _Arrivals(clock)

    def send(self, packet: bytes) -> None:
        self.arrivals.require()
        self.arrivals.add(self._peer(self.arrivals.clock.now(), self._sender, packet))

    def receive(self, timeout: float) -> bytes | None:
        return self.arrivals.take(timeout)

    def discard_input(self) -> None:
        self.arrivals.forget()

    def close(self) -> None:
        """Free it; a driver that was given a wire may open it again."""


class LockStepLine(Wire):
    """A serial line to a peer, with the time that its bytes need."""

    def __init__(self, clock: ManualClock, peer: Callable[[float, bytes], Iterable[Reply]], baud: int) -> None:
        """Args: clock; what hears bytes (time, bytes) and answers; bits per second, ten of them to a byte."""
        self.url = "lockstep:line"
        self._peer, self._byte, self.arrivals = peer, 10.0 / baud, _Arrivals(clock)

    def send(self, data: bytes) -> None:
        self.arrivals.require()
        self.arrivals.clock.advance(self._byte * len(data))
        replies = list(self._peer(self.arrivals.clock.now(), data))
        self.arrivals.add((delay + self._byte * len(answer), answer) for delay, answer in replies)

    def receive(self, timeout: float) -> bytes | None:
        self.arrivals.require()
        return self.arrivals.take(timeout)

    def discard_input(self) -> None:
        self.arrivals.forget()

    def close(self) -> None:
        """Free it; a driver that was given a line may open it again."""
