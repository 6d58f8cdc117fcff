# SPDX-License-Identifier: Apache-2.0
"""The serial line of one or several RCB-1: the host asks, one board answers.

Sources: RoadNarrows' KHR1Serial.py (input flushed before each try, 4 retries, 10 ms pause) and the reference (30 ms).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from ada_hardware.driver import LinkCounts
from ada_hardware.kondo.line import Question, QuestionLine
from ada_hardware.kondo.rcb1.codec import NO_BOARD, Command, Reply, ReplyParser, encode_command
from ada_hardware.kondo.rcb1.commands import BOARDS, COMMANDS, Code
from ada_hardware.transport.wires import ByteStream

BAUD = 115_200
_BITS = 10  # of a byte on the line: start, eight, stop
_HINT = f"Is the robot switched on, the cable in, the line at {BAUD} baud 8N1, and the ID of the board right?"


class Rcb1Bus:
    """Boards on one line.

    Attributes:
        url: address of the line.
        counts: what happened on it.
    """

    def __init__(
        self,
        wire: ByteStream,
        *,
        timeout: float = 0.030,
        retries: int = 4,
        pause: float = 0.010,
        clock: Callable[[], float] = time.monotonic,
        counts: LinkCounts | None = None,
    ) -> None:
        """Use a line; arguments as of `QuestionLine`."""
        self._line = QuestionLine(wire, timeout=timeout, retries=retries, pause=pause, clock=clock, counts=counts)
        self.url, self.counts = self._line.url, self._line.counts

    def ask(
        self, code: Code, board: int = NO_BOARD, values: Sequence[int] = (), *, retries: int | None = None
    ) -> Reply:
        """Send a command until it is answered.

        Args:
            code: of the command.
            board: ID.
            values: of its fields.
            retries: other than the usual number.

        Raises:
            InputError: a value is not allowed; nothing was sent.
            NoAnswer: no try was answered.
            TransportError: the line is gone.
        """
        command = Command(code, board, tuple(int(value) for value in values))
        return self._line.ask(_question(command), _HINT, retries)

    def try_once(self, command: Command) -> Reply | None:
        """Send a command and wait for its reply; None where none came in time.

        Raises:
            InputError: a value is not allowed; nothing was sent.
            TransportError: the line is gone.
        """
        return self._line.try_once(_question(command))

    def boards(self) -> list[int]:
        """IDs of the boards that answer; takes about a second, and moves nothing.

        Raises:
            TransportError: the line is gone.
        """
        return [board for board in range(BOARDS) if self.try_once(Command(Code.GET_SWITCHES, board)) is not None]


def _question(command: Command) -> Question[Reply]:
    whom = "" if command.board == NO_BOARD else f" of board {command.board}"
    name = f"{command.code.name} ({command.code:#04x}){whom}"
    return Question(encode_command(command), lambda: ReplyParser(command), wire_time(command.code), name)


def wire_time(code: Code) -> float:
    """Time that the bytes of a command and its reply take on the line [s]."""
    kind = COMMANDS[code]
    return (kind.length + kind.reply_length) * _BITS / BAUD
