# SPDX-License-Identifier: Apache-2.0
"""Physics settings of a simulated robot."""

from __future__ import annotations

from dataclasses import dataclass

from ada_dynamics.dynamics.computation import ALGORITHMS
from ada_dynamics.simulation.methods import METHODS
from ada_robot.ros.robot_settings import AUTO, RobotSettings
from ada_robot.settings import setting

FASTEST = 20_000.0  # [Hz]


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
