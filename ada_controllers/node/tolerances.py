# SPDX-License-Identifier: Apache-2.0
"""Tolerances of trajectories, as control_msgs/JointTolerance has them; no ROS."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ada_controllers.errors import ReferenceRefused
from ada_controllers.state import JointReference
from ada_dynamics.errors import unknown_name


class Tolerance(NamedTuple):
    """Greatest deviation of a joint; infinite where any is allowed.

    Attributes:
        position: [rad, m].
        velocity: [rad/s, m/s].
    """

    position: float = math.inf
    velocity: float = math.inf


def tolerances_of(wanted: Sequence[Any], joints: Sequence[str], default: float) -> list[Tolerance]:
    """A tolerance for each joint.

    Args:
        wanted: messages with name, position and velocity: 0 means the default, what is negative means any.
        joints: of the controller.
        default: of positions; 0: any.

    Raises:
        ReferenceRefused: a joint is unknown, or a number is not finite.
    """
    found = dict.fromkeys(joints, Tolerance(default or math.inf))
    for one in wanted:
        if one.name not in found:
            raise ReferenceRefused(
                f"tolerance: {unknown_name('joint', one.name[:80], joints)}", joint=one.name, field="name"
            )
        if not (math.isfinite(one.position) and math.isfinite(one.velocity)):
            raise ReferenceRefused(
                f"the tolerance of joint {one.name!r} is {one.position}, {one.velocity}; it must be finite: 0 for the "
                "default, -1 for any.",
                joint=one.name,
                field="tolerance",
            )
        usual = found[one.name]
        found[one.name] = Tolerance(_value(one.position, usual.position), _value(one.velocity, usual.velocity))
    return list(found.values())


def _value(wanted: float, usual: float) -> float:
    if wanted < 0.0:
        return math.inf
    return wanted or usual


def first_beyond(
    tolerances: Sequence[Tolerance], joints: Sequence[str], desired: JointReference, actual: JointReference
) -> str:
    """The deviation of the first joint that exceeds its tolerance, in words; empty if none does."""
    for i, (name, tolerance) in enumerate(zip(joints, tolerances, strict=True)):
        off = abs(float(desired.position[i] - actual.position[i]))
        if off > tolerance.position:
            return f"joint {name!r} is off by {off:.4g}, more than {tolerance.position:g} [rad, m],"
        if desired.velocity is None or actual.velocity is None:
            continue
        off = abs(float(desired.velocity[i] - actual.velocity[i]))
        if off > tolerance.velocity:
            return f"joint {name!r} is off by {off:.4g}, more than {tolerance.velocity:g} [rad/s, m/s],"
    return ""
