# SPDX-License-Identifier: Apache-2.0
"""Request and reply exchange with boards on a serial line: retries, timeouts, stale replies; for any protocol."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ada_hardware.transport.framing import FrameParser
from ada_hardware.transport.wires import Wire
from ada_robot.driver import LinkCounts
from ada_robot.errors import NoAnswer

C = TypeVar("C")
R = TypeVar("R")
RETRIES = 4  # of a request without a reply
_PAUSE = 0.010  # [s] before a retry, in which stale replies are discarded


@dataclass(frozen=True)
class BoardRequest(Generic[R]):
    """Request frame and the parser of its reply."""

    frame: bytes  # bytes to be sent
    parser: Callable[[], FrameParser[R]]  # factory of a parser for the reply
    wire_time: float  # transmission time of request and reply [s]
    name: str  # name of the command for messages


class BoardBus(ABC, Generic[C, R]):
    """Boards on a serial line; C is the type of commands, R the type of replies.

    Attributes:
        url: address of the line.
        counts: communication statistics.
        hint: remedy for the message about a missing reply.
    """

    hint: str

    def __init__(self, wire: Wire, timeout: float, counts: LinkCounts, clock: Callable[[], float]) -> None:
        """Use an open line.

        Args:
            wire: the line.
            timeout: time between the end of a request and the end of its reply, without transmission time [s].
            counts: statistics to update.
            clock: monotonic time [s].
        """
        self.url, self.counts = wire.url, counts
        self._wire, self._timeout, self._clock = wire, timeout, clock
        self._problem = ""

    @abstractmethod
    def _request(self, command: C) -> BoardRequest[R]:
        """Encode a command; raises InputError."""

    def ask(self, command: C, retries: int = RETRIES) -> R:
        """Send a command until a reply is received.

        Args:
            command: command to send.
            retries: number of retries.

        Raises:
            InputError: a value is out of range; no data were sent.
            NoAnswer: no reply was received.
            TransportError: the line failed.
        """
        request = self._request(command)
        for attempt in range(1 + retries):
            if attempt:
                self.counts.retries += 1
                resumed = self._clock() + _PAUSE
                while (left := resumed - self._clock()) > 0.0:
                    self._wire.receive(left)
            reply = self._try(request)
            if reply is not None:
                return reply
        text = (
            f"{self.url}: no answer to {request.name} in {1 + retries} tries of {self._timeout * 1e3:.0f} ms "
            f"({self._problem}). {self.hint}"
        )
        raise NoAnswer(text, field="command", value=request.name)

    def try_once(self, command: C) -> R | None:
        """Send a command once and return its reply, or None after a timeout.

        Raises:
            InputError: a value is out of range; no data were sent.
            TransportError: the line failed.
        """
        return self._try(self._request(command))

    def _try(self, request: BoardRequest[R]) -> R | None:
        parser = request.parser()
        self._wire.discard_input()  # stale replies
        self._wire.send(request.frame)
        self.counts.sent += 1
        deadline = self._clock() + self._timeout + request.wire_time
        while True:
            left = deadline - self._clock()
            replies = parser.feed(self._wire.receive(max(left, 0.0)) or b"")
            if replies:
                self.counts.received += 1
                return replies[0]
            if left <= 0.0:
                break
        if strange := parser.refused + parser.waiting:
            self.counts.refused += 1
            self._problem = f"{strange} bytes received that are no valid reply"
        else:
            self.counts.missed += 1
            self._problem = "no byte received"
        self.counts.last_problem = f"{request.name}: {self._problem}"
        return None
