# SPDX-License-Identifier: Apache-2.0
"""Packets of the PA-10's servo controller, from the device's side: two cyclic layouts, heads, scales, status words."""

from __future__ import annotations

import math
import struct
from typing import NamedTuple

AXES = 7
HOST, CONTROLLER, FILLER = 0xFF, 0xFE, 0xB7
HEAD = 6  # [bytes]: source, destination, pointer, filler, sequence number, type

BRAKE, SERVO, TORQUE, DEAD_MAN, STOP_TOGETHER = 0x01, 0x02, 0x04, 0x08, 0x10  # mode of an axis
ANGLE = 2.0 * math.pi / (16384 * 50)  # [rad] a count, behind a gear of 50
SPEED = 2e-4  # [rad/s] a count
GEAR = 50.0
RATED = (4.64, 4.64, 2.0, 2.0, 0.29, 0.29, 0.29)  # [N m] of the motors

# status of an axis
UPPER_LIMIT, LOWER_LIMIT, NOT_CONTROLLABLE, POWER_OFF = 0x0001, 0x0002, 0x4000, 0x8000
# status of the controller
DEAD_MAN_ON, HOT_SUPPLY, VOLTAGE_ON, EMERGENCY_STOP = 0x0001, 0x0002, 0x0004, 0x0008
TEACHING, LIMIT_SWITCH, CONTROLLER_OFF = 0x1000, 0x2000, 0x4000
# alarms, in bits 4 to 11 of either
SILENCE, BY_BUTTON, BY_DEAD_MAN = 0xFF0, 0x110, 0x120


class AxisCommand(NamedTuple):
    """Command of one packet to one axis."""

    mode: int
    torque: float
    speed: float

    @property
    def is_driven(self) -> bool:
        return bool(self.mode & SERVO) and not self.mode & BRAKE

    @property
    def moves(self) -> bool:
        return self.is_driven and (bool(self.mode & TORQUE) or self.speed != 0.0)


class Packet(NamedTuple):
    """A packet of the host."""

    sequence: int
    kind: str
    payload: bytes


def read_packet(data: bytes) -> Packet | None:
    """A packet, or None where the controller would not take it."""
    if len(data) < HEAD or data[0] != HOST or data[1] != CONTROLLER:
        return None
    if len(data) != HEAD + 254 - data[2]:  # the pointer: 256 less number, type and payload
        return None
    return Packet(data[4], chr(data[5]), data[HEAD:])


def read_cycle(layout: str, payload: bytes) -> tuple[list[AxisCommand], int] | None:
    """Commands to the axes and the word to the communication processor; None if it is no cyclic command."""
    if len(payload) != (35 if layout == "7c" else 44):
        return None
    axes = []
    for axis in range(AXES):
        if layout == "7c":
            mode, torque, speed = struct.unpack_from("<Bhh", payload, 5 * axis)
            axes.append(AxisCommand(mode, torque * 0.001 * GEAR, speed * SPEED))
        else:
            mode, torque, speed = struct.unpack_from(">Hhh", payload, 6 * axis)
            axes.append(AxisCommand(mode, torque * RATED[axis] / 4096.0 * GEAR, speed * SPEED))
    word = 0 if layout == "7c" else struct.unpack_from(">H", payload, 42)[0]
    return axes, word


def _short(number: float) -> int:
    return max(-32768, min(32767, round(number)))


def cycle_answer(
    layout: str, statuses: list[int], angles: list[int], speeds: list[float], torques: list[float], word: int
) -> bytes:
    """Payload of an answer to a cyclic command: angles in counts, speeds [rad/s], torques behind the gear [N m]."""
    parts = []
    for axis in range(AXES):
        if layout == "7c":
            parts.append(struct.pack("<Hih", statuses[axis], angles[axis], _short(torques[axis] / GEAR / 0.001)))
        else:
            torque = _short(torques[axis] / GEAR / RATED[axis] * 4096.0)
            parts.append(struct.pack(">Hihh", statuses[axis], angles[axis], _short(speeds[axis] / SPEED), torque))
    return b"".join(parts) + struct.pack("<H" if layout == "7c" else ">H", word)


def packet(sequence: int, kind: str, payload: bytes = b"", *, of_host: bool = False) -> bytes:
    """A packet of the controller, or of a host (to speak as a stranger does)."""
    ends = (HOST, CONTROLLER) if of_host else (CONTROLLER, HOST)
    return bytes((*ends, 254 - len(payload), FILLER, sequence & 0x7F, ord(kind))) + payload
