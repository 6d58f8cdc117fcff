# SPDX-License-Identifier: Apache-2.0
"""RCB-1 codec: encoding and decoding of commands and replies, incremental parsers for host and board. No I/O.

    frame = encode_command(CommandFrame(Code.SET_POSITIONS, 0, (4, *[90] * 12)))
    parser = ReplyParser(CommandFrame(Code.GET_POSITIONS, 0))
    parser.feed(received)                                # [Reply(...)] once the reply is complete

The 7-bit checksum does not detect an error in the highest bit of a byte. Values out of range are refused, which detects
most of these errors; positions must also be checked for plausibility (`ada_hardware.plausibility`).
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
    """Command of the host.

    Attributes:
        code: command code.
        board: ID of the board; NO_BOARD for GET_ID, which has no such field.
        values: values of the fields, in the order of the command table.
    """

    code: Code
    board: int = NO_BOARD
    values: tuple[int, ...] = ()

    @property
    def kind(self) -> CommandKind:
        """Entry of the command table."""
        return COMMANDS[self.code]


class Reply(NamedTuple):
    """Reply of a board.

    Attributes:
        code: code of the command.
        board: ID of the replying board.
        values: values of the reply fields; empty for an acknowledgement.
    """

    code: Code
    board: int
    values: tuple[int, ...] = ()


def checksum(data: bytes) -> int:
    """Checksum of a frame: sum of all preceding bytes, modulo 128."""
    return sum(data) & 0x7F


def encode_command(command: CommandFrame) -> bytes:
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


def encode_reply(reply: Reply) -> bytes:
    """Encode a reply; raises InputError like `encode_command`."""
    kind = COMMANDS[reply.code]
    _check(reply.code, (BOARD,), (reply.board,))
    if kind.reply is None:
        _check(reply.code, (), reply.values)
        return bytes((reply.board, ACK))
    _check(reply.code, kind.reply, reply.values)
    return _with_checksum(bytes((reply.board, *reply.values)))


def decode_command(frame: bytes, *, checks_values: bool = True) -> CommandFrame | None:
    """Decode a complete frame; return None if it is not a valid command.

    Args:
        frame: frame of the correct length.
        checks_values: refuse values out of range.
    """
    kind = COMMANDS.get(frame[0]) if frame else None
    if kind is None or len(frame) != kind.length or not _has_valid_checksum(frame):
        return None
    if kind.keyed and frame[1] != ID_KEY:
        return None
    start = 1 + kind.keyed + kind.names_board
    board, values = (frame[start - 1] if kind.names_board else NO_BOARD), tuple(frame[start:-1])
    if checks_values and not (_are_allowed(kind.fields, values) and (board == NO_BOARD or BOARD.allows(board))):
        return None
    return CommandFrame(kind.code, board, values)


def decode_reply(command: CommandFrame, frame: bytes) -> Reply | None:
    """Decode the reply to a command; return None if the frame is not a valid reply."""
    kind = command.kind
    if len(frame) != kind.reply_length or not BOARD.allows(frame[0]):
        return None
    if kind.names_board and frame[0] != command.board:
        return None
    if kind.reply is None:
        return Reply(kind.code, frame[0]) if frame[1] == ACK else None
    values = tuple(frame[1:-1])
    return (
        Reply(kind.code, frame[0], values) if _has_valid_checksum(frame) and _are_allowed(kind.reply, values) else None
    )


class ReplyParser(FrameParser[Reply]):
    """Parser for the reply to one command (host side)."""

    def __init__(self, command: CommandFrame) -> None:
        length = command.kind.reply_length
        super().__init__(lambda _: length, partial(decode_reply, command))


class CommandParser(FrameParser[CommandFrame]):
    """Parser for commands to any board (board side).

    Command codes exceed all other bytes of a frame except 0xFF, so the parser resynchronizes quickly after an error.
    """

    def __init__(self, *, checks_values: bool = True) -> None:
        super().__init__(_command_length, partial(decode_command, checks_values=checks_values))


def _command_length(begin: bytes) -> int | None:
    kind = COMMANDS.get(begin[0])
    return None if kind is None else kind.length


def _with_checksum(body: bytes) -> bytes:
    return body + bytes((checksum(body),))


def _has_valid_checksum(frame: bytes) -> bool:
    return frame[-1] == checksum(frame[:-1])


def _are_allowed(fields: Sequence[Field], values: Sequence[int]) -> bool:
    return all(field.allows(value) for field, value in zip(fields, values, strict=True))


def _check(code: Code, fields: Sequence[Field], values: Sequence[int]) -> None:
    if len(fields) != len(values):
        wanted = ", ".join(field.name for field in fields) or "none"
        text = f"RCB-1 {code.name}: {len(values)} values; expected {len(fields)}: {wanted}."
        raise InputError(text, field="values", value=len(values), allowed=len(fields))
    for field, value in zip(fields, values, strict=True):
        if not field.allows(value):
            text = f"RCB-1 {code.name}: {field.name} is {value}; allowed are {field.allowed}."
            raise InputError(text, field=field.name, value=value, allowed=field.allowed)
