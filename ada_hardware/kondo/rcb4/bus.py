# SPDX-License-Identifier: Apache-2.0
"""The serial line of an RCB-4: the host asks, the board answers; a refusal is an error of its own."""

from __future__ import annotations

from typing import Any, ClassVar

from ada_hardware.kondo.line import BoardBus, Question
from ada_hardware.kondo.rcb4.codec import Reply, ReplyParser, data_length, encode_command
from ada_hardware.kondo.rcb4.commands import NACK
from ada_hardware.kondo.rcb4.messages import CommandFrame, code_of
from ada_hardware.transport.wires import ByteStream
from ada_robot.errors import DeviceAlarm

COM_SPEEDS = (115_200, 625_000, 1_250_000)  # [baud]
_BITS = 11  # of a byte on the line: start, eight, even parity, stop
_LONGEST_TEXT = 68  # [bytes] of the answer to a question for the version


class Rcb4Bus(BoardBus[CommandFrame, Reply]):
    """A board on its line."""

    TIMEOUT: ClassVar[float] = 0.05

    def __init__(self, wire: ByteStream, *, com_speed: int = COM_SPEEDS[0], **options: Any) -> None:
        """Use a line; `com_speed`: of the line [baud], the other arguments as of `BoardBus`."""
        super().__init__(wire, **options)
        self._com_speed = com_speed
        self.hint = (
            f"Is the robot switched on, the cable in, and the board's COM set to {com_speed} baud with even parity "
            f"({', '.join(map(str, COM_SPEEDS))} can be set in HeartToHeart4)?"
        )

    def ask(self, command: CommandFrame, *, retries: int | None = None) -> bytes:
        """Send a command until it is answered; the data that was asked for.

        Raises:
            InputError: a value that the board does not know; nothing was sent.
            NoAnswer: no try was answered.
            DeviceAlarm: the board refuses the command.
            TransportError: the line is gone.
        """
        reply = self._until_answered(command, retries)
        if not reply.is_ack:
            text = (
                f"khr3: {self.url}: the board refuses {code_of(command).name} (NACK, {NACK:#04x}); is it an RCB-4, and "
                "does the angle map have the right ids and sios?"
            )
            raise DeviceAlarm(text, field="command", value=code_of(command).name)
        return reply.data

    def _question(self, command: CommandFrame) -> Question[Reply]:
        name = f"{code_of(command).name} ({code_of(command):#04x})"
        return Question(
            encode_command(command), lambda: ReplyParser(command), wire_time(command, self._com_speed), name
        )


def wire_time(command: CommandFrame, com_speed: int) -> float:
    """Time that the bytes of a command and its reply take on the line [s]."""
    data = data_length(command)
    answer = _LONGEST_TEXT if data is None else 3 + (data or 1)
    return (len(encode_command(command)) + answer) * _BITS / com_speed
