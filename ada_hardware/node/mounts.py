# SPDX-License-Identifier: Apache-2.0
"""Where the frames of force/torque sensors are: fixed in a link of a robot, or in the world; no ROS.

`NAME.mounting` is the pose of the frame that the wrenches are in. The sensor's own pose in that frame,
`NAME.sensor.xyz` and `rpy`, is no part of it: the wrenches have been brought into the frame already.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

import numpy as np

from ada_dynamics.errors import InputError
from ada_dynamics.spatial.orientation import pose_of
from ada_hardware.node.device_plan import DevicePlan
from ada_hardware.registry import SENSOR
from ada_robot.messages.outgoing import FixedTransform

_NUMBERS = 6  # of a pose


def mounted(plans: Sequence[DevicePlan]) -> list[DevicePlan]:
    """The sensors whose frames this node is to publish."""
    return [plan for plan in plans if plan.kind.kind == SENSOR and plan.settings.parent]


def check_mounts(plans: Sequence[DevicePlan], world_frame: str) -> None:
    """Check that the frames of sensors make a tree.

    Args:
        plans: of all devices.
        world_frame: that the robots stand in.

    Raises:
        InputError: naming the parameter that cannot be.
    """
    for plan in plans:
        _check_pose(plan)
    sensors = mounted(plans)
    parents: dict[str, str] = {}
    for plan in sensors:
        if plan.frame == world_frame:
            text = (
                f"{_where(plan)}, which is the frame of the world: that is fixed in nothing. Set {plan.name}.frame to "
                "another name."
            )
            raise InputError(text, field=f"{plan.name}.frame", value=plan.frame)
        if plan.frame in parents:
            text = (
                f"{_where(plan)}, and so it is for another sensor: a frame has one parent. Leave {plan.name}.parent "
                "out where both are in the same frame, or give them frames of their own."
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
                f"parameter {plan.name}.parent is {plan.settings.parent!r}, and the frame is {plan.frame!r}: that goes "
                "in a circle. Name a link of the robot that carries the sensor, or the frame of the world, "
                f"{world_frame!r}."
            )
            raise InputError(text, field=f"{plan.name}.parent", value=plan.settings.parent)


def refuse_links(plans: Sequence[DevicePlan], links: Container[str]) -> None:
    """Check that no sensor's frame to be published is a link, which has its place already.

    Args:
        plans: of all devices.
        links: of the robots of this node.

    Raises:
        InputError: naming the parameter.
    """
    for plan in mounted(plans):
        if plan.frame in links:
            text = (
                f"{_where(plan)}, which is a link of a robot of this node and has its place in it. Leave "
                f"{plan.name}.parent and {plan.name}.mounting out, or set {plan.name}.frame to another name."
            )
            raise InputError(text, field=f"{plan.name}.frame", value=plan.frame, link=plan.frame)


def transforms(plans: Sequence[DevicePlan], prefix: str) -> list[FixedTransform]:
    """The frames of all sensors that are mounted.

    Args:
        plans: of all devices, checked.
        prefix: of the names of frames.
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
            f"parameter {plan.name}.mounting is {list(pose)}; it must be six finite numbers, x, y, z [m] and roll, "
            "pitch, yaw [rad], or empty."
        )
        raise InputError(text, field=f"{plan.name}.mounting", value=pose)
    if not parent:
        text = (
            f"parameter {plan.name}.mounting is {list(pose)}, but nobody knows in which frame; set {plan.name}.parent "
            "too, or leave both out."
        )
        raise InputError(text, field=f"{plan.name}.parent", value=parent)


def _where(plan: DevicePlan) -> str:
    return f"parameter {plan.name}.parent is {plan.settings.parent!r} for the frame {plan.frame!r}"
