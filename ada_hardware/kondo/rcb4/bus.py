# SPDX-License-Identifier: Apache-2.0
"""Serial line of an RCB-4 board; a NACK raises DeviceAlarm."""

from __future__ import annotations

from typing import Any, ClassVar

from ada_hardware.kondo.board_bus import BoardBus, Request
from ada_hardware.kondo.rcb4.codec import Reply, ReplyParser, data_length, encode_command
from ada_hardware.kondo.rcb4.commands import NACK, CommandFrame, code_of
from ada_hardware.transport.wires import ByteStream
from ada_robot.errors import DeviceAlarm

COM_SPEEDS = (115_200, 625_000, 1_250_000)  # [baud]
_BITS = 11  # per byte: start, eight data bits, even parity, stop
_LONGEST_TEXT = 68  # [bytes] of a version reply


class Rcb4Bus(BoardBus[CommandFrame, Reply]):
    """RCB-4 board on a serial line."""

    TIMEOUT: ClassVar[float] = 0.05

    def __init__(self, wire: ByteStream, *, com_speed: int = COM_SPEEDS[0], **options: Any) -> None:
        """Use an open line with a rate of `com_speed` [baud]; the other arguments are those of `BoardBus`."""
        super().__init__(wire, **options)
        self._com_speed = com_speed
        self.hint = (
            f"Check the power switch, the cable, and the COM setting of the board: {com_speed} baud, even parity "
            f"({', '.join(map(str, COM_SPEEDS))} can be set in HeartToHeart4)."
        )

    def ask(self, command: CommandFrame, *, retries: int | None = None) -> bytes:
        """Send a command until a reply is received, and return the data of the reply.

        Raises:
            InputError: a value is out of range; no data were sent.
            NoAnswer: no reply was received.
            DeviceAlarm: the board refused the command (NACK).
            TransportError: the line failed.
        """
        reply = self._until_answered(command, retries)
        if not reply.is_ack:
            text = (
                f"khr3: {self.url}: the board refused {code_of(command).name} (NACK, {NACK:#04x}); check that it is an "
                "RCB-4 and that the angle map has the right ids and sios."
            )
            raise DeviceAlarm(text, field="command", value=code_of(command).name)
        return reply.data

    def _request(self, command: CommandFrame) -> Request[Reply]:
        name = f"{code_of(command).name} ({code_of(command):#04x})"
        return Request(encode_command(command), lambda: ReplyParser(command), wire_time(command, self._com_speed), name)


def wire_time(command: CommandFrame, com_speed: int) -> float:
    """Transmission time of a command and its reply [s]."""
    data = data_length(command)
    answer = _LONGEST_TEXT if data is None else 3 + (data or 1)
    return (len(encode_command(command)) + answer) * _BITS / com_speed
