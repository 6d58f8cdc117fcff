# SPDX-License-Identifier: Apache-2.0
"""Mounting of force/torque sensor frames on a link of a robot or in the world; no ROS.

`NAME.mounting` is the pose of the frame of the wrenches. The pose of the sensor in that frame (`NAME.sensor.xyz`,
`rpy`) is not part of it, since wrenches are published in this frame.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

import numpy as np

from ada_dynamics.errors import InputError
from ada_dynamics.spatial.orientation import pose_of
from ada_hardware.node.hardware_settings import DevicePlan
from ada_hardware.registry import SENSOR
from ada_robot.messages.outgoing import FixedTransform

_NUMBERS = 6  # elements of a pose


def mounted(plans: Sequence[DevicePlan]) -> list[DevicePlan]:
    """Sensors whose frames are published by this node."""
    return [plan for plan in plans if plan.kind.kind == SENSOR and plan.settings.parent]


def check_mounts(plans: Sequence[DevicePlan], world_frame: str) -> None:
    """Check that the frames of sensors form a tree.

    Args:
        plans: descriptions of all devices.
        world_frame: world frame of the robots.

    Raises:
        InputError: invalid value; the message names the parameter.
    """
    for plan in plans:
        _check_pose(plan)
    sensors = mounted(plans)
    parents: dict[str, str] = {}
    for plan in sensors:
        if plan.frame == world_frame:
            text = (
                f"{_where(plan)}, which is the world frame and cannot have a parent. Set {plan.name}.frame to another "
                "name."
            )
            raise InputError(text, field=f"{plan.name}.frame", value=plan.frame)
        if plan.frame in parents:
            text = (
                f"{_where(plan)}, as for another sensor: a frame has one parent. Leave out {plan.name}.parent if both "
                "use the same frame, or use two frames."
            )
            raise InputError(text, field=f"{plan.name}.parent", value=plan.settings.parent)
        parents[plan.frame] = plan.settings.parent
    for plan in sensors:
        above, passed = plan.settings.parent, {plan.frame}
        while above in parents and above not in passed:
            passed.add(above)
            above = parents[above]
        if above in passed:
            text = (
                f"parameter {plan.name}.parent is {plan.settings.parent!r} for the frame {plan.frame!r}: the frames "
                "form a cycle. Set it to the link of the robot that carries the sensor, or to the world frame "
                f"{world_frame!r}."
            )
            raise InputError(text, field=f"{plan.name}.parent", value=plan.settings.parent)


def refuse_links(plans: Sequence[DevicePlan], links: Container[str]) -> None:
    """Check that no mounted sensor frame is a link of a robot, which already has a parent.

    Args:
        plans: descriptions of all devices.
        links: links of the robots of this node.

    Raises:
        InputError: a frame is a link; the message names the parameter.
    """
    for plan in mounted(plans):
        if plan.frame in links:
            text = (
                f"{_where(plan)}, which is a link of a robot of this node. Leave out {plan.name}.parent and "
                f"{plan.name}.mounting, or set {plan.name}.frame to another name."
            )
            raise InputError(text, field=f"{plan.name}.frame", value=plan.frame, link=plan.frame)


def transforms(plans: Sequence[DevicePlan], prefix: str) -> list[FixedTransform]:
    """Return the fixed transforms of all mounted sensors.

    Args:
        plans: descriptions of all devices, checked.
        prefix: prefix of frame names.
    """
    rows = []
    for plan in mounted(plans):
        pose = plan.settings.mounting or (0.0,) * _NUMBERS
        matrix = pose_of(pose[:3], pose[3:])
        row = FixedTransform.of(prefix + plan.settings.parent, prefix + plan.frame, matrix[:3, 3], matrix[:3, :3])
        rows.append(row)
    return rows


def _check_pose(plan: DevicePlan) -> None:
    pose, parent = plan.settings.mounting, plan.settings.parent
    if not pose:
        return
    if len(pose) != _NUMBERS or not np.isfinite(pose).all():
        text = (
            f"parameter {plan.name}.mounting is {list(pose)}; required are six finite numbers, x, y, z [m] and roll, "
            "pitch, yaw [rad], or none."
        )
        raise InputError(text, field=f"{plan.name}.mounting", value=pose)
    if not parent:
        text = f"parameter {plan.name}.mounting is {list(pose)}, but {plan.name}.parent is not set; set both, or none."
        raise InputError(text, field=f"{plan.name}.parent", value=parent)


def _where(plan: DevicePlan) -> str:
    return f"parameter {plan.name}.parent is {plan.settings.parent!r} for the frame {plan.frame!r}"
