# SPDX-License-Identifier: Apache-2.0
"""RCB-4 codec and incremental parsers for host and board. No I/O.

A frame is [length, command, ..., checksum]; the checksum is the sum of all preceding bytes AND 0xFF.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from ada_dynamics.errors import InputError
from ada_hardware.kondo.rcb4 import commands as c
from ada_hardware.kondo.rcb4.commands import (
    ACK,
    NACK,
    AckCheck,
    Call,
    Code,
    CommandFrame,
    Direction,
    Move,
    MoveServo,
    MoveServos,
    ReadRam,
    Return,
    SetParameter,
    Version,
    WriteRam,
    code_of,
    fault_of,
)
from ada_hardware.transport.framing import FrameParser

_MASK_BYTES = 5
# Commands of fixed length.
_LENGTHS = {Code.CALL: 7, Code.RETURN: 3, Code.MOVE_SERVO: 7, Code.VERSION: 3, Code.ACK_CHECK: 4}
_READ_LENGTH, _WRITE_HEAD = 10, 6
_VERDICTS = {bytes((ACK,)): True, bytes((NACK,)): False}
_KNOWN, _DIRECTIONS = frozenset(map(int, Code)), frozenset(map(int, Direction))
_MASKED = frozenset((Code.MOVE_SERVOS, Code.SET_PARAMETER))
COM_SPEEDS = (115_200, 625_000, 1_250_000)  # [baud]
_BITS = 11  # per byte: start, eight data bits, even parity, stop
_LONGEST_TEXT = 68  # [bytes] of a version reply


class Reply(NamedTuple):
    """Reply of the board.

    Attributes:
        code: code of the command.
        data: requested data; b"" for ACK and NACK.
        is_ack: False for a NACK.
    """

    code: Code
    data: bytes = b""
    is_ack: bool = True


def checksum(data: bytes) -> int:
    """Checksum of a frame: sum of all preceding bytes, modulo 256."""
    return sum(data) & 0xFF


# --- host to board ----------------------------------------------------------------------------------------------------
def encode_command(command: CommandFrame) -> bytes:
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


def _payload(command: CommandFrame) -> bytes:
    match command:
        case ReadRam(address, size):
            return bytes((Direction.RAM_TO_COM, 0, 0, 0, address & 0xFF, address >> 8, size))
        case WriteRam(address, data):
            return bytes((Direction.COM_TO_RAM, address & 0xFF, address >> 8, 0)) + data
        case Call(address, condition):
            return address.to_bytes(3, "little") + bytes((condition,))
        case MoveServo(servo, frame, position):
            return bytes((servo, frame)) + position.to_bytes(2, "little")
        case MoveServos(frame, moves):
            positions = b"".join(move.position.to_bytes(2, "little") for move in moves)
            return _mask([move.servo for move in moves]) + bytes((frame,)) + positions
        case SetParameter(parameter, values):
            return _mask([servo for servo, _ in values]) + bytes((parameter, *(value for _, value in values)))
        case AckCheck():
            return bytes((ACK,))
        case Version() | Return():
            return b""


def decode_command(frame: bytes, *, checks_values: bool = True) -> CommandFrame | None:
    """Decode a complete frame; return None if it is not a valid command.

    Args:
        frame: frame of the length given by its first byte.
        checks_values: refuse values out of range.
    """
    if len(frame) < 3 or frame[0] != len(frame) or frame[-1] != checksum(frame[:-1]) or not _is_beginning(frame):
        return None
    command = _decode_body(Code(frame[1]), frame[2:-1])
    if command is None or (checks_values and fault_of(command)):
        return None
    return command


def _decode_body(code: Code, body: bytes) -> CommandFrame | None:
    """Decode the bytes between code and checksum; `_is_beginning` has checked their number."""
    if code is Code.MOVE:
        return _decode_move(body)
    if code is Code.CALL:
        return Call(int.from_bytes(body[:3], "little"), body[3])
    if code is Code.MOVE_SERVO:
        return MoveServo(body[0], body[1], int.from_bytes(body[2:4], "little"))
    if code is Code.ACK_CHECK:
        return AckCheck() if body[0] == ACK else None
    if code is Code.VERSION:
        return Version()
    if code is Code.RETURN:
        return Return()
    return _decode_masked(code, body)


def _decode_move(body: bytes) -> CommandFrame:
    if body[0] == Direction.RAM_TO_COM:
        return ReadRam(body[4] | body[5] << 8, body[6])
    return WriteRam(body[1] | body[2] << 8, bytes(body[4:]))


def _decode_masked(code: Code, body: bytes) -> CommandFrame:
    mask = int.from_bytes(body[:_MASK_BYTES], "little")
    servos = [i for i in range(8 * _MASK_BYTES) if mask >> i & 1]
    rest = body[_MASK_BYTES:]
    if code is Code.MOVE_SERVOS:
        positions = [int.from_bytes(rest[1 + 2 * i : 3 + 2 * i], "little") for i in range(len(servos))]
        return MoveServos(rest[0], tuple(map(Move, servos, positions)))
    return SetParameter(rest[0], tuple(zip(servos, rest[1:], strict=True)))


# --- board to host ----------------------------------------------------------------------------------------------------
def data_length(command: CommandFrame) -> int | None:
    """Return the number of data bytes in the reply: 0 for ACK or NACK only, None for a text of any length."""
    if isinstance(command, ReadRam):
        return command.size
    return None if isinstance(command, Version) else 0


def wire_time(command: CommandFrame, com_speed: int) -> float:
    """Transmission time of a command and its reply [s]."""
    data = data_length(command)
    answer = _LONGEST_TEXT if data is None else 3 + (data or 1)
    return (len(encode_command(command)) + answer) * _BITS / com_speed


def encode_reply(reply: Reply) -> bytes:
    """Encode a reply.

    Raises:
        InputError: the data are too long.
    """
    if len(reply.data) > c.LONGEST_DATA:
        text = f"RCB-4 reply: {len(reply.data)} bytes of data; at most {c.LONGEST_DATA} fit."
        raise InputError(text, field="data", value=len(reply.data), allowed=f"at most {c.LONGEST_DATA} bytes")
    return with_checksum(bytes((reply.code,)) + (reply.data or bytes((ACK if reply.is_ack else NACK,))))


def decode_reply(command: CommandFrame, frame: bytes) -> Reply | None:
    """Decode the reply to a command; return None if the frame is not a valid reply."""
    if len(frame) < 4 or frame[0] != len(frame) or frame[-1] != checksum(frame[:-1]) or frame[1] != code_of(command):
        return None
    code, data, wanted = Code(frame[1]), bytes(frame[2:-1]), data_length(command)
    if len(data) == wanted:
        return Reply(code, data)
    is_ack = _VERDICTS.get(data)
    if is_ack is not None:
        return Reply(code, b"", is_ack) if wanted == 0 or not is_ack else None
    return Reply(code, data) if wanted is None else None


class ReplyParser(FrameParser[Reply]):
    """Parser for the reply to one command (host side)."""

    def __init__(self, command: CommandFrame) -> None:
        super().__init__(partial(_reply_length, data_length(command), code_of(command)), partial(decode_reply, command))


def _reply_length(data: int | None, code: int, begin: bytes) -> int | None:
    if len(begin) < 2:
        return 2
    length = begin[0]
    fits = length >= 4 if data is None else length in (4, data + 3)
    return length if fits and begin[1] == code else None


class CommandParser(FrameParser[CommandFrame]):
    """Parser for commands (board side)."""

    def __init__(self, *, checks_values: bool = True) -> None:
        super().__init__(_command_length, partial(decode_command, checks_values=checks_values))


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
    if code not in _KNOWN or length != _LENGTHS.get(Code(code), length):
        return False
    if code in _MASKED:
        least = 2 + _MASK_BYTES + 2
        return length >= least and (len(data) < 7 or length == _masked_length(Code(code), data[2:7]))
    if code != Code.MOVE or len(data) < 3:
        return True
    if data[2] not in _DIRECTIONS:
        return False
    return length == _READ_LENGTH if data[2] == Direction.RAM_TO_COM else length > _WRITE_HEAD + 1


def _masked_length(code: Code, mask: bytes) -> int:
    count = int.from_bytes(mask, "little").bit_count()
    return 2 + _MASK_BYTES + 1 + (2 * count if code is Code.MOVE_SERVOS else count) + 1


def _mask(servos: Sequence[int]) -> bytes:
    return sum(1 << servo for servo in servos).to_bytes(_MASK_BYTES, "little")
