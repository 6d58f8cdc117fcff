# SPDX-License-Identifier: Apache-2.0
"""What the joints of a model may be commanded to; no ROS."""

from __future__ import annotations

from collections.abc import Sequence

from ada_dynamics.model.builder import ROOT_JOINT
from ada_dynamics.model.model import Model
from ada_robot.command.rules import JointLimit


def joint_limits(model: Model, motors: Sequence[str]) -> list[JointLimit]:
    """What commands may ask of the joints of a model, of which some have motors."""
    found = []
    for name, joint in model.joints.items():
        if name == ROOT_JOINT or not joint.nv:
            continue
        lower, upper, speed, effort = joint.limits.lower, joint.limits.upper, joint.limits.velocity, joint.limits.effort
        found.append(JointLimit(name, float(lower), float(upper), float(speed), float(effort), name in motors))
    return found
