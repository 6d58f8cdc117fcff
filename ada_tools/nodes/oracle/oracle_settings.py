# SPDX-License-Identifier: Apache-2.0
"""The parameters of the oracle node."""

from __future__ import annotations

from dataclasses import dataclass

from ada_dynamics.dynamics.computation import ALGORITHMS
from ada_dynamics.model.description import BASES
from ada_robot.ros.robot_settings import AUTO, check_gravity
from ada_robot.settings import setting


@dataclass(frozen=True)
class OracleSettings:
    """Parameters of the comparison; see the descriptions."""

    base: str = setting(
        AUTO,
        "how the root link is held; auto: as the states on state_topic have it, fixed where nobody publishes these",
        choices=(AUTO, *BASES),
        read_only=True,
    )
    gravity: tuple[float, ...] = setting(
        (), "gravity vector in the world; empty: that of the robot's description", unit="m/s^2", read_only=True
    )
    algorithm: str = setting("ada", "of our forward dynamics", choices=ALGORITHMS, read_only=True)
    state_topic: str = setting(
        "dynamics_node/state", "whole states, for robots that joint_states do not describe", read_only=True
    )
    rate: float = setting(10.0, "comparisons, always of the newest state", unit="Hz", lower=0.1, upper=1000.0)
    absolute_tolerance: float = setting(
        1e-6, "difference that counts as none, on top of relative_tolerance", unit="rad/s^2, m/s^2, N m, N", lower=0.0
    )
    relative_tolerance: float = setting(1e-6, "the same as a share of the largest number of pinocchio's", lower=0.0)
    stale_after: float = setting(2.0, "without a state, or a comparison: diagnostics say STALE", unit="s", lower=0.01)
    description_timeout: float = setting(
        10.0, "wait for robot_description; 0: for ever", unit="s", lower=0.0, read_only=True
    )

    def __post_init__(self) -> None:
        """Check what concerns several numbers."""
        check_gravity(self.gravity)
