# SPDX-License-Identifier: Apache-2.0
"""Axes of the PA-10: names, limits, packet slots."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from ada_dynamics.model.model import motor_joints
from ada_dynamics.robots.load import load
from ada_hardware.pa10.variants import AXES, GEAR
from ada_robot.contract import JointLimit
from ada_robot.limits import joint_limits

LEFT_OUT = 2  # slot of S3, missing in a PA10-6CE (docs/pa10_hardware.md; mhipa10arc, model.h)
RATED_TORQUE = (4.64, 4.64, 2.0, 2.0, 0.29, 0.29, 0.29)  # [N m] motor side (mhipa10arc)
_MODELS = {"ce": "pa10", "7c": "pa10_7c"}
# Ranges of a 6CE, including the offsets of its zero position (docs/pa10_hardware.md) [deg]
_LIMITS_OF_SIX = ((-177, 177), (-64, 124), (-107, 158), (-255, 255), (-165, 165), (-255, 255))


class Arm(NamedTuple):
    """Axes of an arm.

    Attributes:
        joints: joint names of the robot description.
        limits: joint limits of the arm.
        slots: slot of each axis in a cyclic packet, from 0; packets A and R use slot + 1.
    """

    joints: tuple[str, ...]
    limits: tuple[JointLimit, ...]
    slots: tuple[int, ...]


def model_name(variant: str) -> str:
    """Catalogue name of the seven-axis robot of a variant."""
    return _MODELS[variant]


@lru_cache(maxsize=4)
def arm(variant: str, axes: int, rated_torque: tuple[float, ...] = RATED_TORQUE) -> Arm:
    """Return the axes of an arm.

    Args:
        variant: "ce" or "7c".
        axes: 7, or 6 for a PA10-6CE.
        rated_torque: rated motor torques by slot [N m]; times the gear ratio they are the effort limits.
    """
    model = load(model_name(variant))
    slots = tuple(slot for slot in range(AXES) if axes == AXES or slot != LEFT_OUT)
    of_seven = joint_limits(model, motor_joints(model))
    limits = [of_seven[slot]._replace(effort=GEAR * rated_torque[slot]) for slot in slots]
    if axes != AXES:
        ways = [(math.radians(lower), math.radians(upper)) for lower, upper in _LIMITS_OF_SIX]
        limits = [limit._replace(lower=lower, upper=upper) for limit, (lower, upper) in zip(limits, ways, strict=True)]
    return Arm(tuple(limit.name for limit in limits), tuple(limits), slots)
