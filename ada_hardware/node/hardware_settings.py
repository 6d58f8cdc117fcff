# SPDX-License-Identifier: Apache-2.0
"""The parameters of the hardware node, beside those of its devices' drivers, of safety and of force/torque sensors."""

from __future__ import annotations

from dataclasses import dataclass

from ada_hardware.registry import DRIVEN
from ada_robot.ros.robot_settings import PlaceSettings
from ada_robot.settings import setting

UNCONFIGURED, INACTIVE, COMMANDED, ACTIVE = "unconfigured", "inactive", "commanded", "active"
_FASTEST = 20_000.0  # [Hz]


@dataclass(frozen=True)
class HardwareSettings(PlaceSettings):
    """Settings of the hardware node; see the descriptions."""

    # --- devices ------------------------------------------------------------------------------------------------
    device: str = setting(
        "",
        "the only device, by its kind, which is its name in other parameters too, as in pa10.driver.url; empty: those "
        "of the parameter devices",
        choices=("", *DRIVEN),
        read_only=True,
    )
    url: str = setting("", "address of the only device; empty: the one in DEVICE.driver.url", read_only=True)
    devices: tuple[str, ...] = setting(
        (), "names of several devices; what each is, says NAME.kind, and where, NAME.driver.url", read_only=True
    )
    dry_run: bool = setting(
        False,
        "open no port: everything runs, and an emulator of the same kind within this program answers",
        read_only=True,
    )
    autostart: str = setting(
        INACTIVE,
        "how far the node goes by itself, once; inactive: connected and reading, nothing moves; active: follows "
        "commands; commanded: the same, as soon as somebody commands every robot",
        choices=(UNCONFIGURED, INACTIVE, COMMANDED, ACTIVE),
        read_only=True,
    )

    # --- commands -----------------------------------------------------------------------------------------------
    max_command_age: float = setting(
        0.1, "age by its stamp at which a command is refused; 0: any age", unit="s", lower=0.0
    )
    require_stamps: bool = setting(
        True,
        "refuse commands that do not say when they were made (header.stamp); false: those count from their arrival, "
        "and how long they took to come is not known",
    )
    max_position_jump: float = setting(
        0.5, "from the measured position to a commanded one; 0: any", unit="rad, m", lower=0.0
    )
    release_confirmed: bool = setting(
        False,
        "say yes to ~/release: somebody holds the robot, or it lies, so that nothing falls when its servos go free; "
        "goes back to false with each request, also one that is refused",
    )
    motion: str = setting(
        "", "path of the file that ~/play_motion plays: a motion of Heart To Heart (CSV), for a KHR-1"
    )

    # --- topics -------------------------------------------------------------------------------------------------
    rate: float = setting(
        500.0, "of looks for new commands and readings", unit="Hz", lower=1.0, upper=_FASTEST, read_only=True
    )
    publish_rate: float = setting(
        250.0,
        "most joint_states and ~/commanded per second; no more than the device gives",
        unit="Hz",
        lower=0.1,
        upper=_FASTEST,
        read_only=True,
    )
    tf_rate: float = setting(
        50.0, "most /tf per second; 0: no /tf and /tf_static", unit="Hz", lower=0.0, upper=1000.0, read_only=True
    )
    world_frame: str = setting("world", "frame that the robots stand in", read_only=True)
    realtime_priority: int = setting(
        0,
        "priority of the thread that moves messages (SCHED_FIFO); 0: an ordinary thread. That of the robots' cycles is "
        "NAME.safety.realtime_priority",
        lower=0,
        upper=99,
        read_only=True,
    )


@dataclass(frozen=True)
class DeviceSettings:
    """The settings of one device; each name stands behind NAME and a dot."""

    kind: str = setting("", "what it is", choices=("", *DRIVEN), read_only=True)
    prefix: str = setting(
        "",
        "of a robot's topics, with its slash where it wants one, as in left/; needed where there are several robots",
        read_only=True,
    )
    model: str = setting(
        "",
        "of a robot, for robot_description and /tf: a name in the catalogue (`ada list`) or a file's path; empty: the "
        "device's own; none: no model",
        read_only=True,
    )
    place: str = setting(
        "process",
        "where a robot's cycle runs; process: one of its own, which brings the robot to rest when the node is killed; "
        "thread: one of the node's",
        choices=("process", "thread"),
        read_only=True,
    )
    topic: str = setting("wrench", "of a sensor's wrenches", read_only=True)
    frame: str = setting(
        "", "of a sensor's wrenches, a link of the robot that carries it; empty: the sensor's name", read_only=True
    )
    parent: str = setting(
        "",
        "frame that a sensor's frame is fixed in, for /tf_static: a link of the robot that carries it, or the world's; "
        "empty: somebody else publishes it, as of a link",
        read_only=True,
    )
    mounting: tuple[float, ...] = setting(
        (),
        "pose of a sensor's frame in its parent: x, y, z [m], roll, pitch, yaw [rad]; empty: the same place",
        read_only=True,
    )
