# SPDX-License-Identifier: Apache-2.0
"""Alarms of a HEXA table in the packets of `packets`, with remedies; defined by this project, as the packets are."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntFlag
from types import MappingProxyType

from ada_hardware.hexa.packets import TableStatus
from ada_robot.driver import Alarm, Meaning


class TableAlarm(IntFlag):
    """Alarms of the table."""

    EMERGENCY_STOP = 0x0001
    HOST_SILENT = 0x0002
    OUT_OF_REACH = 0x0004
    BAD_COMMAND = 0x0008


class AxisAlarm(IntFlag):
    """Alarms of a motor."""

    ANGLE_LIMIT = 0x0001
    OVER_SPEED = 0x0002
    OVER_CURRENT = 0x0004
    RESOLVER = 0x0008
    FOLLOWING = 0x0010


TABLE_ALARMS: Mapping[int, Meaning] = MappingProxyType(
    {
        TableAlarm.EMERGENCY_STOP: Meaning(
            "emergency stop is pressed", "check that nobody is in reach, release it, then reset", True
        ),
        TableAlarm.HOST_SILENT: Meaning(
            "no command received in time while the servos were on", "check host and network, then reset"
        ),
        TableAlarm.OUT_OF_REACH: Meaning(
            "no pose of the plate for the commanded angles, or a singular one", "check the trajectory, then reset"
        ),
        TableAlarm.BAD_COMMAND: Meaning(
            "a command was not finite or beyond the motor limits", "check the limits of the host, then reset"
        ),
    }
)
AXIS_ALARMS: Mapping[int, Meaning] = MappingProxyType(
    {
        AxisAlarm.ANGLE_LIMIT: Meaning(
            "crank is beyond its range", "move it back by hand with the brake released, then reset"
        ),
        AxisAlarm.OVER_SPEED: Meaning("crank exceeds its speed limit", "command smaller steps, then reset"),
        AxisAlarm.OVER_CURRENT: Meaning("motor driver over-current", "check for a jam or a short circuit, then reset"),
        AxisAlarm.RESOLVER: Meaning("resolver signal lost", "check its cable, then reset"),
        AxisAlarm.FOLLOWING: Meaning(
            "crank does not follow its servo", "check for an obstacle or a command that is too fast, then reset"
        ),
    }
)


def alarms_of(status: TableStatus, joints: tuple[str, ...]) -> tuple[Alarm, ...]:
    """Return all alarms of a status; an unknown bit is reported by its number."""
    found = [_meaning(TABLE_ALARMS, bit).alarm(bit) for bit in _bits(status.alarms)]
    for joint, word in zip(joints, status.axis_alarms, strict=True):
        found += [_meaning(AXIS_ALARMS, bit).alarm(bit, joint) for bit in _bits(word)]
    return tuple(found)


def second_host(session: int) -> Alarm:
    """Alarm for another host that took control of the table."""
    text = f"another host (session {session:08x}) ended the control of this one"
    return Meaning(text, "end it, then reset; until then nothing moves", True).alarm(0)


def _meaning(known: Mapping[int, Meaning], bit: int) -> Meaning:
    newer = "the table uses a newer protocol version; check its log"
    return known.get(bit) or Meaning(f"unknown alarm bit {bit:#06x}", newer)


def _bits(word: int) -> list[int]:
    return [1 << i for i in range(16) if word >> i & 1]
