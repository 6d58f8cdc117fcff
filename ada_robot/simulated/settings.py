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
        0.0, "additional rotor inertia of each motor", unit="kg m^2, kg", lower=0.0, upper=1e3, read_only=True
    )
    joint_friction: float = setting(
        0.0, "additional Coulomb friction of each motor", unit="N m, N", lower=0.0, upper=1e3, read_only=True
    )
    contact: str = setting(
        AUTO, "ground at height 0; auto: under floating robots with weight", choices=(AUTO, "on", "off"), read_only=True
    )
    joint_stops: bool = setting(True, "soft stops at the position limits of the joints", read_only=True)

    # --- physics ------------------------------------------------------------------------------------------------
    physics_rate: float = setting(
        1000.0, "steps per simulated second", unit="Hz", lower=1.0, upper=FASTEST, read_only=True
    )
    integrator: str = setting(
        AUTO,
        "auto: rkf45; semi_implicit with ground contact, floating robots and stiff forces",
        choices=(AUTO, *METHODS),
        read_only=True,
    )
    algorithm: str = setting(
        "ada",
        "algorithm of forward dynamics; auto: the cheapest, with the same results",
        choices=ALGORITHMS,
        read_only=True,
    )
    initial_positions: tuple[float, ...] = setting(
        (), "q at the start and after a reset; empty: start configuration of the robot", unit="rad, m"
    )
    initial_velocities: tuple[float, ...] = setting(
        (), "v at the start and after a reset; empty: rest", unit="rad/s, m/s"
    )
    servo_bandwidth: float = setting(
        50.0, "frequency of servos without given gains", unit="rad/s", lower=0.1, upper=10_000.0, read_only=True
    )


@dataclass(frozen=True)
class SimulatedSettings(PhysicsSettings):
    """Simulated robot as a device."""

    url: str = setting("simulation:", "address, which a simulation ignores", read_only=True)
    cycle_rate: float = setting(
        500.0, "cycles per second, rounded to whole physics steps", unit="Hz", lower=1.0, upper=FASTEST, read_only=True
    )


@dataclass(frozen=True)
class DynamicsSettings(PhysicsSettings, PlaceSettings):
    """Settings of the simulation and its topics."""

    # --- time ---------------------------------------------------------------------------------------------------
    real_time_factor: float = setting(
        1.0, "simulated time per real time; 0: as fast as possible", lower=0.0, upper=1000.0
    )
    start_paused: bool = setting(False, "start paused, until ~/pause (false) or ~/step", read_only=True)
    step_count: int = setting(1, "number of steps per ~/step", lower=1, upper=1_000_000)
    realtime_priority: int = setting(
        0, "priority of the physics thread (SCHED_FIFO); 0: default scheduling", lower=0, upper=99, read_only=True
    )

    # --- commands -----------------------------------------------------------------------------------------------
    idle: str = setting("hold", "joints without a command hold their position, or are released", choices=IDLE)
    command_timeout: float = setting(
        0.5, "simulated time after which efforts and velocities end; positions are held; 0: never", unit="s", lower=0.0
    )
    max_command_age: float = setting(0.5, "maximum age of a command by its stamp; 0: any", unit="s", lower=0.0)
    max_position_jump: float = setting(
        1.0, "maximum distance of a commanded position from the present one; 0: any", unit="rad, m", lower=0.0
    )
    external_wrench_duration: float = setting(
        0.1, "duration of a wrench from ~/external_wrench", unit="s", lower=1e-3, upper=60.0
    )

    # --- topics -------------------------------------------------------------------------------------------------
    publish_rate: float = setting(
        250.0, "joint_states, /tf and ~/state per simulated second", unit="Hz", lower=0.1, upper=FASTEST, read_only=True
    )
    publish_tf: bool = setting(True, "publish /tf and /tf_static", read_only=True)
    publish_clock: bool = setting(False, "publish /clock, and stamp by simulated time", read_only=True)
    world_frame: str = setting("", "frame of the ground; empty: odom for floating robots, else world", read_only=True)
    wrenches: tuple[str, ...] = setting((), "joints whose wrenches are published on ~/wrench/<joint>; all: every joint")
    wrench_rate: float = setting(50.0, "rate of ~/wrench/<joint>", unit="Hz", lower=0.1, upper=1000.0, read_only=True)
    marker_rate: float = setting(20.0, "rate of ~/markers; 0: none", unit="Hz", lower=0.0, upper=200.0, read_only=True)


@dataclass(frozen=True)
class ServoGains:
    """Servo gains of one joint: stiffness k and damping d of k (q* - q) + d (v* - v)."""

    stiffness: float = setting(
        0.0,
        "stiffness of the servo; 0 with damping 0: from servo_bandwidth",
        unit="N m/rad, N/m",
        lower=0.0,
        read_only=True,
    )
    damping: float = setting(0.0, "damping of the servo", unit="N m s/rad, N s/m", lower=0.0, read_only=True)
