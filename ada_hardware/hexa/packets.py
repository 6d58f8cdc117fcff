# SPDX-License-Identifier: Apache-2.0
"""Packets to and from the computer of a HEXA table, over UDP; defined by this project.

HEXA97 has no published interface. Its computer reads pulse counters, computes torques every 2 ms and outputs them with
D/A converters (Tarao et al., sec. 3.2); poses and forces are sent by Ethernet (sec. 3.1) in an unknown format. A real
table needs a program on its computer that implements this format.

All numbers are big-endian. A command, 64 bytes:

    0  2  "HX"          8  u32  session, chosen by the host at random    60  u32  CRC-32 of bytes 0 to 59
    2  u8 version 1    12  6 x f64  angles [rad] or torques [N m]; zeros with all other requests
    3  u8 request       4  u32  number of the command, incremented by one

A status, 184 bytes, the answer to each valid command:

    0  2  "HS"          8  u32  session in control, now or last
    2  u8 version 1    12  u16  alarms of the table; 14  6 x u16  alarms of the axes; 26  u16  zero
    3  u8 state        28  f64  time since power-on [s]
    4  u32 number      36  6 x f64 angles [rad], 84  6 x f64 rates [rad/s], 132  6 x f64  torques [N m]
                      180  u32  CRC-32 of bytes 0 to 179
"""

from __future__ import annotations

import math
import struct
import zlib
from enum import IntEnum
from typing import Any, NamedTuple

from ada_dynamics.robots.mechanisms.parallel_robots import LEGS
from ada_robot.errors import Refused

VERSION = 1
_COMMAND, _STATUS = b"HX", b"HS"
_COMMAND_BODY = struct.Struct(">2sBBII6d")
_STATUS_BODY = struct.Struct(">2sBBIIH6HHd18d")
_CHECK = struct.Struct(">I")
COMMAND_SIZE = _COMMAND_BODY.size + _CHECK.size
STATUS_SIZE = _STATUS_BODY.size + _CHECK.size
NUMBERS = 1 << 32
"""Number at which command numbers wrap to 0."""

ZEROS = (0.0,) * LEGS


class TableRequest(IntEnum):
    """Command requests."""

    READ = 0  # status only
    START = 1  # brakes off, hold the present angles
    POSITION = 2  # hold these angles
    EFFORT = 3  # apply these torques
    STOP = 4  # brakes on
    CLEAR = 5  # clear alarms without a present cause; brakes remain on


class TableState(IntEnum):
    """States of the table."""

    BRAKED = 0
    POSITION = 1  # position servo
    EFFORT = 2  # torque control
    ALARM = 3  # brakes on, until CLEAR


class CommandPacket(NamedTuple):
    """Command of the host."""

    request: TableRequest  # request
    number: int  # number of the command
    session: int  # session of the host
    values: tuple[float, ...] = ZEROS  # six angles [rad] or torques [N m]


class TableStatus(NamedTuple):
    """Status of the table."""

    state: TableState  # state of the table
    number: int  # number of the answered command
    session: int  # session in control, now or last
    alarms: int  # alarm bits of the table, as in `alarms`
    axis_alarms: tuple[int, ...]  # alarm bits of each motor
    time: float  # time since power-on [s]
    angles: tuple[float, ...]  # crank angles [rad]
    rates: tuple[float, ...]  # crank rates [rad/s]
    torques: tuple[float, ...]  # motor torques [N m]


# --- commands -------------------------------------------------------------------------------------------------------
def encode_command(command: CommandPacket) -> bytes:
    """Encode a command.

    Raises:
        Refused: the values are not six finite numbers.
    """
    values = tuple(map(float, command.values))
    if len(values) != LEGS or not all(map(math.isfinite, values)):
        text = (
            f"HEXA: {command.request.name} with values {list(values)}; required are {LEGS} finite ones, one per crank. "
            "Nothing was sent."
        )
        raise Refused(text, field="values", value=values)
    number, session = command.number % NUMBERS, command.session % NUMBERS
    return _with_crc(_COMMAND_BODY.pack(_COMMAND, VERSION, command.request, number, session, *values))


def decode_command(packet: bytes) -> CommandPacket | None:
    """Decode a command; return None if it is damaged, of another version, or not a command."""
    body = _unpack(packet, _COMMAND, _COMMAND_BODY)
    if body is None:
        return None
    _, _, request, number, session, *values = body
    if request not in _REQUESTS:
        return None
    return CommandPacket(TableRequest(request), number, session, tuple(values))


# --- status ---------------------------------------------------------------------------------------------------------
def encode_status(status: TableStatus) -> bytes:
    """Encode a status."""
    return _with_crc(
        _STATUS_BODY.pack(
            _STATUS,
            VERSION,
            status.state,
            status.number % NUMBERS,
            status.session % NUMBERS,
            status.alarms,
            *status.axis_alarms,
            0,
            status.time,
            *status.angles,
            *status.rates,
            *status.torques,
        )
    )


def decode_status(packet: bytes) -> TableStatus | None:
    """Decode a status; return None if it is damaged, of another version, not finite, or not a status."""
    body = _unpack(packet, _STATUS, _STATUS_BODY)
    if body is None:
        return None
    _, _, state, number, session, alarms, *rest = body
    axis_alarms, (_, time, *measured) = tuple(rest[:LEGS]), rest[LEGS:]
    if state not in _STATES or not math.isfinite(time) or not all(map(math.isfinite, measured)):
        return None
    thirds = [tuple(measured[i : i + LEGS]) for i in range(0, 3 * LEGS, LEGS)]
    return TableStatus(TableState(state), number, session, alarms, axis_alarms, time, *thirds)


def is_newer(number: int, than: int) -> bool:
    """Return True if a command was sent after another one; the numbers wrap at 2³²."""
    return 0 < (number - than) % NUMBERS < NUMBERS // 2


# --- frames ---------------------------------------------------------------------------------------------------------
_REQUESTS = frozenset(map(int, TableRequest))
_STATES = frozenset(map(int, TableState))


def _with_crc(body: bytes) -> bytes:
    return body + _CHECK.pack(zlib.crc32(body))


def _unpack(packet: bytes, magic: bytes, layout: struct.Struct) -> tuple[Any, ...] | None:
    """Return the fields of a valid packet, or None."""
    if len(packet) != layout.size + _CHECK.size or packet[:2] != magic or packet[2] != VERSION:
        return None
    if _CHECK.unpack_from(packet, layout.size)[0] != zlib.crc32(packet[: layout.size]):
        return None
    return layout.unpack_from(packet)
