# SPDX-License-Identifier: Apache-2.0
"""Parameters of the hardware node, except those of drivers, safety and force/torque sensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from ada_hardware.registry import DRIVEN, DeviceKind
from ada_robot.ros.robot_settings import PlaceSettings
from ada_robot.settings import setting

UNCONFIGURED, INACTIVE, COMMANDED, ACTIVE = "unconfigured", "inactive", "commanded", "active"
_FASTEST = 20_000.0  # [Hz]


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


class DevicePlan(NamedTuple):
    """Device to be opened."""

    name: str  # name for users
    kind: DeviceKind  # kind of device
    settings: DeviceSettings  # its settings in the node
    driver: Any  # settings of its driver
    rules: Any  # `SafetySettings` of a robot, `ForceSensorSettings` of a sensor

    @property
    def frame(self) -> str:
        """Frame of the wrenches of a sensor, without prefix."""
        return self.settings.frame or self.name
