# SPDX-License-Identifier: Apache-2.0
"""A serial line on which the host asks and a board answers: tries, time-outs, late answers. Any protocol."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, Generic, TypeVar

from ada_hardware.transport.framing import FrameParser
from ada_hardware.transport.wires import ByteStream
from ada_robot.driver import LinkCounts
from ada_robot.errors import NoAnswer

C = TypeVar("C")
R = TypeVar("R")
_CHUNK = 512  # [bytes] read at once


class Question(Generic[R]):
    """A question, and how its answer is recognised.

    Attributes:
        frame: to be sent.
        parser: makes a new parser of the answer.
        wire_time: of both on the line [s].
        name: for messages.
    """

    def __init__(self, frame: bytes, parser: Callable[[], FrameParser[R]], wire_time: float, name: str) -> None:
        self.frame, self.parser, self.wire_time, self.name = frame, parser, wire_time, name


class BoardBus(ABC, Generic[C, R]):
    """Boards on a line, asked by commands of type C that they answer with replies of type R.

    Attributes:
        url: address of the line.
        counts: what happened on it.
        hint: of the message where there is no answer: what to look at.
    """

    TIMEOUT: ClassVar[float]  # [s]
    hint: str

    def __init__(
        self,
        wire: ByteStream,
        *,
        timeout: float | None = None,
        retries: int = 4,
        pause: float = 0.010,
        clock: Callable[[], float] = time.monotonic,
        counts: LinkCounts | None = None,
    ) -> None:
        """Use a line.

        Args:
            wire: the line.
            timeout: from the end of a question to the end of its answer, without the time that bytes take [s]; None:
                as usual for the board.
            retries: further tries after the first.
            pause: before each of them, in which late answers are let go by [s].
            clock: steady time [s].
            counts: to be kept; None: new ones.
        """
        self.url = wire.url
        self._wire, self._retries, self._pause, self._clock = wire, retries, pause, clock
        self._timeout = self.TIMEOUT if timeout is None else timeout
        self.counts = LinkCounts() if counts is None else counts
        self._trouble = ""

    @abstractmethod
    def _question(self, command: C) -> Question[R]:
        """A command as it is asked.

        Raises:
            InputError: a value that the board does not know.
        """

    def _until_answered(self, command: C, retries: int | None = None) -> R:
        """Send a command until it is answered.

        Args:
            command: to be sent.
            retries: other than the usual number.

        Raises:
            InputError: a value that the board does not know; nothing was sent.
            NoAnswer: no try was answered.
            TransportError: the line is gone.
        """
        question = self._question(command)
        tries = 1 + (self._retries if retries is None else retries)
        for attempt in range(tries):
            if attempt:
                self.counts.retries += 1
                self._drain(self._pause)
            reply = self._try(question)
            if reply is not None:
                return reply
        text = (
            f"{self.url}: no answer to {question.name} in {tries} tries of {self._timeout * 1e3:.0f} ms "
            f"({self._trouble}). {self.hint}"
        )
        raise NoAnswer(text, field="command", value=question.name)

    def try_once(self, command: C) -> R | None:
        """Send a command and wait for its reply; None where none came in time.

        Raises:
            InputError: a value that the board does not know; nothing was sent.
            TransportError: the line is gone.
        """
        return self._try(self._question(command))

    def _try(self, question: Question[R]) -> R | None:
        parser = question.parser()
        self._wire.discard_input()  # a late answer must not be taken for that of this question
        self._wire.write(question.frame)
        self.counts.sent += 1
        deadline = self._clock() + self._timeout + question.wire_time
        while True:
            left = deadline - self._clock()
            replies = parser.feed(self._wire.read(_CHUNK, max(left, 0.0)))
            if replies:
                self.counts.received += 1
                return replies[0]
            if left <= 0.0:
                break
        if strange := parser.refused + parser.waiting:
            self.counts.refused += 1
            self._trouble = f"{strange} bytes came that are no answer to it"
        else:
            self.counts.missed += 1
            self._trouble = "silence"
        self.counts.last_problem = f"{question.name}: {self._trouble}"
        return None

    def _drain(self, duration: float) -> None:
        """Wait, reading what comes and forgetting it."""
        deadline = self._clock() + duration
        while (left := deadline - self._clock()) > 0.0:
            self._wire.read(_CHUNK, left)
