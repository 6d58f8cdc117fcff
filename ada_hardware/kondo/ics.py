# SPDX-License-Identifier: Apache-2.0
"""Frames of the servo bus ICS 3.5, for servos on an adapter without a board. No I/O.

Even parity, 115200, 625000 or 1250000 baud, one wire: what the host sends comes back to it before the servo's answer.
There is no checksum; a command's first byte has its highest bit set, an answer's first byte is the command's without
that bit, and no other byte has it, but for the command and answer about IDs (Kondo's ICS 3.5 manual; iory/rcb4 ics.py).
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from ada_dynamics.errors import InputError

IDS = 32
LOWEST, CENTRE, HIGHEST = 3500, 7500, 11500
FREE = 0  # position
ANSWER_LENGTH = 3  # [bytes], without the command that comes back before it


class Item(IntEnum):
    """What can be read or written of a servo."""

    STRETCH = 1
    SPEED = 2
    CURRENT = 3  # read: 0 to 63, and from 64 on the other way round; written: limit
    TEMPERATURE = 4  # read; written: limit


class PositionAnswer(NamedTuple):
    """What a servo says to a position.

    Attributes:
        servo: its ID.
        position: that it is in, in counts.
    """

    servo: int
    position: int


class ItemAnswer(NamedTuple):
    """What a servo says when an item is read or written."""

    servo: int
    item: Item
    value: int
    is_written: bool


def encode_position(servo: int, position: int) -> bytes:
    """Send a servo to a position, or let it go with FREE.

    Raises:
        InputError: there is no such ID or position.
    """
    _check_id(servo)
    if position != FREE and not LOWEST <= position <= HIGHEST:
        raise InputError(f"ICS position {position}; allowed are {LOWEST} to {HIGHEST}, or {FREE} for a free servo.")
    return bytes((0x80 | servo, position >> 7, position & 0x7F))


def encode_read(servo: int, item: Item) -> bytes:
    """Ask for an item."""
    _check_id(servo)
    return bytes((0xA0 | servo, item))


def encode_write(servo: int, item: Item, value: int) -> bytes:
    """Set an item.

    Raises:
        InputError: there is no such ID, or the value is not 1 to 127.
    """
    _check_id(servo)
    if not 1 <= value <= 127:
        raise InputError(f"ICS {item.name} {value}; allowed are 1 to 127.")
    return bytes((0xC0 | servo, item, value))


def encode_answer(answer: PositionAnswer | ItemAnswer) -> bytes:
    """What a servo sends, for emulators."""
    if isinstance(answer, PositionAnswer):
        return bytes((answer.servo, answer.position >> 7, answer.position & 0x7F))
    return bytes(((0x40 if answer.is_written else 0x20) | answer.servo, answer.item, answer.value))


def decode_answer(command: bytes, data: bytes) -> PositionAnswer | ItemAnswer | None:
    """The answer to a command in what came, its own echo before it or not; None where it is none."""
    if data.startswith(command) and len(data) > len(command):
        data = data[len(command) :]
    if not command or len(data) != ANSWER_LENGTH or data[0] != command[0] & 0x7F or max(data) > 0x7F:
        return None
    servo, kind = data[0] & 0x1F, data[0] & 0x60
    if kind == 0x00:
        return PositionAnswer(servo, data[1] << 7 | data[2])
    if kind not in (0x20, 0x40) or data[1] != command[1] or data[1] not in set(Item):
        return None
    return ItemAnswer(servo, Item(data[1]), data[2], kind == 0x40)


def _check_id(servo: int) -> None:
    if servo not in range(IDS):
        raise InputError(f"ICS servo {servo}; there are IDs 0 to {IDS - 1}.")
