# SPDX-License-Identifier: Apache-2.0
"""Packet C: cyclic axis commands and responses, in counts, and conversion factors to SI units.

Values that do not fit into the packet are refused, never wrapped (docs/pa10_hardware.md).
"""

from __future__ import annotations

import math
from enum import IntFlag
from typing import NamedTuple

from ada_hardware.pa10.variants import AXES, Variant
from ada_robot.errors import Refused

ANGLE_COUNT = 2.0 * math.pi / (16384.0 * 50.0)  # [rad] 14-bit resolver, gear ratio 50
SPEED_COUNT = 2e-4  # [rad/s] joint side
LARGEST_COUNT = 0x7FFF  # magnitude of speed and torque; -0x8000 is never sent


class ModeBit(IntFlag):
    """Mode bits of an axis."""

    BRAKE = 0x01  # mechanical brake on
    SERVO = 0x02  # servo on
    TORQUE = 0x04  # torque control; otherwise speed control
    DEAD_MAN = 0x08  # monitor the dead-man switch (7C: axis mode, CE: controller word)
    STOP_TOGETHER = 0x10  # stop this axis on an alarm of another one


BRAKE, SERVO, TORQUE = int(ModeBit.BRAKE), int(ModeBit.SERVO), int(ModeBit.TORQUE)  # int is faster than IntFlag
BRAKED, IN_SPEED, IN_TORQUE = BRAKE, SERVO, SERVO | TORQUE


class AxisCommand(NamedTuple):
    """Command of one axis."""

    mode: int = BRAKED  # bits of `ModeBit`
    torque: int = 0  # torque [counts]
    speed: int = 0  # speed [counts]


class AxisResponse(NamedTuple):
    """Response of one axis."""

    status: int = 0  # status word, see `alarms`
    angle: int = 0  # angle [counts]
    speed: int = 0  # speed [counts]; 0 if the variant does not report it
    torque: int = 0  # torque [counts]


class CyclicCommand(NamedTuple):
    """Payload of a command C."""

    axes: tuple[AxisCommand, ...]  # seven axis commands; for a 6CE, the third is zero
    controller: int = 0  # controller word (variant "ce"): `ModeBit.DEAD_MAN` or 0


class CyclicResponse(NamedTuple):
    """Payload of a response C."""

    axes: tuple[AxisResponse, ...]  # seven axis responses
    controller: int = 0  # status word of the controller


def encode_command(command: CyclicCommand, variant: Variant) -> bytes:
    """Encode the payload of a command.

    Raises:
        Refused: a value does not fit into the packet.
    """
    if len(command.axes) != AXES:
        text = f"PA-10: {len(command.axes)} axes; a packet always has {AXES}."
        raise Refused(text, field="axes", value=len(command.axes), allowed=AXES)
    numbers: list[int] = []
    most = 0xFF if variant.axis_command.startswith("B") else 0xFFFF
    for i, (mode, torque, speed) in enumerate(command.axes):
        if not 0 <= mode <= most:
            text = f"PA-10 axis {i + 1}: mode {mode:#x}; allowed are 0 to {most:#x}."
            raise Refused(text, joint=f"axis {i + 1}", field="mode", value=mode, allowed=most)
        for what, value in (("torque", torque), ("speed", speed)):
            if not -LARGEST_COUNT <= value <= LARGEST_COUNT:
                text = f"PA-10 axis {i + 1}: {what} {value} counts; allowed are {-LARGEST_COUNT} to {LARGEST_COUNT}."
                raise Refused(text, joint=f"axis {i + 1}", field=what, value=value, allowed=LARGEST_COUNT)
        numbers += (mode, torque, speed)
    if variant.command_end:
        if not 0 <= command.controller <= 0xFFFF:
            text = f"PA-10: controller word {command.controller:#x}; allowed are 0 to 0xffff."
            raise Refused(text, field="controller", value=command.controller, allowed=0xFFFF)
        numbers.append(command.controller)
    elif command.controller:
        text = f"PA-10: variant {variant.name!r} has no controller word; use the axis modes."
        raise Refused(text, field="controller", value=command.controller, allowed=0)
    return variant.command.pack(*numbers)


def decode_command(payload: bytes, variant: Variant) -> CyclicCommand:
    """Decode a command; `PacketParser` has checked its size."""
    numbers = variant.command.unpack(payload)
    axes = tuple(AxisCommand(*numbers[i : i + 3]) for i in range(0, 3 * AXES, 3))
    return CyclicCommand(axes, numbers[-1] if variant.command_end else 0)


def encode_response(response: CyclicResponse, variant: Variant) -> bytes:
    """Encode the payload of a response; raises struct.error for a value that does not fit into the packet."""
    numbers: list[int] = []
    for axis in response.axes:
        numbers += axis if variant.tells_speed else (axis.status, axis.angle, axis.torque)
    return variant.response.pack(*numbers, response.controller)


def decode_response(payload: bytes, variant: Variant) -> CyclicResponse:
    """Decode a response; `PacketParser` has checked its size."""
    numbers = variant.response.unpack(payload)
    if variant.tells_speed:
        axes = tuple(AxisResponse(*numbers[i : i + 4]) for i in range(0, 4 * AXES, 4))
    else:
        axes = tuple(AxisResponse(numbers[i], numbers[i + 1], 0, numbers[i + 2]) for i in range(0, 3 * AXES, 3))
    return CyclicResponse(axes, numbers[-1])
