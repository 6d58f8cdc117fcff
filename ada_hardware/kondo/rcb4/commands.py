# SPDX-License-Identifier: Apache-2.0
"""Commands of the RCB-4 that the driver sends, their value checks, and the memory map of the board.

Sources, which agree: Kondo's Rcb4BaseLib (as in sunilgora/xml-Kondo-khr3hv), iory/rcb4, nake90/librcb4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum, IntFlag
from itertools import pairwise
from typing import NamedTuple, TypeAlias

ACK, NACK = 0x06, 0x15
SERVOS = 35  # ICS numbers 0 to 34; 35 is the receiver of the remote control
FREE, HOLD = 0x8000, 0x7FFF  # special values in place of a position
LOWEST, CENTRE, HIGHEST = 3500, 7500, 11500
COUNTS_PER_DEGREE = 4000 / 135

CONFIG = 0x0000  # RAM addresses
ADC = 0x0022  # 11 channels of two bytes; channel 0 is the supply voltage
DEVICES = 0x0090  # 20 bytes each
RAM_SIZE = 0x0490
DEVICE_SIZE = 20
TRIM, MEASURED, TARGET, FRAME = 2, 4, 6, 8  # offsets in the 20 bytes of a device
VOLTS_PER_COUNT = 5.0 / 1024 * 4.9  # 10-bit converter of 5 V behind a voltage divider
LONGEST_DATA = 252  # bytes of a reply, limited by its one-byte length


class Code(IntEnum):
    """Second byte of a frame: command code."""

    MOVE = 0x00
    CALL = 0x0C
    RETURN = 0x0D
    MOVE_SERVO = 0x0F
    MOVE_SERVOS = 0x10
    SET_PARAMETER = 0x12
    VERSION = 0xFD
    ACK_CHECK = 0xFE


class Direction(IntEnum):
    """Third byte of MOVE: source and destination."""

    COM_TO_RAM = 0x02
    RAM_TO_COM = 0x20


class Parameter(IntEnum):
    """Parameters of SET_PARAMETER; values 1 to 127."""

    STRETCH = 1
    SPEED = 2
    CURRENT_LIMIT = 3
    TEMPERATURE_LIMIT = 4


class Config(IntFlag):
    """Bits of the configuration word at address CONFIG."""

    ICS = 0x0001  # communication with the servos
    RUN_PROGRAM = 0x0002  # execution of the program in ROM
    SERVO_RESPONSE = 0x0004
    VECTOR_JUMP = 0x0008
    FRAME_TIME = 0x0030
    COM_SPEED = 0x00C0
    GREEN_LED = 0x8000


class Move(NamedTuple):
    """Target of one servo.

    Attributes:
        servo: ICS number, id * 2 + sio - 1.
        position: 3500 to 11500, HOLD or FREE.
    """

    servo: int
    position: int


def is_position(value: int) -> bool:
    """Return True if the value is a valid position command."""
    return LOWEST <= value <= HIGHEST or value in (FREE, HOLD)


def counts_of_angle(angle: float) -> int:
    """Convert a servo angle from the centre [deg] to counts."""
    return round(CENTRE + angle * COUNTS_PER_DEGREE)


def angle_of_counts(position: float) -> float:
    """Convert counts to a servo angle from the centre [deg]."""
    return (position - CENTRE) / COUNTS_PER_DEGREE


def device_address(servo: int, offset: int = 0) -> int:
    """RAM address of the data of a servo."""
    return DEVICES + servo * DEVICE_SIZE + offset


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
    wrong = (row for row in _values(command) if not row[2])
    return next(
        (Fault(name, value, f"{name} {value}; allowed are {allowed}") for name, value, _, allowed in wrong), None
    )


def _values(command: CommandFrame) -> Iterator[tuple[str, object, bool, str]]:
    """Values of a command: name, value, whether it is allowed, and the allowed values."""
    match command:
        case ReadRam(address, size):
            yield from _memory(address, size, LONGEST_DATA)
        case WriteRam(address, data):
            yield from _memory(address, len(data), 248)
        case Call(address, condition):
            yield "address", address, 0 <= address < 1 << 18, "0 to 0x3ffff"
            yield "condition", condition, 0 <= condition <= 15, "0 to 15"
        case MoveServo(servo, frame, position):
            yield from _moves(frame, [Move(servo, position)])
        case MoveServos(frame, moves):
            yield from _moves(frame, moves)
        case SetParameter(parameter, values):
            known = ", ".join(f"{p.value} ({p.name})" for p in Parameter)
            yield "parameter", parameter, parameter in set(Parameter), known
            yield from (("value", value, 1 <= value <= 127, "1 to 127") for _, value in values)
            yield from _ascending([servo for servo, _ in values])


def _memory(address: int, size: int, most: int) -> Iterator[tuple[str, object, bool, str]]:
    yield (
        "address",
        address,
        0 <= address < RAM_SIZE and address + size <= RAM_SIZE,
        f"less than {RAM_SIZE:#x}, with size",
    )
    yield "size", size, 1 <= size <= most, f"1 to {most}"


def _moves(frame: int, moves: Sequence[Move]) -> Iterator[tuple[str, object, bool, str]]:
    yield "frame", frame, 1 <= frame <= 255, "1 to 255"
    allowed = f"{LOWEST} to {HIGHEST}, 0x7fff (hold), 0x8000 (free)"
    yield from (("position", move.position, is_position(move.position), allowed) for move in moves)
    yield from _ascending([move.servo for move in moves])


def _ascending(servos: list[int]) -> Iterator[tuple[str, object, bool, str]]:
    yield "servos", servos, bool(servos), "one or more"
    yield from (("servo", servo, 0 <= servo < SERVOS, f"0 to {SERVOS - 1}") for servo in servos)
    yield "servos", servos, all(a < b for a, b in pairwise(servos)), "numbers in ascending order"
