# SPDX-License-Identifier: Apache-2.0
"""Command codes and memory map of the RCB-4.

Sources, which agree: Kondo's Rcb4BaseLib (as in sunilgora/xml-Kondo-khr3hv), iory/rcb4, nake90/librcb4.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import NamedTuple

ACK, NACK = 0x06, 0x15
SERVOS = 35  # ICS numbers 0 to 34; 35 is the receiver of the remote control
FREE, HOLD = 0x8000, 0x7FFF  # special values in place of a position
LOWEST, CENTRE, HIGHEST = 3500, 7500, 11500
COUNTS_PER_DEGREE = 4000 / 135

CONFIG = 0x0000  # RAM addresses
PROGRAM_COUNTER = 0x0002
ADC = 0x0022  # 11 channels of two bytes; channel 0 is the supply voltage
DEVICES = 0x0090  # 20 bytes each
RAM_SIZE = 0x0490
DEVICE_SIZE = 20
TRIM, MEASURED, TARGET, FRAME = 2, 4, 6, 8  # offsets in the 20 bytes of a device
MAIN_LOOP = 0x044B  # ROM addresses
MOTIONS_AT = 0x0B80
MOTION_SIZE = 2048
MOTIONS = 120  # numbered from 1
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


def motion_address(motion: int) -> int:
    """ROM address of a motion; motions are numbered from 1."""
    return MOTIONS_AT + (motion - 1) * MOTION_SIZE
