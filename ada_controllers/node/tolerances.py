# SPDX-License-Identifier: Apache-2.0
"""Trajectory tolerances of the form control_msgs/JointTolerance; no ROS."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ada_controllers.errors import ReferenceRefused
from ada_controllers.state import JointReference
from ada_dynamics.errors import unknown_name


class Tolerance(NamedTuple):
    """Maximum deviation of a joint; infinite for any.

    Attributes:
        position: maximum position error [rad, m].
        velocity: maximum velocity error [rad/s, m/s].
    """

    position: float = math.inf
    velocity: float = math.inf


def tolerances_of(requested: Sequence[Any], joints: Sequence[str], default: float) -> list[Tolerance]:
    """Return the tolerance of each joint.

    Args:
        requested: messages with name, position and velocity: 0 for the default, negative for any.
        joints: joints of the controller.
        default: default of positions; 0 for any.

    Raises:
        ReferenceRefused: if a joint is unknown, or a value is not finite.
    """
    found = dict.fromkeys(joints, Tolerance(default or math.inf))
    for one in requested:
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


def _value(requested: float, usual: float) -> float:
    if requested < 0.0:
        return math.inf
    return requested or usual


def first_beyond(
    tolerances: Sequence[Tolerance], joints: Sequence[str], desired: JointReference, actual: JointReference
) -> str:
    """Describe the first joint that exceeds its tolerance; "" if none does."""
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
