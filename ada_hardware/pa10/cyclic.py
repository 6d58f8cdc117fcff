# SPDX-License-Identifier: Apache-2.0
"""The packet C: commands to the axes of a PA-10 and their responses every 2 ms, in counts; and counts in SI units.

Counts here, not radians: what cannot be written exactly is refused, never wrapped (docs/pa10_hardware.md).
"""

from __future__ import annotations

import math
from enum import IntFlag
from typing import NamedTuple

from ada_hardware.pa10.variants import AXES, Variant
from ada_robot.errors import Refused

ANGLE_COUNT = 2.0 * math.pi / (16384.0 * 50.0)  # [rad]: a resolver of 14 bits behind a gear of 50
SPEED_COUNT = 2e-4  # [rad/s] of the joint
LARGEST_COUNT = 0x7FFF  # of speed and torque, either way; -0x8000 is never sent


class ModeBit(IntFlag):
    """Mode bits of an axis."""

    BRAKE = 0x01  # mechanical brake on
    SERVO = 0x02  # servo on
    TORQUE = 0x04  # follow the torque; else the speed
    DEAD_MAN = 0x08  # watch the dead-man switch (in the axes of a 7C, in the last word of a CE)
    STOP_TOGETHER = 0x10  # stop this axis on another one's alarm


BRAKE, SERVO, TORQUE = int(ModeBit.BRAKE), int(ModeBit.SERVO), int(ModeBit.TORQUE)  # numbers: faster than flags
BRAKED, IN_SPEED, IN_TORQUE = BRAKE, SERVO, SERVO | TORQUE


class AxisCommand(NamedTuple):
    """Command of one axis.

    Attributes:
        mode: bits of `ModeBit`.
        torque: [counts].
        speed: [counts].
    """

    mode: int = BRAKED
    torque: int = 0
    speed: int = 0


class AxisResponse(NamedTuple):
    """Response of one axis.

    Attributes:
        status: see `alarms`.
        angle: [counts].
        speed: [counts]; 0 where the variant does not report it.
        torque: [counts].
    """

    status: int = 0
    angle: int = 0
    speed: int = 0
    torque: int = 0


class CyclicCommand(NamedTuple):
    """Payload of a command C.

    Attributes:
        axes: seven; of a 6CE the third is all zero.
        controller: word for the controller itself (variant "ce"): `ModeBit.DEAD_MAN`; 0 else.
    """

    axes: tuple[AxisCommand, ...]
    controller: int = 0


class CyclicResponse(NamedTuple):
    """Payload of a response C.

    Attributes:
        axes: seven.
        controller: status of the controller itself.
    """

    axes: tuple[AxisResponse, ...]
    controller: int = 0


def encode_command(command: CyclicCommand, variant: Variant) -> bytes:
    """The payload of a command.

    Raises:
        Refused: a number that the packet cannot hold; the message says of which axis.
    """
    _check_axes(command.axes)
    numbers: list[int] = []
    most = 0xFF if variant.axis_command.startswith("B") else 0xFFFF
    for i, (mode, torque, speed) in enumerate(command.axes):
        if not 0 <= mode <= most:
            text = f"PA-10 axis {i + 1}: mode {mode:#x}; it must be from 0 to {most:#x}."
            raise Refused(text, joint=f"axis {i + 1}", field="mode", value=mode, allowed=most)
        for what, value in (("torque", torque), ("speed", speed)):
            if not -LARGEST_COUNT <= value <= LARGEST_COUNT:
                text = f"PA-10 axis {i + 1}: {what} of {value} counts; the packet holds {LARGEST_COUNT} either way."
                raise Refused(text, joint=f"axis {i + 1}", field=what, value=value, allowed=LARGEST_COUNT)
        numbers += (mode, torque, speed)
    if variant.command_end:
        if not 0 <= command.controller <= 0xFFFF:
            text = f"PA-10: controller word {command.controller:#x}; it must be from 0 to 0xffff."
            raise Refused(text, field="controller", value=command.controller, allowed=0xFFFF)
        numbers.append(command.controller)
    elif command.controller:
        text = f"PA-10: variant {variant.name!r} has no controller word; use the axes' modes."
        raise Refused(text, field="controller", value=command.controller, allowed=0)
    return variant.command.pack(*numbers)


def decode_command(payload: bytes, variant: Variant) -> CyclicCommand:
    """A command; the payload has the size that `PacketParser` lets through."""
    numbers = variant.command.unpack(payload)
    axes = tuple(AxisCommand(*numbers[i : i + 3]) for i in range(0, 3 * AXES, 3))
    return CyclicCommand(axes, numbers[-1] if variant.command_end else 0)


def encode_response(response: CyclicResponse, variant: Variant) -> bytes:
    """The payload of a response.

    Raises:
        Refused: a number that the packet cannot hold.
    """
    _check_axes(response.axes)
    numbers: list[int] = []
    for i, axis in enumerate(response.axes):
        reported = axis if variant.tells_speed else (axis.status, axis.angle, axis.torque)
        widths = (16, 32, 16, 16) if variant.tells_speed else (16, 32, 16)
        for what, value, bits in zip(_reported_names(variant), reported, widths, strict=True):
            lower, upper = (0, 2**bits - 1) if what == "status" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
            if not lower <= value <= upper:
                text = f"PA-10 axis {i + 1}: {what} of {value}; the packet holds {lower} to {upper}."
                raise Refused(text, joint=f"axis {i + 1}", field=what, value=value, allowed=(lower, upper))
        numbers += reported
    if not 0 <= response.controller <= 0xFFFF:
        text = f"PA-10: controller status {response.controller:#x}; it must be from 0 to 0xffff."
        raise Refused(text, field="controller", value=response.controller, allowed=0xFFFF)
    return variant.response.pack(*numbers, response.controller)


def decode_response(payload: bytes, variant: Variant) -> CyclicResponse:
    """A response; the payload has the size that `PacketParser` lets through."""
    numbers = variant.response.unpack(payload)
    if variant.tells_speed:
        axes = tuple(AxisResponse(*numbers[i : i + 4]) for i in range(0, 4 * AXES, 4))
    else:
        axes = tuple(AxisResponse(numbers[i], numbers[i + 1], 0, numbers[i + 2]) for i in range(0, 3 * AXES, 3))
    return CyclicResponse(axes, numbers[-1])


def _reported_names(variant: Variant) -> tuple[str, ...]:
    return ("status", "angle", "speed", "torque") if variant.tells_speed else ("status", "angle", "torque")


def _check_axes(axes: tuple[object, ...]) -> None:
    if len(axes) != AXES:
        text = f"PA-10: {len(axes)} axes; a packet has {AXES}, also that of an arm of six."
        raise Refused(text, field="axes", value=len(axes), allowed=AXES)
