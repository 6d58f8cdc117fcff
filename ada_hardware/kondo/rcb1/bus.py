# SPDX-License-Identifier: Apache-2.0
"""Serial line of one or several RCB-1 boards.

Sources: RoadNarrows' KHR1Serial.py (input flushed before each try, 4 retries, 10 ms pause) and the reference (30 ms).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ada_hardware.kondo.board_bus import BoardBus, Request
from ada_hardware.kondo.rcb1.codec import NO_BOARD, CommandFrame, Reply, ReplyParser, encode_command
from ada_hardware.kondo.rcb1.commands import BOARDS, COMMANDS, Code

BAUD = 115_200
_BITS = 10  # per byte: start, eight data bits, stop


class Rcb1Bus(BoardBus[CommandFrame, Reply]):
    """RCB-1 boards on one serial line."""

    TIMEOUT: ClassVar[float] = 0.030
    hint = f"Check the power switch, the cable, the line settings ({BAUD} baud, 8N1) and the ID of the board."

    def ask(
        self, code: Code, board: int = NO_BOARD, values: Sequence[int] = (), *, retries: int | None = None
    ) -> Reply:
        """Send a command until a reply is received.

        Args:
            code: command code.
            board: ID of the board.
            values: values of the fields.
            retries: number of retries; None for the default.

        Raises:
            InputError: a value is out of range; no data were sent.
            NoAnswer: no reply was received.
            TransportError: the line failed.
        """
        return self._until_answered(CommandFrame(code, board, tuple(int(value) for value in values)), retries)

    def boards(self) -> list[int]:
        """Return the IDs of all boards that reply; takes about a second, without motion.

        Raises:
            TransportError: the line failed.
        """
        return [board for board in range(BOARDS) if self.try_once(CommandFrame(Code.GET_SWITCHES, board)) is not None]

    def _request(self, command: CommandFrame) -> Request[Reply]:
        whom = "" if command.board == NO_BOARD else f" of board {command.board}"
        name = f"{command.code.name} ({command.code:#04x}){whom}"
        return Request(encode_command(command), lambda: ReplyParser(command), wire_time(command.code), name)


def wire_time(code: Code) -> float:
    """Transmission time of a command and its reply [s]."""
    kind = COMMANDS[code]
    return (kind.length + kind.reply_length) * _BITS / BAUD
