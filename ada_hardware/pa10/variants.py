# SPDX-License-Identifier: Apache-2.0
"""Variants of the PA-10 protocol: two controller generations with different layouts of the cyclic packets.

Sources (docs/pa10_hardware.md): variant "7c", the old PA-10-7C, from SDU's drv_pa10 and RobWork's PA10Driver, which
agree; variant "ce", PA10-6CE and PA10-7CE, from mhipa10arc. The type plate of a robot names its type.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from ada_dynamics.errors import unknown_name
from ada_dynamics.model.model import motor_joints
from ada_dynamics.robots.load import load
from ada_robot.contract import JointLimit
from ada_robot.limits import joint_limits

AXES = 7  # slots of a cyclic packet, also for an arm of six axes
GEAR = 50.0  # motor turns per joint turn [-]
LEFT_OUT = 2  # slot of S3, missing in a PA10-6CE (docs/pa10_hardware.md; mhipa10arc, model.h)
RATED_TORQUE = (4.64, 4.64, 2.0, 2.0, 0.29, 0.29, 0.29)  # [N m] motor side (mhipa10arc)
# Ranges of a 6CE, including the offsets of its zero position (docs/pa10_hardware.md) [deg]
_LIMITS_OF_SIX = ((-177, 177), (-64, 124), (-107, 158), (-255, 255), (-165, 165), (-255, 255))


@dataclass(frozen=True)
class Variant:
    """Layout of the cyclic packets of a controller generation."""

    name: str  # name for users
    model: str  # catalogue name of the seven-axis robot
    order: str  # byte order as in `struct`
    axis_command: str  # `struct` format of mode, torque, speed of an axis
    command_end: str  # format of the words after the axes in a command
    axis_response: str  # format of status, angle, speed (if reported), torque of an axis
    response_end: str  # format of the words after the axes in a response
    tells_speed: bool  # responses contain axis speeds
    torque_count: float | None  # motor torque per count [N m]; None: rated torque of the motor / 4096
    # location of the bit that enables monitoring of the dead-man switch: "mode" (axis mode) or "end" (controller word)
    watches_dead_man: str
    watchdog: float  # watchdog timeout of the controller according to the sources [s]

    @cached_property
    def command(self) -> struct.Struct:
        """Format of the payload of a command C."""
        return struct.Struct(self.order + AXES * self.axis_command + self.command_end)

    @cached_property
    def response(self) -> struct.Struct:
        """Format of the payload of a response C."""
        return struct.Struct(self.order + AXES * self.axis_response + self.response_end)

    def motor_torque(self, rated: float) -> float:
        """Return the motor torque per count [N m] for a motor of given rated torque [N m]."""
        return rated / 4096.0 if self.torque_count is None else self.torque_count


# PA10-6CE and PA10-7CE: docs/pa10_hardware.md, variant ce; watchdog and byte order from mhipa10arc
CE = Variant(
    name="ce",
    model="pa10",
    order=">",
    axis_command="Hhh",
    command_end="H",
    axis_response="Hihh",
    response_end="H",
    tells_speed=True,
    torque_count=None,
    watches_dead_man="end",
    watchdog=0.010,
)

# Old PA-10-7C: docs/pa10_hardware.md, variant 7c; watchdog from RobWork
OLD_7C = Variant(
    name="7c",
    model="pa10_7c",
    order="<",
    axis_command="Bhh",
    command_end="",
    axis_response="Hih",
    response_end="H",
    tells_speed=False,
    torque_count=1e-3,
    watches_dead_man="mode",
    watchdog=0.400,
)

VARIANTS = {one.name: one for one in (CE, OLD_7C)}


def variant(name: str) -> Variant:
    """Return the variant with the given name; raises InputError for an unknown name."""
    if name not in VARIANTS:
        raise unknown_name("PA-10 variant", name, list(VARIANTS))
    return VARIANTS[name]


class Arm(NamedTuple):
    """Axes of an arm."""

    joints: tuple[str, ...]  # joint names of the robot description
    limits: tuple[JointLimit, ...]  # joint limits of the arm
    slots: tuple[int, ...]  # slot of each axis in a cyclic packet, from 0; packets A and R use slot + 1


@lru_cache(maxsize=4)
def arm(variant: str, axes: int, rated_torque: tuple[float, ...] = RATED_TORQUE) -> Arm:
    """Return the axes of an arm.

    Args:
        variant: "ce" or "7c".
        axes: 7, or 6 for a PA10-6CE.
        rated_torque: rated motor torques by slot [N m]; times the gear ratio they are the effort limits.
    """
    model = load(VARIANTS[variant].model)
    slots = tuple(slot for slot in range(AXES) if axes == AXES or slot != LEFT_OUT)
    of_seven = joint_limits(model, motor_joints(model))
    limits = [of_seven[slot]._replace(effort=GEAR * rated_torque[slot]) for slot in slots]
    if axes != AXES:
        ways = [(math.radians(lower), math.radians(upper)) for lower, upper in _LIMITS_OF_SIX]
        limits = [limit._replace(lower=lower, upper=upper) for limit, (lower, upper) in zip(limits, ways, strict=True)]
    return Arm(tuple(limit.name for limit in limits), tuple(limits), slots)
