# SPDX-License-Identifier: Apache-2.0
"""Settings of a simulated robot: physics, device, and the parameters of the dynamics node."""

from __future__ import annotations

from dataclasses import dataclass

from ada_dynamics.dynamics.arguments import ALGORITHMS
from ada_dynamics.simulation.methods import METHODS
from ada_robot.ros.robot_settings import AUTO, PlaceSettings, RobotSettings
from ada_robot.settings import setting

FASTEST = 20_000.0  # [Hz]
IDLE = ("hold", "release")
FLOATING_WORLD, FIXED_WORLD = "odom", "world"  # frames of the ground


@dataclass(frozen=True)
class PhysicsSettings(RobotSettings):
    """Robot, ground, joint stops, servos and integrator."""

    # --- the robot ----------------------------------------------------------------------------------------------
    rotor_inertia: float = setting(
        0.0,
        "rotor inertia of each motor at its joint, in addition to the robot description",
        unit="kg m^2, kg",
        lower=0.0,
        upper=1e3,
        read_only=True,
    )
    joint_friction: float = setting(
        0.0,
        "Coulomb friction of each motor at its joint, in addition to the robot description",
        unit="N m, N",
        lower=0.0,
        upper=1e3,
        read_only=True,
    )
    contact: str = setting(
        AUTO, "ground at height 0; auto: under floating robots with weight", choices=(AUTO, "on", "off"), read_only=True
    )
    joint_stops: bool = setting(True, "soft stops at the position limits of the joints", read_only=True)

    # --- physics ------------------------------------------------------------------------------------------------
    physics_rate: float = setting(
        1000.0, "steps per second of simulated time", unit="Hz", lower=1.0, upper=FASTEST, read_only=True
    )
    integrator: str = setting(
        AUTO,
        "auto: rkf45; semi_implicit with ground contact, floating robots, and forces that are fast "
        "compared with a step",
        choices=(AUTO, *METHODS),
        read_only=True,
    )
    algorithm: str = setting(
        "ada", "of forward dynamics; auto takes the cheapest, with the same results", choices=ALGORITHMS, read_only=True
    )
    initial_positions: tuple[float, ...] = setting(
        (), "q to start from and to reset to; empty: the robot's start pose", unit="rad, m"
    )
    initial_velocities: tuple[float, ...] = setting(
        (), "v to start with and to reset to; empty: rest", unit="rad/s, m/s"
    )
    servo_bandwidth: float = setting(
        50.0,
        "frequency of servos without given gains",
        unit="rad/s",
        lower=0.1,
        upper=10_000.0,
        read_only=True,
    )


@dataclass(frozen=True)
class SimulatedSettings(PhysicsSettings):
    """Simulated robot as a device."""

    url: str = setting("simulation:", "address; there is no wire", read_only=True)
    cycle_rate: float = setting(
        500.0,
        "exchanges per second; the nearest rate at which each has whole steps of physics_rate",
        unit="Hz",
        lower=1.0,
        upper=FASTEST,
        read_only=True,
    )


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
