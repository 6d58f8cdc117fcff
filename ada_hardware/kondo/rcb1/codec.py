# SPDX-License-Identifier: Apache-2.0
"""RCB-1 codec: commands and replies that the driver uses, their encoding and decoding, incremental parsers. No I/O.

    frame = encode_command(Rcb1Command(Rcb1Code.SET_POSITIONS, 0, (4, *[90] * 12)))
    parser = reply_parser(Rcb1Command(Rcb1Code.GET_POSITIONS, 0))
    parser.feed(received)                                # [Rcb1Reply(...)] once the reply is complete

Sources, which agree: RoadNarrows' KHR1Cmd.py and KHR1Serial.py, Rcb1.cs, D. Albert's partial translation of "RCB-1
Command Reference" 2005.02. A command has no start marker; its first byte determines its length. The last byte of a
command, and of a reply with data, is the sum of the preceding bytes AND 0x7F. The reply to a write command is
[board, 0x06]. A board does not reply to damaged frames or frames for another board.

The 7-bit checksum does not detect an error in the highest bit of a byte. Values out of range are refused, which detects
most of these errors; positions must also be checked for plausibility (`ada_hardware.plausibility`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import partial
from typing import NamedTuple

from ada_dynamics.errors import InputError
from ada_hardware.transport.framing import FrameParser

BAUD = 115_200
NO_BOARD = -1
_BITS = 10  # per byte: start, eight data bits, stop
BOARD_CHANNELS = 12
BOARDS = 32  # IDs 0 to 31
SPEEDS = 8  # 0 fastest, 7 slowest
LARGEST_ANGLE = 180  # [deg]; one count is one degree
ACK = 0x06
ID_KEY = 0x5A  # second byte of SET_ID, protects against accidental use
SLEEP = 0x01  # software switch: servos are free
MOTION_ENABLE = 0x02  # software switch: stored motions can be played

# Special values in place of an angle; supported by the red servos, not by the older blue ones.
FREE = 0xDD
POSITION_1, POSITION_2, POSITION_3 = 0xDE, 0xDF, 0xE0
LOW = 0xE1  # in files and home lists of Heart To Heart: channel without a servo
HIGH = 0xE2
UNUSED_OF_RCB1_CS = 0xFF  # written by Rcb1.cs for a channel without a servo
SPECIAL_POSITIONS = (FREE, POSITION_1, POSITION_2, POSITION_3, LOW, HIGH, UNUSED_OF_RCB1_CS)


class Rcb1Code(IntEnum):
    """First byte of a command."""

    SET_ID = 0xFF
    GET_ID = 0xFE
    SET_POSITIONS = 0xFD
    GET_POSITIONS = 0xFC
    GET_HOME = 0xFA
    SET_SWITCHES = 0xF1
    GET_SWITCHES = 0xF0


class Field(NamedTuple):
    """One byte of a frame."""

    name: str  # name for messages
    lowest: int  # smallest regular value
    highest: int  # largest regular value
    others: tuple[int, ...] = ()  # special values

    def allows(self, value: int) -> bool:
        """Return True if the value is allowed."""
        return self.lowest <= value <= self.highest or value in self.others

    @property
    def allowed(self) -> str:
        """Allowed values as text."""
        more = f", or one of {', '.join(f'{value:#04x}' for value in self.others)}" if self.others else ""
        return f"{self.lowest} to {self.highest}{more}"


class CommandKind(NamedTuple):
    """Entry of the command table."""

    code: Rcb1Code  # first byte
    names_board: bool  # the board ID follows the code (and ID_KEY)
    fields: tuple[Field, ...]  # fields between board ID and checksum
    reply: tuple[Field, ...] | None  # fields of the reply between board ID and checksum; None: the reply is [ID, ACK]
    keyed: bool = False  # ID_KEY follows the code

    @property
    def length(self) -> int:
        """Length of the command including its checksum [bytes]."""
        return 1 + self.keyed + self.names_board + len(self.fields) + 1

    @property
    def reply_length(self) -> int:
        """Length of the reply including its checksum or ACK [bytes]."""
        return 2 if self.reply is None else 1 + len(self.reply) + 1


BOARD = Field("board", 0, BOARDS - 1)
SPEED = Field("speed", 0, SPEEDS - 1)
CHANNELS = tuple(Field(f"channel {i}", 0, LARGEST_ANGLE, SPECIAL_POSITIONS) for i in range(1, BOARD_CHANNELS + 1))
_SWITCHES = Field("switches", 0, SLEEP | MOTION_ENABLE)

_KINDS = (
    CommandKind(Rcb1Code.SET_ID, True, (), None, keyed=True),
    CommandKind(Rcb1Code.GET_ID, False, (), ()),
    CommandKind(Rcb1Code.SET_POSITIONS, True, (SPEED, *CHANNELS), None),
    CommandKind(Rcb1Code.GET_POSITIONS, True, (), CHANNELS),
    CommandKind(Rcb1Code.GET_HOME, True, (), CHANNELS),
    CommandKind(Rcb1Code.SET_SWITCHES, True, (_SWITCHES,), None),
    CommandKind(Rcb1Code.GET_SWITCHES, True, (), (_SWITCHES,)),
)

COMMANDS: Mapping[int, CommandKind] = {int(kind.code): kind for kind in _KINDS}


def wire_time(code: Rcb1Code) -> float:
    """Transmission time of a command and its reply [s]."""
    kind = COMMANDS[code]
    return (kind.length + kind.reply_length) * _BITS / BAUD


class Rcb1Command(NamedTuple):
    """Command of the host."""

    code: Rcb1Code  # command code
    board: int = NO_BOARD  # ID of the board; NO_BOARD for GET_ID, which has no such field
    values: tuple[int, ...] = ()  # values of the fields, in the order of the command table

    @property
    def kind(self) -> CommandKind:
        """Entry of the command table."""
        return COMMANDS[self.code]


class Rcb1Reply(NamedTuple):
    """Reply of a board."""

    code: Rcb1Code  # code of the command
    board: int  # ID of the replying board
    values: tuple[int, ...] = ()  # values of the reply fields; empty for an acknowledgement


def checksum(data: bytes) -> int:
    """Checksum of a frame: sum of all preceding bytes, modulo 128."""
    return sum(data) & 0x7F


def encode_command(command: Rcb1Command) -> bytes:
    """Encode a command.

    Raises:
        InputError: the number of values is wrong or a value is out of range.
    """
    kind = command.kind
    body = [int(kind.code)]
    if kind.keyed:
        body.append(ID_KEY)
    if kind.names_board:
        _check(command.code, (BOARD,), (command.board,))
        body.append(command.board)
    elif command.board != NO_BOARD:
        text = f"RCB-1 {kind.code.name}: has no board field; leave out board {command.board}."
        raise InputError(text, field="board", value=command.board)
    _check(command.code, kind.fields, command.values)
    return _with_checksum(bytes([*body, *command.values]))


def encode_reply(reply: Rcb1Reply) -> bytes:
    """Encode a reply; raises InputError like `encode_command`."""
    kind = COMMANDS[reply.code]
    _check(reply.code, (BOARD,), (reply.board,))
    if kind.reply is None:
        _check(reply.code, (), reply.values)
        return bytes((reply.board, ACK))
    _check(reply.code, kind.reply, reply.values)
    return _with_checksum(bytes((reply.board, *reply.values)))


def decode_command(frame: bytes) -> Rcb1Command | None:
    """Decode a complete frame; return None if it is not a command. Its values may be out of range."""
    kind = COMMANDS.get(frame[0]) if frame else None
    if kind is None or len(frame) != kind.length or not _has_valid_checksum(frame):
        return None
    if kind.keyed and frame[1] != ID_KEY:
        return None
    start = 1 + kind.keyed + kind.names_board
    return Rcb1Command(kind.code, frame[start - 1] if kind.names_board else NO_BOARD, tuple(frame[start:-1]))


def decode_reply(command: Rcb1Command, frame: bytes) -> Rcb1Reply | None:
    """Decode the reply to a command; return None if the frame is not a valid reply."""
    kind = command.kind
    if len(frame) != kind.reply_length or not BOARD.allows(frame[0]):
        return None
    if kind.names_board and frame[0] != command.board:
        return None
    if kind.reply is None:
        return Rcb1Reply(kind.code, frame[0]) if frame[1] == ACK else None
    values = tuple(frame[1:-1])
    is_allowed = all(field.allows(value) for field, value in zip(kind.reply, values, strict=True))
    return Rcb1Reply(kind.code, frame[0], values) if is_allowed and _has_valid_checksum(frame) else None


def reply_parser(command: Rcb1Command) -> FrameParser[Rcb1Reply]:
    """Create the parser of the reply to a command (host side)."""
    length = command.kind.reply_length
    return FrameParser(lambda _: length, partial(decode_reply, command))


def command_parser() -> FrameParser[Rcb1Command]:
    """Create the parser of commands to any board (board side).

    Command codes exceed all other bytes of a frame except 0xFF, so the parser resynchronizes quickly after an error.
    """
    return FrameParser(_command_length, decode_command)


def _command_length(begin: bytes) -> int | None:
    kind = COMMANDS.get(begin[0])
    return None if kind is None else kind.length


def _with_checksum(body: bytes) -> bytes:
    return body + bytes((checksum(body),))


def _has_valid_checksum(frame: bytes) -> bool:
    return frame[-1] == checksum(frame[:-1])


def _check(code: Rcb1Code, fields: Sequence[Field], values: Sequence[int]) -> None:
    if len(fields) != len(values):
        wanted = ", ".join(field.name for field in fields) or "none"
        text = f"RCB-1 {code.name}: {len(values)} values; expected {len(fields)}: {wanted}."
        raise InputError(text, field="values", value=len(values), allowed=len(fields))
    for field, value in zip(fields, values, strict=True):
        if not field.allows(value):
            text = f"RCB-1 {code.name}: {field.name} is {value}; allowed are {field.allowed}."
            raise InputError(text, field=field.name, value=value, allowed=field.allowed)
