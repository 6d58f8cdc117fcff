# SPDX-License-Identifier: Apache-2.0
"""Parameters of the hardware node, except those of drivers, safety and force/torque sensors."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.errors import InputError
from ada_dynamics.spatial.orientation import pose_of
from ada_hardware.registry import DRIVEN, SENSOR, DeviceKind
from ada_robot.messages.outgoing import FixedTransform
from ada_robot.ros.robot_settings import PlaceSettings
from ada_robot.settings import setting

UNCONFIGURED, INACTIVE, COMMANDED, ACTIVE = "unconfigured", "inactive", "commanded", "active"
_FASTEST = 20_000.0  # [Hz]
_NUMBERS = 6  # elements of a pose


@dataclass(frozen=True)
class HardwareSettings(PlaceSettings):
    """Parameters of the hardware node."""

    # --- devices ------------------------------------------------------------------------------------------------
    device: str = setting(
        "",
        "kind of the only device, which is also its name in other parameters, such as pa10.driver.url; empty: use the "
        "parameter devices",
        choices=("", *DRIVEN),
        read_only=True,
    )
    url: str = setting("", "address of the only device; empty: the one in DEVICE.driver.url", read_only=True)
    devices: tuple[str, ...] = setting(
        (), "names of several devices, each with its NAME.kind and NAME.driver.url", read_only=True
    )
    dry_run: bool = setting(False, "open no port: use emulators in this process instead of the devices", read_only=True)
    autostart: str = setting(
        INACTIVE,
        "automatic transition at start; inactive: connected and reading, no motion; active: follow commands; "
        "commanded: active as soon as every robot receives commands",
        choices=(UNCONFIGURED, INACTIVE, COMMANDED, ACTIVE),
        read_only=True,
    )

    # --- commands -----------------------------------------------------------------------------------------------
    max_command_age: float = setting(
        0.1, "age of its stamp at which a command is refused; 0: any age", unit="s", lower=0.0
    )
    require_stamps: bool = setting(
        True,
        "refuse commands without a time stamp (header.stamp); false: their age is counted from reception, and their "
        "transmission time is unknown",
    )
    max_position_jump: float = setting(
        0.5, "largest difference between a commanded and the measured position; 0: any", unit="rad, m", lower=0.0
    )
    release_confirmed: bool = setting(
        False,
        "confirm ~/release: the robot is supported or lies, so that nothing falls when its servos are released; reset "
        "to false by each request, also a refused one",
    )

    # --- topics -------------------------------------------------------------------------------------------------
    rate: float = setting(
        500.0, "rate of checks for new commands and readings", unit="Hz", lower=1.0, upper=_FASTEST, read_only=True
    )
    publish_rate: float = setting(
        250.0,
        "largest rate of joint_states and ~/commanded; limited by that of the device",
        unit="Hz",
        lower=0.1,
        upper=_FASTEST,
        read_only=True,
    )
    tf_rate: float = setting(
        50.0, "largest rate of /tf; 0: no /tf and /tf_static", unit="Hz", lower=0.0, upper=1000.0, read_only=True
    )
    world_frame: str = setting("world", "frame of the robots' bases", read_only=True)
    realtime_priority: int = setting(
        0,
        "priority of the message thread (SCHED_FIFO); 0: normal thread. Robot cycles have "
        "NAME.safety.realtime_priority",
        lower=0,
        upper=99,
        read_only=True,
    )


@dataclass(frozen=True)
class DeviceSettings:
    """Parameters of one device, prefixed with NAME and a dot."""

    kind: str = setting("", "kind of device", choices=("", *DRIVEN), read_only=True)
    prefix: str = setting(
        "",
        "prefix of a robot's topics, with a trailing slash if needed, as in left/; required with several robots",
        read_only=True,
    )
    model: str = setting(
        "",
        "model of a robot for robot_description and /tf: catalogue name (`ada list`) or file; empty: that of the "
        "device; none: no model",
        read_only=True,
    )
    place: str = setting(
        "process",
        "where the cycle of a robot runs; process: own process, which stops the robot if the node is killed; thread: "
        "thread of the node",
        choices=("process", "thread"),
        read_only=True,
    )
    topic: str = setting("wrench", "topic of a sensor's wrenches", read_only=True)
    frame: str = setting(
        "",
        "frame of a sensor's wrenches, a link of the robot that carries it; empty: name of the sensor",
        read_only=True,
    )
    parent: str = setting(
        "",
        "parent of a sensor's frame for /tf_static: a link of the robot that carries it, or the world frame; empty: "
        "published by another node",
        read_only=True,
    )
    mounting: tuple[float, ...] = setting(
        (),
        "pose of a sensor's frame in its parent: x, y, z [m], roll, pitch, yaw [rad]; empty: identity",
        read_only=True,
    )


class DevicePlan(NamedTuple):
    """Device to be opened.

    Attributes:
        name: name for users.
        kind: kind of device.
        settings: its settings in the node.
        driver: settings of its driver.
        rules: `SafetySettings` of a robot, `ForceSensorSettings` of a sensor.
    """

    name: str
    kind: DeviceKind
    settings: DeviceSettings
    driver: Any
    rules: Any

    @property
    def frame(self) -> str:
        """Frame of the wrenches of a sensor, without prefix."""
        return self.settings.frame or self.name


def mounted(plans: Sequence[DevicePlan]) -> list[DevicePlan]:
    """Sensors whose frames are published by this node."""
    return [plan for plan in plans if plan.kind.kind == SENSOR and plan.settings.parent]


def check_mounts(plans: Sequence[DevicePlan], world_frame: str) -> None:
    """Check the frames of sensors and their poses.

    Args:
        plans: descriptions of all devices.
        world_frame: world frame of the robots.

    Raises:
        InputError: invalid value; the message names the parameter.
    """
    for plan in plans:
        _check_pose(plan)
    sensors = mounted(plans)
    frames = [plan.frame for plan in sensors]
    for plan in sensors:
        parent = plan.settings.parent
        if plan.frame == world_frame:
            text = f"{_where(plan)}, which is the world frame. Set {plan.name}.frame to another name."
            raise InputError(text, field=f"{plan.name}.frame", value=plan.frame)
        if frames.count(plan.frame) > 1 or parent in frames:
            text = (
                f"{_where(plan)}: sensors need different frames, and a parent that is not the frame of a sensor. Set "
                f"it to the link of the robot that carries the sensor, or to the world frame {world_frame!r}; leave it "
                "out if another sensor defines the frame."
            )
            raise InputError(text, field=f"{plan.name}.parent", value=parent)


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
