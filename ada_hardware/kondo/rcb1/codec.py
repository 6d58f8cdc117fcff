# SPDX-License-Identifier: Apache-2.0
"""Bytes of the RCB-1 and back: commands and replies, and incremental parsers for both ends of the line. No I/O.

    frame = encode_command(CommandFrame(Code.SET_POSITIONS, 0, (4, *[90] * 12)))
    parser = ReplyParser(CommandFrame(Code.GET_POSITIONS, 0))
    parser.feed(bytes_as_they_come)                      # [Reply(...)] once it is complete

A checksum of seven bits does not detect damage that leaves the sum alone modulo 128, such as a flip of any byte's
highest bit. Values outside of their fields' ranges are refused as well, which catches most of that; who acts upon a
position has to see whether a servo can have got there (`ada_hardware.plausible`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from ada_dynamics.errors import InputError
from ada_hardware.kondo.rcb1.commands import ACK, BOARD, COMMANDS, ID_KEY, Code, CommandKind, Field
from ada_hardware.transport.framing import FrameParser

NO_BOARD = -1


class CommandFrame(NamedTuple):
    """A command of the host.

    Attributes:
        code: what shall be done.
        board: ID of the board; NO_BOARD for GET_ID, which names none.
        values: its fields, in the order of the table of commands.
    """

    code: Code
    board: int = NO_BOARD
    values: tuple[int, ...] = ()

    @property
    def kind(self) -> CommandKind:
        """Its row of the table."""
        return COMMANDS[self.code]


class Reply(NamedTuple):
    """A reply of a board.

    Attributes:
        code: of the command.
        board: that answers.
        values: the fields of a reply with data; empty for an acknowledgement.
    """

    code: Code
    board: int
    values: tuple[int, ...] = ()


def checksum(data: bytes) -> int:
    """Checksum of all bytes before it."""
    return sum(data) & 0x7F


def encode_command(command: CommandFrame) -> bytes:
    """Bytes of a command.

    Raises:
        InputError: it has too few or too many values, or one that its field does not allow.
    """
    kind = command.kind
    body = [int(kind.code)]
    if kind.keyed:
        body.append(ID_KEY)
    if kind.names_board:
        _check(command.code, (BOARD,), (command.board,))
        body.append(command.board)
    elif command.board != NO_BOARD:
        text = f"RCB-1 {kind.code.name}: it names no board; leave out board {command.board}."
        raise InputError(text, field="board", value=command.board)
    _check(command.code, kind.fields, command.values)
    return _closed(bytes([*body, *command.values]))


def encode_reply(reply: Reply) -> bytes:
    """Bytes of a reply; as `encode_command`."""
    kind = COMMANDS[reply.code]
    _check(reply.code, (BOARD,), (reply.board,))
    if kind.reply is None:
        _check(reply.code, (), reply.values)
        return bytes((reply.board, ACK))
    _check(reply.code, kind.reply, reply.values)
    return _closed(bytes((reply.board, *reply.values)))


def decode_command(frame: bytes, *, checks_values: bool = True) -> CommandFrame | None:
    """The command that a frame is; None where it is none.

    Args:
        frame: of the right length.
        checks_values: whether a value that its field does not allow makes it none.
    """
    kind = COMMANDS.get(frame[0]) if frame else None
    if kind is None or len(frame) != kind.length or not _is_closed(frame):
        return None
    if kind.keyed and frame[1] != ID_KEY:
        return None
    start = 1 + kind.keyed + kind.names_board
    board, values = (frame[start - 1] if kind.names_board else NO_BOARD), tuple(frame[start:-1])
    if checks_values and not (_are_allowed(kind.fields, values) and (board == NO_BOARD or BOARD.allows(board))):
        return None
    return CommandFrame(kind.code, board, values)


def decode_reply(command: CommandFrame, frame: bytes) -> Reply | None:
    """The reply to a command that a frame is; None where it is none."""
    kind = command.kind
    if len(frame) != kind.reply_length or not BOARD.allows(frame[0]):
        return None
    if kind.names_board and frame[0] != command.board:
        return None
    if kind.reply is None:
        return Reply(kind.code, frame[0]) if frame[1] == ACK else None
    values = tuple(frame[1:-1])
    return Reply(kind.code, frame[0], values) if _is_closed(frame) and _are_allowed(kind.reply, values) else None


class ReplyParser(FrameParser[Reply]):
    """The host's end: finds the reply to one command in what comes."""

    def __init__(self, command: CommandFrame) -> None:
        """Wait for the reply to a command."""
        length = command.kind.reply_length
        super().__init__(lambda _: length, partial(decode_reply, command))


class CommandParser(FrameParser[CommandFrame]):
    """The board's end: finds commands, whatever board they are for.

    Within a command no byte is as great as a first byte, but for 0xFF: after damage the next command is found soon.
    """

    def __init__(self, *, checks_values: bool = True) -> None:
        """Begin with an empty line; `checks_values` as in `decode_command`."""
        super().__init__(_command_length, partial(decode_command, checks_values=checks_values))


def _command_length(begin: bytes) -> int | None:
    kind = COMMANDS.get(begin[0])
    return None if kind is None else kind.length


def _closed(body: bytes) -> bytes:
    return body + bytes((checksum(body),))


def _is_closed(frame: bytes) -> bool:
    return frame[-1] == checksum(frame[:-1])


def _are_allowed(fields: Sequence[Field], values: Sequence[int]) -> bool:
    return all(field.allows(value) for field, value in zip(fields, values, strict=True))


def _check(code: Code, fields: Sequence[Field], values: Sequence[int]) -> None:
    if len(fields) != len(values):
        wanted = ", ".join(field.name for field in fields) or "none"
        text = f"RCB-1 {code.name}: it has {len(values)} values; it takes {len(fields)}: {wanted}."
        raise InputError(text, field="values", value=len(values), allowed=len(fields))
    for field, value in zip(fields, values, strict=True):
        if not field.allows(value):
            text = f"RCB-1 {code.name}: {field.name} is {value}; allowed are {field.allowed}."
            raise InputError(text, field=field.name, value=value, allowed=field.allowed)
