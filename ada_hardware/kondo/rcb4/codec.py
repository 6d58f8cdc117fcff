# SPDX-License-Identifier: Apache-2.0
"""RCB-4 codec: commands and replies that the driver uses, their value checks, and the memory map of the board. No I/O.

A frame is [length, command, ..., checksum]; the checksum is the sum of all preceding bytes AND 0xFF. Sources, which
agree: Kondo's Rcb4BaseLib (as in sunilgora/xml-Kondo-khr3hv), iory/rcb4, nake90/librcb4.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum, IntFlag
from functools import partial
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from ada_dynamics.errors import InputError
from ada_hardware.transport.framing import FrameParser

ACK, NACK = 0x06, 0x15
SERVOS = 35  # ICS numbers 0 to 34; 35 is the receiver of the remote control
FREE, HOLD = 0x8000, 0x7FFF  # special values in place of a position
LOWEST, CENTRE, HIGHEST = 3500, 7500, 11500
COUNTS_PER_DEGREE = 4000 / 135
FRAME_TIME = 0.015  # [s] of a servo frame

CONFIG = 0x0000  # RAM addresses
ADC = 0x0022  # 11 channels of two bytes; channel 0 is the supply voltage
DEVICES = 0x0090  # 20 bytes each
RAM_SIZE = 0x0490
DEVICE_SIZE = 20
TRIM, MEASURED, TARGET, FRAME = 2, 4, 6, 8  # offsets in the 20 bytes of a device
VOLTS_PER_COUNT = 5.0 / 1024 * 4.9  # 10-bit converter of 5 V behind a voltage divider
LONGEST_DATA = 252  # bytes of a reply, limited by its one-byte length
COM_SPEEDS = (115_200, 625_000, 1_250_000)  # [baud]
_BITS = 11  # per byte: start, eight data bits, even parity, stop
_LONGEST_TEXT = 68  # [bytes] of a version reply
_MASK_BYTES = 5  # of MOVE_SERVOS, one bit per servo
_READ_LENGTH, _WRITE_HEAD = 10, 6  # [bytes] of MOVE
_VERDICTS = {bytes((ACK,)): True, bytes((NACK,)): False}


class Rcb4Code(IntEnum):
    """Second byte of a frame: command code."""

    MOVE = 0x00
    MOVE_SERVOS = 0x10
    VERSION = 0xFD
    ACK_CHECK = 0xFE


class Direction(IntEnum):
    """Third byte of MOVE: source and destination."""

    COM_TO_RAM = 0x02
    RAM_TO_COM = 0x20


_LENGTHS = {Rcb4Code.VERSION: 3, Rcb4Code.ACK_CHECK: 4}  # of commands of fixed length
_KNOWN, _DIRECTIONS = frozenset(map(int, Rcb4Code)), frozenset(map(int, Direction))


class Config(IntFlag):
    """Bits of the configuration word at address CONFIG."""

    ICS = 0x0001  # communication with the servos
    RUN_PROGRAM = 0x0002  # execution of the program in ROM
    SERVO_RESPONSE = 0x0004
    VECTOR_JUMP = 0x0008


class Move(NamedTuple):
    """Target of one servo."""

    servo: int  # ICS number, id * 2 + sio - 1
    position: int  # 3500 to 11500, HOLD or FREE


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


class MoveServos(NamedTuple):
    """Move servos to positions within a number of frames; ICS numbers ascend."""

    frame: int
    moves: tuple[Move, ...]


class Version(NamedTuple):
    """Read the firmware name."""


class AckCheck(NamedTuple):
    """Check that the board replies."""


Rcb4Command: TypeAlias = ReadRam | WriteRam | MoveServos | Version | AckCheck

_CODES: dict[type, Rcb4Code] = {
    ReadRam: Rcb4Code.MOVE,
    WriteRam: Rcb4Code.MOVE,
    MoveServos: Rcb4Code.MOVE_SERVOS,
    Version: Rcb4Code.VERSION,
    AckCheck: Rcb4Code.ACK_CHECK,
}


def code_of(command: Rcb4Command) -> Rcb4Code:
    """Command code: second byte of the frame."""
    return _CODES[type(command)]


class Fault(NamedTuple):
    """Command value out of range."""

    field: str  # name of the field
    value: object  # the value
    text: str  # value and allowed values, for messages


def fault_of(command: Rcb4Command) -> Fault | None:
    """Return the first value of a command that is out of range, or None."""
    wrong = (row for row in _values(command) if not row[2])
    return next(
        (Fault(name, value, f"{name} {value}; allowed are {allowed}") for name, value, _, allowed in wrong), None
    )


def _values(command: Rcb4Command) -> Iterator[tuple[str, object, bool, str]]:
    """Values of a command: name, value, whether it is allowed, and the allowed values."""
    match command:
        case ReadRam(address, size):
            yield from _memory(address, size, LONGEST_DATA)
        case WriteRam(address, data):
            yield from _memory(address, len(data), 248)
        case MoveServos(frame, moves):
            yield "frame", frame, 1 <= frame <= 255, "1 to 255"
            allowed = f"{LOWEST} to {HIGHEST}, 0x7fff (hold), 0x8000 (free)"
            yield from (("position", move.position, is_position(move.position), allowed) for move in moves)
            servos = [move.servo for move in moves]
            yield "servos", servos, bool(servos), "one or more"
            yield from (("servo", servo, 0 <= servo < SERVOS, f"0 to {SERVOS - 1}") for servo in servos)
            yield "servos", servos, all(a < b for a, b in pairwise(servos)), "numbers in ascending order"


def _memory(address: int, size: int, most: int) -> Iterator[tuple[str, object, bool, str]]:
    yield (
        "address",
        address,
        0 <= address < RAM_SIZE and address + size <= RAM_SIZE,
        f"less than {RAM_SIZE:#x}, with size",
    )
    yield "size", size, 1 <= size <= most, f"1 to {most}"


class Rcb4Reply(NamedTuple):
    """Reply of the board."""

    code: Rcb4Code  # code of the command
    data: bytes = b""  # requested data; b"" for ACK and NACK
    is_ack: bool = True  # False for a NACK


def checksum(data: bytes) -> int:
    """Checksum of a frame: sum of all preceding bytes, modulo 256."""
    return sum(data) & 0xFF


# --- host to board ----------------------------------------------------------------------------------------------------
def encode_command(command: Rcb4Command) -> bytes:
    """Encode a command.

    Raises:
        InputError: a value is out of range.
    """
    problem = fault_of(command)
    if problem is not None:
        message = f"RCB-4 {code_of(command).name}: {problem.text}."
        raise InputError(message, field=problem.field, value=problem.value)
    body = bytes((code_of(command), *_payload(command)))
    return with_checksum(body)


def with_checksum(body: bytes) -> bytes:
    """Add length and checksum to the body of a frame."""
    frame = bytes((len(body) + 2,)) + body
    return frame + bytes((checksum(frame),))


def _payload(command: Rcb4Command) -> bytes:
    match command:
        case ReadRam(address, size):
            return bytes((Direction.RAM_TO_COM, 0, 0, 0, address & 0xFF, address >> 8, size))
        case WriteRam(address, data):
            return bytes((Direction.COM_TO_RAM, address & 0xFF, address >> 8, 0)) + data
        case MoveServos(frame, moves):
            positions = b"".join(move.position.to_bytes(2, "little") for move in moves)
            mask = sum(1 << move.servo for move in moves).to_bytes(_MASK_BYTES, "little")
            return mask + bytes((frame,)) + positions
        case AckCheck():
            return bytes((ACK,))
        case Version():
            return b""


def decode_command(frame: bytes) -> Rcb4Command | None:
    """Decode a complete frame; return None if it is not a command. Its values may be out of range, see `fault_of`."""
    if len(frame) < 3 or frame[0] != len(frame) or frame[-1] != checksum(frame[:-1]) or not _is_beginning(frame):
        return None
    return _decode_body(Rcb4Code(frame[1]), frame[2:-1])


def _decode_body(code: Rcb4Code, body: bytes) -> Rcb4Command | None:
    """Decode the bytes between code and checksum; `_is_beginning` has checked their number."""
    if code is Rcb4Code.ACK_CHECK:
        return AckCheck() if body[0] == ACK else None
    if code is Rcb4Code.VERSION:
        return Version()
    if code is Rcb4Code.MOVE_SERVOS:
        mask, rest = int.from_bytes(body[:_MASK_BYTES], "little"), body[_MASK_BYTES:]
        servos = [i for i in range(8 * _MASK_BYTES) if mask >> i & 1]
        positions = [int.from_bytes(rest[1 + 2 * i : 3 + 2 * i], "little") for i in range(len(servos))]
        return MoveServos(rest[0], tuple(map(Move, servos, positions)))
    if body[0] == Direction.RAM_TO_COM:
        return ReadRam(body[4] | body[5] << 8, body[6])
    return WriteRam(body[1] | body[2] << 8, bytes(body[4:]))


# --- board to host ----------------------------------------------------------------------------------------------------
def data_length(command: Rcb4Command) -> int | None:
    """Return the number of data bytes in the reply: 0 for ACK or NACK only, None for a text of any length."""
    if isinstance(command, ReadRam):
        return command.size
    return None if isinstance(command, Version) else 0


def wire_time(command: Rcb4Command, com_speed: int) -> float:
    """Transmission time of a command and its reply [s]."""
    data = data_length(command)
    answer = _LONGEST_TEXT if data is None else 3 + (data or 1)
    return (len(encode_command(command)) + answer) * _BITS / com_speed


def encode_reply(reply: Rcb4Reply) -> bytes:
    """Encode a reply.

    Raises:
        InputError: the data are too long.
    """
    if len(reply.data) > LONGEST_DATA:
        text = f"RCB-4 reply: {len(reply.data)} bytes of data; at most {LONGEST_DATA} fit."
        raise InputError(text, field="data", value=len(reply.data), allowed=f"at most {LONGEST_DATA} bytes")
    return with_checksum(bytes((reply.code,)) + (reply.data or bytes((ACK if reply.is_ack else NACK,))))


def decode_reply(command: Rcb4Command, frame: bytes) -> Rcb4Reply | None:
    """Decode the reply to a command; return None if the frame is not a valid reply."""
    if len(frame) < 4 or frame[0] != len(frame) or frame[-1] != checksum(frame[:-1]) or frame[1] != code_of(command):
        return None
    code, data, wanted = Rcb4Code(frame[1]), bytes(frame[2:-1]), data_length(command)
    if len(data) == wanted:
        return Rcb4Reply(code, data)
    is_ack = _VERDICTS.get(data)
    if is_ack is not None:
        return Rcb4Reply(code, b"", is_ack) if wanted == 0 or not is_ack else None
    return Rcb4Reply(code, data) if wanted is None else None


def reply_parser(command: Rcb4Command) -> FrameParser[Rcb4Reply]:
    """Create the parser of the reply to a command (host side)."""
    return FrameParser(partial(_reply_length, data_length(command), code_of(command)), partial(decode_reply, command))


def _reply_length(data: int | None, code: int, begin: bytes) -> int | None:
    if len(begin) < 2:
        return 2
    length = begin[0]
    fits = length >= 4 if data is None else length in (4, data + 3)
    return length if fits and begin[1] == code else None


def command_parser() -> FrameParser[Rcb4Command]:
    """Create the parser of commands (board side)."""
    return FrameParser(_command_length, decode_command)


def _command_length(begin: bytes) -> int | None:
    length = begin[0]
    return length if _is_beginning(begin[:length]) else None


# --- checks -----------------------------------------------------------------------------------------------------------
def _is_beginning(data: bytes) -> bool:
    """Return True if the bytes can be the start of a command; detects a wrong length early."""
    length = data[0] if data else 3
    if length < 3:
        return False
    if len(data) < 2:
        return True
    code = data[1]
    if code not in _KNOWN or length != _LENGTHS.get(Rcb4Code(code), length):
        return False
    if code == Rcb4Code.MOVE_SERVOS:
        least = 2 + _MASK_BYTES + 2
        count = int.from_bytes(data[2 : 2 + _MASK_BYTES], "little").bit_count()
        return length >= least and (len(data) < 2 + _MASK_BYTES or length == least + 2 * count)
    if code != Rcb4Code.MOVE or len(data) < 3:
        return True
    if data[2] not in _DIRECTIONS:
        return False
    return length == _READ_LENGTH if data[2] == Direction.RAM_TO_COM else length > _WRITE_HEAD + 1
