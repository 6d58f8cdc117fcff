# SPDX-License-Identifier: Apache-2.0
"""Status words of the PA-10: alarms, switches, meanings and remedies.

Bits 4 to 11 are an alarm code, not a bit mask: 0x0F0 is one alarm (over-velocity), not four (docs/pa10_hardware.md,
variant ce). The sources for the older 7C do not document its words; the same meanings are assumed.

The other bits are evaluated, too: an open switch, missing motor power or lost control inhibit the start of the arm and
stop it while it is driven.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntFlag
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from ada_robot.driver import Alarm, Meaning

ALARM_FIELD = 0x0FF0
EMERGENCY_STOP, DEAD_MAN, LIMIT_SWITCH = 0x110, 0x120, 0x130
COMMUNICATION_TIMEOUT = 0xFF0  # axis
HOST_TIMEOUT = 0x050  # controller
_CABLES = (
    "switch the controller off, check plugs and cables of the arm, switch it on; if the alarm remains, call service"
)
_BOARD = "switch the controller off and on; if the alarm remains, its board is defective: call service"
_SWITCH = Meaning("emergency stop is pressed", "check that the area is clear, release the button, then reset", True)
_DEAD_MAN = Meaning("dead-man switch is released", "hold the switch, then reset", True)
_LIMIT = Meaning(
    "limit switch is actuated", "release the brakes by hand (teach mode) and move the axis back, then reset", True
)
AXIS_ALARMS: Mapping[int, Meaning] = MappingProxyType(
    {
        0x010: Meaning("shared memory of the servo board has failed", _BOARD),
        0x020: Meaning("stored data of the servo board are corrupt (EEPROM)", _BOARD),
        0x050: Meaning("processor of the servo board has failed", _BOARD),
        0x060: Meaning(
            "speed differs from the commanded speed",
            "check for an obstacle or an excessive payload; then reset and reduce the speed",
        ),
        0x070: Meaning("resolvers of motor and gear disagree", "do not move the arm; the gear may slip: call service"),
        0x080: Meaning("position is beyond the limit", "move the axis back in teach mode, then reset"),
        0x090: Meaning("motor torque is too high", "check for a collision or an excessive payload, then reset"),
        0x0A0: Meaning(
            "power module has failed (IPM)",
            "let it cool for some minutes, then reset; if the alarm remains, call service",
        ),
        0x0B0: Meaning("brake is short-circuited", _CABLES),
        0x0C0: Meaning("resolver at the motor has failed", _CABLES),
        0x0D0: Meaning("resolver at the gear has failed", _CABLES),
        0x0E0: Meaning("motor current is too high", "check for a collision or an excessive payload, then reset"),
        0x0F0: Meaning("axis is too fast", "reduce the speed, then reset"),
        0x100: Meaning("processor of the servo board has failed, cause unknown", _BOARD),
        EMERGENCY_STOP: _SWITCH,
        DEAD_MAN: _DEAD_MAN,
        LIMIT_SWITCH: _LIMIT,
        COMMUNICATION_TIMEOUT: Meaning(
            "no packet received from the PC in time",
            "reset; if the alarm returns, check missed cycles and the load of the PC",
        ),
    }
)
CONTROLLER_ALARMS: Mapping[int, Meaning] = MappingProxyType(
    {
        0x020: Meaning("stored data of the controller are corrupt (EEPROM)", _BOARD),
        0x030: Meaning("ARCNET cannot be started", "check fibre and node number, switch the controller off and on"),
        0x040: Meaning("processor of the controller has failed", _BOARD),
        HOST_TIMEOUT: Meaning(
            "no packet received from the PC in time",
            "reset; if the alarm returns, check missed cycles and the load of the PC",
        ),
        0x060: Meaning("power supply is too hot", "let it cool, clean its fan, then reset"),
        0x070: Meaning("100 V motor supply has failed", "check fuses and the motor power switch, then reset"),
        0x100: Meaning("controller has failed, cause unknown", _BOARD),
        EMERGENCY_STOP: _SWITCH,
        DEAD_MAN: _DEAD_MAN,
        LIMIT_SWITCH: _LIMIT,
    }
)
_ENDED = "end other programs connected to this controller, check its panel, then reset"


class AxisStatus(IntFlag):
    """Bits of an axis status word other than the alarm code."""

    UPPER_LIMIT = 0x0001
    LOWER_LIMIT = 0x0002
    NOT_CONTROLLABLE = 0x4000
    POWER_OFF = 0x8000  # servo power


UNPOWERED = int(AxisStatus.NOT_CONTROLLABLE | AxisStatus.POWER_OFF)


class ControllerStatus(IntFlag):
    """Bits of the controller status word other than the alarm code."""

    DEAD_MAN_ON = 0x0001  # pressed: normal state
    POWER_TEMPERATURE = 0x0002  # power supply too warm: a warning
    POWER_ON = 0x0004  # 100 V for the motors
    EMERGENCY_STOP_OPEN = 0x0008  # released: normal state
    TEACHING_ON = 0x1000
    LIMIT_SWITCH_OPEN = 0x2000  # not actuated: normal state
    NOT_CONTROLLABLE = 0x4000


def alarm_of(status: int, known: Mapping[int, Meaning], joint: str = "") -> Alarm | None:
    """Return the alarm in a status word, or None; `known`: AXIS_ALARMS with the joint, or CONTROLLER_ALARMS."""
    code = status & ALARM_FIELD
    if not code:
        return None
    # an undocumented alarm requires a person
    meaning = known.get(code) or Meaning(f"alarm {code:03X} is not documented", _BOARD, True)
    return meaning.alarm(code, joint)


@lru_cache(maxsize=512)  # status words repeat
def alarms(axes: tuple[int, ...], controller: int, joints: tuple[str, ...]) -> tuple[Alarm, ...]:
    """Return all alarms of an arm; an alarm common to all axes is listed once.

    Args:
        axes: status words of the axes.
        controller: status word of the controller.
        joints: names of the axes.
    """
    of_axes = [alarm_of(word, AXIS_ALARMS, joint) for word, joint in zip(axes, joints, strict=True)]
    found = _merged([alarm for alarm in of_axes if alarm is not None], len(axes))
    own = alarm_of(controller, CONTROLLER_ALARMS)
    if own is not None and all(own.text != alarm.text or alarm.joint for alarm in found):
        found.insert(0, own)
    return tuple(found)


class Switch(NamedTuple):
    """Switch bit of the controller status word."""

    name: str  # name in the displayed values, 1 if the bit is set; "": not displayed
    is_well: bool  # value of the bit in the normal state
    meaning: Meaning | None = None  # meaning of the other value; None if it does not inhibit motion


SWITCHES: Mapping[int, Switch] = MappingProxyType(
    {
        ControllerStatus.DEAD_MAN_ON: Switch("dead-man switch held", True, _DEAD_MAN),
        ControllerStatus.POWER_TEMPERATURE: Switch("power supply too warm", False),
        ControllerStatus.POWER_ON: Switch(
            "motor power on", True, Meaning("100 V motor supply is off", "switch the motor power on, then reset", True)
        ),
        ControllerStatus.EMERGENCY_STOP_OPEN: Switch("emergency stop released", True, _SWITCH),
        ControllerStatus.TEACHING_ON: Switch(
            "teaching switch on", False, Meaning("teaching switch is on", "switch it off, then reset", True)
        ),
        ControllerStatus.LIMIT_SWITCH_OPEN: Switch("limit switch free", True, _LIMIT),
        ControllerStatus.NOT_CONTROLLABLE: Switch(
            "", False, Meaning("controller does not accept control", _ENDED, True)
        ),
    }
)
UNDRIVEN: Mapping[int, Meaning] = MappingProxyType(
    {
        AxisStatus.NOT_CONTROLLABLE: Meaning("control was ended by another host", _ENDED, True),
        AxisStatus.POWER_OFF: Meaning("servo is off although commanded on", _ENDED, True),
    }
)
"""Status bits that are errors while an axis is driven."""


@lru_cache(maxsize=512)
def switches(controller: int) -> Mapping[str, float]:
    """Return switches and power by name: 1.0 if set."""
    return MappingProxyType({one.name: float(bool(controller & bit)) for bit, one in SWITCHES.items() if one.name})


@lru_cache(maxsize=512)
def hindrances(controller: int, needs_dead_man: bool) -> tuple[Alarm, ...]:
    """Return the conditions other than alarms that inhibit motion.

    Args:
        controller: status word of the controller.
        needs_dead_man: include the dead-man switch.
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
    """Return why driven axes do not follow their commands; a reason common to all axes is listed once."""
    found = [
        next(meaning.alarm(int(bit), joint) for bit, meaning in UNDRIVEN.items() if word & bit)
        for word, joint in zip(axes, joints, strict=True)
        if any(word & bit for bit in UNDRIVEN)
    ]
    return tuple(_merged(found, len(axes)))


def is_only_silence(axes: Sequence[int], controller: int) -> bool:
    """Return True if the only alarms are communication timeouts."""
    codes = {word & ALARM_FIELD for word in axes} - {0}
    own = controller & ALARM_FIELD
    return (codes == {COMMUNICATION_TIMEOUT} or not codes) and own in (0, HOST_TIMEOUT) and bool(codes or own)


def _merged(found: list[Alarm], axes: int) -> list[Alarm]:
    if len(found) == axes and len({alarm.code for alarm in found}) == 1:
        return [found[0]._replace(joint="")]
    return found
