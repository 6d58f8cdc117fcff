# SPDX-License-Identifier: Apache-2.0
"""Parameters of the dynamics node."""

from __future__ import annotations

from dataclasses import dataclass

from ada_robot.ros.robot_settings import PlaceSettings
from ada_robot.settings import setting
from ada_robot.simulated.settings import FASTEST, PhysicsSettings

IDLE = ("hold", "release")
FLOATING_WORLD, FIXED_WORLD = "odom", "world"  # frames of the ground


@dataclass(frozen=True)
class DynamicsSettings(PhysicsSettings, PlaceSettings):
    """Settings of the simulation and its topics."""

    # --- time ---------------------------------------------------------------------------------------------------
    real_time_factor: float = setting(
        1.0, "simulated time per real time; 0: as fast as possible", lower=0.0, upper=1000.0
    )
    start_paused: bool = setting(False, "wait for ~/pause (false) or ~/step", read_only=True)
    step_count: int = setting(1, "steps that ~/step takes", lower=1, upper=1_000_000)
    realtime_priority: int = setting(
        0, "priority of the physics thread (SCHED_FIFO); 0: an ordinary thread", lower=0, upper=99, read_only=True
    )

    # --- commands -----------------------------------------------------------------------------------------------
    idle: str = setting(
        "hold", "behaviour of joints without a command: hold their position, or release it", choices=IDLE
    )
    command_timeout: float = setting(
        0.5,
        "age at which efforts and velocities end, as measured in simulated time; positions are held; 0: never",
        unit="s",
        lower=0.0,
    )
    max_command_age: float = setting(
        0.5, "age by its stamp at which a command is refused; 0: any age", unit="s", lower=0.0
    )
    max_position_jump: float = setting(
        1.0, "from the present position to a commanded one; 0: any", unit="rad, m", lower=0.0
    )
    external_wrench_duration: float = setting(
        0.1, "so long a wrench from ~/external_wrench acts", unit="s", lower=1e-3, upper=60.0
    )

    # --- topics -------------------------------------------------------------------------------------------------
    publish_rate: float = setting(
        250.0,
        "joint_states, /tf and ~/state per second of simulated time",
        unit="Hz",
        lower=0.1,
        upper=FASTEST,
        read_only=True,
    )
    publish_tf: bool = setting(True, "send /tf and /tf_static", read_only=True)
    publish_clock: bool = setting(False, "be the clock: send /clock, and stamp by simulated time", read_only=True)
    world_frame: str = setting("", "frame of the ground; empty: odom under floating robots, else world", read_only=True)
    wrenches: tuple[str, ...] = setting((), "joints whose wrenches go to ~/wrench/<joint>; all: of every joint")
    wrench_rate: float = setting(50.0, "of these topics", unit="Hz", lower=0.1, upper=1000.0, read_only=True)
    marker_rate: float = setting(20.0, "of ~/markers; 0: none", unit="Hz", lower=0.0, upper=200.0, read_only=True)
    record: str = setting("", "path of an .mcap file that gets the motion, a row for each joint_states", read_only=True)


@dataclass(frozen=True)
class ServoGains:
    """Servo gains of one joint."""

    stiffness: float = setting(
        0.0,
        "k of k (q* - q) + d (v* - v); 0 with damping 0: from servo_bandwidth",
        unit="N m/rad, N/m",
        lower=0.0,
        read_only=True,
    )
    damping: float = setting(0.0, "d", unit="N m s/rad, N s/m", lower=0.0, read_only=True)
