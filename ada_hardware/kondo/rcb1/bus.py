# SPDX-License-Identifier: Apache-2.0
"""The serial line of one or several RCB-1: the host asks, one board answers.

Sources: RoadNarrows' KHR1Serial.py (input flushed before each try, 4 retries, 10 ms pause) and the reference (30 ms).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ada_hardware.kondo.line import BoardBus, Question
from ada_hardware.kondo.rcb1.codec import NO_BOARD, CommandFrame, Reply, ReplyParser, encode_command
from ada_hardware.kondo.rcb1.commands import BOARDS, COMMANDS, Code

BAUD = 115_200
_BITS = 10  # of a byte on the line: start, eight, stop


class Rcb1Bus(BoardBus[CommandFrame, Reply]):
    """Boards on one line."""

    TIMEOUT: ClassVar[float] = 0.030
    hint = f"Is the robot switched on, the cable in, the line at {BAUD} baud 8N1, and the ID of the board right?"

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
        return self._until_answered(CommandFrame(code, board, tuple(int(value) for value in values)), retries)

    def boards(self) -> list[int]:
        """IDs of the boards that answer; takes about a second, and moves nothing.

        Raises:
            TransportError: the line is gone.
        """
        return [board for board in range(BOARDS) if self.try_once(CommandFrame(Code.GET_SWITCHES, board)) is not None]

    def _question(self, command: CommandFrame) -> Question[Reply]:
        whom = "" if command.board == NO_BOARD else f" of board {command.board}"
        name = f"{command.code.name} ({command.code:#04x}){whom}"
        return Question(encode_command(command), lambda: ReplyParser(command), wire_time(command.code), name)


def wire_time(code: Code) -> float:
    """Time that the bytes of a command and its reply take on the line [s]."""
    kind = COMMANDS[code]
    return (kind.length + kind.reply_length) * _BITS / BAUD
