# SPDX-License-Identifier: Apache-2.0
"""Alarms of a HEXA table in the packets of `packets`, and what to do about each. They are ours, as the packets are."""

from __future__ import annotations

from enum import IntFlag

from ada_hardware.driver import Alarm
from ada_hardware.hexa.packets import Status


class TableAlarm(IntFlag):
    """What is wrong with the table as a whole."""

    EMERGENCY_STOP = 0x0001
    HOST_SILENT = 0x0002
    OUT_OF_REACH = 0x0004
    BAD_COMMAND = 0x0008


class AxisAlarm(IntFlag):
    """What is wrong with a motor."""

    ANGLE_LIMIT = 0x0001
    OVER_SPEED = 0x0002
    OVER_CURRENT = 0x0004
    RESOLVER = 0x0008
    FOLLOWING = 0x0010


TABLE_TEXTS = {
    TableAlarm.EMERGENCY_STOP: "the emergency stop is pressed: see that nobody is in reach, release it, then reset",
    TableAlarm.HOST_SILENT: "no command came in time while the servos were on: look at the host and the network, reset",
    TableAlarm.OUT_OF_REACH: "commanded angles have no pose of the plate, or a singular one: check the path, reset",
    TableAlarm.BAD_COMMAND: "a command was not finite or beyond the motors' limits: check the host's limits, reset",
}
AXIS_TEXTS = {
    AxisAlarm.ANGLE_LIMIT: "crank beyond its range: move it back by hand with the brake released, then reset",
    AxisAlarm.OVER_SPEED: "crank faster than allowed: command smaller steps, then reset",
    AxisAlarm.OVER_CURRENT: "motor driver over current: look for a jam or a short circuit, then reset",
    AxisAlarm.RESOLVER: "resolver signal lost: check its cable, then reset",
    AxisAlarm.FOLLOWING: "crank does not follow its servo: look for an obstacle or too fast a command, then reset",
}


def alarms_of(status: Status, joints: tuple[str, ...]) -> tuple[Alarm, ...]:
    """All alarms of a status; a bit without a meaning here is told by its number."""
    found = [
        Alarm(bit, _text(TABLE_TEXTS.get(TableAlarm(bit)), bit), is_stop=bit == TableAlarm.EMERGENCY_STOP)
        for bit in _bits(status.alarms)
    ]
    for joint, word in zip(joints, status.axis_alarms, strict=True):
        found += [Alarm(bit, _text(AXIS_TEXTS.get(AxisAlarm(bit)), bit), joint) for bit in _bits(word)]
    return tuple(found)


def _bits(word: int) -> list[int]:
    return [1 << i for i in range(16) if word >> i & 1]


def _text(known: str | None, bit: int) -> str:
    return known or f"unknown alarm bit {bit:#06x}: the table speaks a newer version; look at its own log"
