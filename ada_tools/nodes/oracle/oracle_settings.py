# SPDX-License-Identifier: Apache-2.0
"""Parameters of the oracle node."""

from __future__ import annotations

from dataclasses import dataclass

from ada_dynamics.dynamics.arguments import ALGORITHMS
from ada_dynamics.model.description import BASES
from ada_robot.ros.robot_settings import AUTO, check_gravity
from ada_robot.settings import setting


@dataclass(frozen=True)
class OracleSettings:
    """Parameters of the comparison."""

    base: str = setting(
        AUTO,
        "attachment of the root link; auto: from the states on state_topic, or fixed without these",
        choices=(AUTO, *BASES),
        read_only=True,
    )
    gravity: tuple[float, ...] = setting(
        (), "gravity vector in the world; empty: from the robot description", unit="m/s^2", read_only=True
    )
    algorithm: str = setting("ada", "forward dynamics algorithm of this library", choices=ALGORITHMS, read_only=True)
    state_topic: str = setting(
        "dynamics_node/state",
        "complete states, for robots with joints that joint_states cannot represent",
        read_only=True,
    )
    rate: float = setting(10.0, "comparison rate, always of the latest state", unit="Hz", lower=0.1, upper=1000.0)
    absolute_tolerance: float = setting(
        1e-6, "absolute tolerance, added to relative_tolerance", unit="rad/s^2, m/s^2, N m, N", lower=0.0
    )
    relative_tolerance: float = setting(1e-6, "tolerance relative to the largest value of pinocchio", lower=0.0)
    stale_after: float = setting(
        2.0, "time without a state or comparison after which diagnostics report STALE", unit="s", lower=0.01
    )
    description_timeout: float = setting(
        10.0, "timeout for robot_description; 0: none", unit="s", lower=0.0, read_only=True
    )

    def __post_init__(self) -> None:
        """Check the gravity vector."""
        check_gravity(self.gravity)
