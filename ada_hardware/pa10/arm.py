# SPDX-License-Identifier: Apache-2.0
"""The axes of a PA-10: names, limits, slots in a packet."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from ada_dynamics.model.model import motor_joints
from ada_dynamics.robots.load import load
from ada_hardware.pa10.variants import AXES, GEAR
from ada_robot.contract import JointLimit
from ada_robot.limits import joint_limits

LEFT_OUT = 2  # slot of S3, which a PA10-6CE does not have (docs/pa10_hardware.md; mhipa10arc, model.h)
RATED_TORQUE = (4.64, 4.64, 2.0, 2.0, 0.29, 0.29, 0.29)  # [N m] of the motors (mhipa10arc)
_MODELS = {"ce": "pa10", "7c": "pa10_7c"}
# A 6CE's ways, with the offsets of its zero pose (docs/pa10_hardware.md) [deg]
_LIMITS_OF_SIX = ((-177, 177), (-64, 124), (-107, 158), (-255, 255), (-165, 165), (-255, 255))


class Arm(NamedTuple):
    """An arm's axes.

    Attributes:
        joints: names, as in the robot description.
        limits: what the arm itself can do.
        slots: of each axis in a cyclic packet, from 0; its number in packets A and R is one more.
    """

    joints: tuple[str, ...]
    limits: tuple[JointLimit, ...]
    slots: tuple[int, ...]


def model_name(variant: str) -> str:
    """The robot of the catalogue that a variant's arm of seven axes is."""
    return _MODELS[variant]


@lru_cache(maxsize=4)
def arm(variant: str, axes: int, rated_torque: tuple[float, ...] = RATED_TORQUE) -> Arm:
    """The axes of an arm.

    Args:
        variant: "ce" or "7c".
        axes: 7, or 6 for a PA10-6CE.
        rated_torque: of the motors, by slot [N m]; the limit of effort, behind the gear.
    """
    model = load(model_name(variant))
    slots = tuple(slot for slot in range(AXES) if axes == AXES or slot != LEFT_OUT)
    of_seven = joint_limits(model, motor_joints(model))
    limits = [of_seven[slot]._replace(effort=GEAR * rated_torque[slot]) for slot in slots]
    if axes != AXES:
        ways = [(math.radians(lower), math.radians(upper)) for lower, upper in _LIMITS_OF_SIX]
        limits = [limit._replace(lower=lower, upper=upper) for limit, (lower, upper) in zip(limits, ways, strict=True)]
    return Arm(tuple(limit.name for limit in limits), tuple(limits), slots)
