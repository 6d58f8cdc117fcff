# SPDX-License-Identifier: Apache-2.0
"""Commands of the RCB-4 and their value checks; only those that the driver sends."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from ada_hardware.kondo.rcb4 import commands as c
from ada_hardware.kondo.rcb4.commands import Code, Move


class ReadRam(NamedTuple):
    """Read bytes of the RAM."""

    address: int
    size: int


class WriteRam(NamedTuple):
    """Write bytes to the RAM."""

    address: int
    data: bytes


class Call(NamedTuple):
    """Call a subroutine in ROM."""

    address: int
    condition: int = 0


class Return(NamedTuple):
    """Return from a subroutine in ROM."""


class MoveServo(NamedTuple):
    """Move one servo to a position within a number of frames."""

    servo: int
    frame: int
    position: int


class MoveServos(NamedTuple):
    """Move servos to positions within a number of frames; ICS numbers ascend."""

    frame: int
    moves: tuple[Move, ...]


class SetParameter(NamedTuple):
    """Set a parameter of servos; ICS numbers ascend."""

    parameter: int
    values: tuple[tuple[int, int], ...]


class Version(NamedTuple):
    """Read the firmware name."""


class AckCheck(NamedTuple):
    """Check that the board replies."""


CommandFrame: TypeAlias = (
    ReadRam | WriteRam | Call | Return | MoveServo | MoveServos | SetParameter | Version | AckCheck
)

_CODES: dict[type, Code] = {
    ReadRam: Code.MOVE,
    WriteRam: Code.MOVE,
    Call: Code.CALL,
    Return: Code.RETURN,
    MoveServo: Code.MOVE_SERVO,
    MoveServos: Code.MOVE_SERVOS,
    SetParameter: Code.SET_PARAMETER,
    Version: Code.VERSION,
    AckCheck: Code.ACK_CHECK,
}


def code_of(command: CommandFrame) -> Code:
    """Command code: second byte of the frame."""
    return _CODES[type(command)]


class Fault(NamedTuple):
    """Command value out of range.

    Attributes:
        field: name of the field.
        value: the value.
        text: value and allowed values, for messages.
    """

    field: str
    value: object
    text: str


def fault_of(command: CommandFrame) -> Fault | None:
    """Return the first value of a command that is out of range, or None."""
    match command:
        case ReadRam(address, size):
            return _bad_place(address, size)
        case WriteRam(address, data):
            return _bad_place(address, len(data)) or _bad_size(len(data), 248)
        case Call(address, condition):
            if not 0 <= address < 1 << 18:
                return Fault("address", address, f"address {address:#x}; the ROM has 0 to 0x3ffff")
            is_allowed = 0 <= condition <= 15
            return None if is_allowed else Fault("condition", condition, f"condition {condition}; allowed are 0 to 15")
        case MoveServo(servo, frame, position):
            return _bad_servo(servo) or _bad_frame(frame) or _bad_position(servo, position)
        case MoveServos(frame, moves):
            return _bad_frame(frame) or _bad_moves(moves)
        case SetParameter(parameter, values):
            if parameter not in set(c.Parameter):
                known = ", ".join(f"{p.value} ({p.name})" for p in c.Parameter)
                return Fault("parameter", parameter, f"parameter {parameter}; allowed are {known}")
            return next(filter(None, map(_bad_value, values)), None) or _bad_order([servo for servo, _ in values])
        case _:
            return None


def _bad_place(address: int, size: int) -> Fault | None:
    if not 0 <= address < c.RAM_SIZE or address + size > c.RAM_SIZE:
        return Fault("address", address, f"{size} bytes at {address:#06x}; the RAM ends before {c.RAM_SIZE:#06x}")
    return _bad_size(size, c.LONGEST_DATA)


def _bad_size(size: int, most: int) -> Fault | None:
    return None if 1 <= size <= most else Fault("size", size, f"{size} bytes; allowed are 1 to {most}")


def _bad_servo(servo: int) -> Fault | None:
    if 0 <= servo < c.SERVOS:
        return None
    return Fault("servo", servo, f"ICS number {servo}; allowed are 0 to {c.SERVOS - 1}")


def _bad_frame(frame: int) -> Fault | None:
    return None if 1 <= frame <= 255 else Fault("frame", frame, f"{frame} frames; allowed are 1 to 255")


def _bad_position(servo: int, position: int) -> Fault | None:
    if c.is_position(position):
        return None
    allowed = f"{c.LOWEST} to {c.HIGHEST}, 0x7fff (hold), 0x8000 (free)"
    return Fault("position", position, f"position {position} of servo {servo}; allowed are {allowed}")


def _bad_value(of_servo: tuple[int, int]) -> Fault | None:
    servo, value = of_servo
    return None if 1 <= value <= 127 else Fault("value", value, f"value {value} of servo {servo}; allowed are 1 to 127")


def _bad_moves(moves: Sequence[Move]) -> Fault | None:
    wrong = (_bad_position(move.servo, move.position) for move in moves)
    return next(filter(None, wrong), None) or _bad_order([move.servo for move in moves])


def _bad_order(servos: Sequence[int]) -> Fault | None:
    if not servos:
        return Fault("servos", servos, "no servos")
    if any(_bad_servo(servo) for servo in servos):
        return _bad_servo(max(servos, key=lambda s: (s >= c.SERVOS, -s)))
    is_ascending = all(a < b for a, b in pairwise(servos))
    return None if is_ascending else Fault("servos", servos, f"servos {servos} are not in ascending order")
