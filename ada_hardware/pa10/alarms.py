# SPDX-License-Identifier: Apache-2.0
"""Meanings of the status words of a PA-10, with remedies.

Bits 4 to 11 are the number of an alarm, not a mask: 0x0F0 is one alarm (over-velocity), not four
(docs/pa10_hardware.md, variant ce). The sources for the old 7C do not say what its words mean; they are taken to
mean the same.

The other bits are obeyed, too: a switch, missing power or a control that was ended keep the arm from being started, and
stop it while it is driven.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntFlag
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from ada_hardware.alarm_table import Meaning
from ada_robot.driver import Alarm

ALARM_FIELD = 0x0FF0
EMERGENCY_STOP, DEAD_MAN, LIMIT_SWITCH = 0x110, 0x120, 0x130
COMMUNICATION_TIMEOUT = 0xFF0  # of an axis
HOST_TIMEOUT = 0x050  # of the controller


class AxisStatus(IntFlag):
    """Bits of an axis' status beside its alarm."""

    UPPER_LIMIT = 0x0001
    LOWER_LIMIT = 0x0002
    NOT_CONTROLLABLE = 0x4000
    POWER_OFF = 0x8000  # servo power


UNPOWERED = int(AxisStatus.NOT_CONTROLLABLE | AxisStatus.POWER_OFF)


class ControllerStatus(IntFlag):
    """Bits of the controller's status beside its alarm."""

    DEAD_MAN_ON = 0x0001  # pressed, as it must be
    POWER_TEMPERATURE = 0x0002  # of the power supply: a warning
    POWER_ON = 0x0004  # 100 V for the motors
    EMERGENCY_STOP_OPEN = 0x0008  # not pressed, as it must be
    TEACHING_ON = 0x1000
    LIMIT_SWITCH_OPEN = 0x2000  # not touched, as it must be
    NOT_CONTROLLABLE = 0x4000


_CABLES = "switch the controller off, check plugs and cables of the arm, switch it on; if it stays, call service"
_BOARD = "switch the controller off and on; if it stays, its board is broken: call service"
_SWITCH = Meaning("emergency stop is pressed", "see that nobody is in danger, release the button, then reset", True)
_DEAD_MAN = Meaning("dead-man switch is released", "hold the switch, then reset", True)
_LIMIT = Meaning(
    "limit switch is touched",
    "release the brakes by hand (teach mode) and lead the axis back, then reset",
    True,
)

AXIS_ALARMS: Mapping[int, Meaning] = MappingProxyType(
    {
        0x010: Meaning("shared memory of the servo board fails", _BOARD),
        0x020: Meaning("stored data of the servo board fail (EEPROM)", _BOARD),
        0x050: Meaning("processor of the servo board fails", _BOARD),
        0x060: Meaning(
            "speed differs from the commanded one",
            "look for what holds the arm, or a payload that is too heavy; then reset and go slower",
        ),
        0x070: Meaning("resolvers of motor and gear differ", "do not move the arm; the gear may slip: call service"),
        0x080: Meaning("position is beyond the limit", "lead the axis back in teach mode, then reset"),
        0x090: Meaning("motor torque is too high", "look for a collision or too heavy a payload, then reset"),
        0x0A0: Meaning(
            "power module fails (IPM)", "let it cool for some minutes, then reset; if it stays, call service"
        ),
        0x0B0: Meaning("brake is short-circuited", _CABLES),
        0x0C0: Meaning("resolver at the motor fails", _CABLES),
        0x0D0: Meaning("resolver at the gear fails", _CABLES),
        0x0E0: Meaning("motor current is too high", "look for a collision or too heavy a payload, then reset"),
        0x0F0: Meaning("axis is too fast", "ask for less speed, then reset"),
        0x100: Meaning("processor of the servo board fails, cause unknown", _BOARD),
        EMERGENCY_STOP: _SWITCH,
        DEAD_MAN: _DEAD_MAN,
        LIMIT_SWITCH: _LIMIT,
        COMMUNICATION_TIMEOUT: Meaning(
            "no packet came from the PC in time",
            "reset; if it comes again, look at missed cycles and at the load of the PC",
        ),
    }
)

CONTROLLER_ALARMS: Mapping[int, Meaning] = MappingProxyType(
    {
        0x020: Meaning("stored data of the controller fail (EEPROM)", _BOARD),
        0x030: Meaning("ARCNET cannot be started", "check fibre and node number, switch the controller off and on"),
        0x040: Meaning("processor of the controller fails", _BOARD),
        HOST_TIMEOUT: Meaning(
            "no packet came from the PC in time",
            "reset; if it comes again, look at missed cycles and at the load of the PC",
        ),
        0x060: Meaning("power supply is too hot", "let it cool, clean its fan, then reset"),
        0x070: Meaning("100 V for the motors fail", "check fuses and the motor power switch, then reset"),
        0x100: Meaning("controller fails, cause unknown", _BOARD),
        EMERGENCY_STOP: _SWITCH,
        DEAD_MAN: _DEAD_MAN,
        LIMIT_SWITCH: _LIMIT,
    }
)


def axis_alarm(status: int, joint: str) -> Alarm | None:
    """The alarm in the status word of an axis; None where there is none."""
    return _alarm(status, AXIS_ALARMS, joint)


def controller_alarm(status: int) -> Alarm | None:
    """The alarm in the status word of the controller; None where there is none."""
    return _alarm(status, CONTROLLER_ALARMS, "")


@lru_cache(maxsize=512)  # status words repeat
def alarms(axes: tuple[int, ...], controller: int, joints: tuple[str, ...]) -> tuple[Alarm, ...]:
    """All alarms of an arm; an alarm common to all axes is given once.

    Args:
        axes: status words of the axes that there are.
        controller: status word of the controller.
        joints: names of the axes.
    """
    of_axes = [axis_alarm(word, joint) for word, joint in zip(axes, joints, strict=True)]
    found = _merged([alarm for alarm in of_axes if alarm is not None], len(axes))
    own = controller_alarm(controller)
    if own is not None and all(own.text != alarm.text or alarm.joint for alarm in found):
        found.insert(0, own)
    return tuple(found)


class Switch(NamedTuple):
    """A bit of the controller's status.

    Attributes:
        name: among the values that are shown, 1 where the bit is set; "": not shown.
        is_well: what the bit must be.
        meaning: of its being otherwise; None: it is shown, and keeps nothing from moving.
    """

    name: str
    is_well: bool
    meaning: Meaning | None = None


_ENDED = "end other programs that speak to this controller, look at its panel, then reset"
SWITCHES: Mapping[int, Switch] = MappingProxyType(
    {
        ControllerStatus.DEAD_MAN_ON: Switch("dead-man switch held", True, _DEAD_MAN),
        ControllerStatus.POWER_TEMPERATURE: Switch("power supply too warm", False),
        ControllerStatus.POWER_ON: Switch(
            "motor power on",
            True,
            Meaning("100 V for the motors are off", "switch the motor power on, then reset", True),
        ),
        ControllerStatus.EMERGENCY_STOP_OPEN: Switch("emergency stop released", True, _SWITCH),
        ControllerStatus.TEACHING_ON: Switch(
            "teaching switch on", False, Meaning("teaching switch is on", "switch it off, then reset", True)
        ),
        ControllerStatus.LIMIT_SWITCH_OPEN: Switch("limit switch free", True, _LIMIT),
        ControllerStatus.NOT_CONTROLLABLE: Switch("", False, Meaning("the controller takes no control", _ENDED, True)),
    }
)
UNDRIVEN: Mapping[int, Meaning] = MappingProxyType(
    {
        AxisStatus.NOT_CONTROLLABLE: Meaning("the control was ended from elsewhere", _ENDED, True),
        AxisStatus.POWER_OFF: Meaning("a servo is off that was commanded to be on", _ENDED, True),
    }
)
"""Status bits that no driven axis may have."""


@lru_cache(maxsize=512)
def switches(controller: int) -> Mapping[str, float]:
    """Switches and power by name, as reported by the controller: 1 for yes."""
    return MappingProxyType({one.name: float(bool(controller & bit)) for bit, one in SWITCHES.items() if one.name})


@lru_cache(maxsize=512)
def hindrances(controller: int, needs_dead_man: bool) -> tuple[Alarm, ...]:
    """Conditions beside alarms in which the arm must not be driven.

    Args:
        controller: status word of the controller.
        needs_dead_man: whether the dead-man switch is one of them.
    """
    return tuple(
        one.meaning.alarm(int(bit))
        for bit, one in SWITCHES.items()
        if one.meaning is not None
        and bool(controller & bit) is not one.is_well
        and (needs_dead_man or bit is not ControllerStatus.DEAD_MAN_ON)
    )


@lru_cache(maxsize=512)
def undriven(axes: tuple[int, ...], joints: tuple[str, ...]) -> tuple[Alarm, ...]:
    """Reasons of axes that do not follow although commanded to; a reason common to all is given once."""
    found = [
        next(meaning.alarm(int(bit), joint) for bit, meaning in UNDRIVEN.items() if word & bit)
        for word, joint in zip(axes, joints, strict=True)
        if any(word & bit for bit in UNDRIVEN)
    ]
    return tuple(_merged(found, len(axes)))


def is_only_silence(axes: Sequence[int], controller: int) -> bool:
    """True if status words say no more than that the PC was silent for too long."""
    codes = {word & ALARM_FIELD for word in axes} - {0}
    own = controller & ALARM_FIELD
    return (codes == {COMMUNICATION_TIMEOUT} or not codes) and own in (0, HOST_TIMEOUT) and bool(codes or own)


def _alarm(status: int, known: Mapping[int, Meaning], joint: str) -> Alarm | None:
    code = status & ALARM_FIELD
    if not code:
        return None
    # unknown alarms need a person
    meaning = known.get(code) or Meaning(f"alarm {code:03X} is not documented", _BOARD, True)
    return meaning.alarm(code, joint)


def _merged(found: list[Alarm], axes: int) -> list[Alarm]:
    if len(found) == axes and len({alarm.code for alarm in found}) == 1:
        return [found[0]._replace(joint="")]
    return found
