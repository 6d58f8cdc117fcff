# SPDX-License-Identifier: Apache-2.0
"""Parameters of oracle_node, target_node and view_node."""

from __future__ import annotations

from dataclasses import dataclass

from ada_dynamics.errors import InputError
from ada_dynamics.model.description import BASES
from ada_robot.ros.robot_settings import AUTO, FrameSettings, check_gravity
from ada_robot.settings import setting
from ada_tools.browser.page import HOST, PORT


@dataclass(frozen=True)
class OracleSettings:
    """Parameters of the comparison."""

    gravity: tuple[float, ...] = setting(
        (), "gravity vector in the world; empty: from the robot description", unit="m/s^2", read_only=True
    )
    rate: float = setting(10.0, "comparison rate, always of the latest state", unit="Hz", lower=0.1, upper=1000.0)
    absolute_tolerance: float = setting(
        1e-6, "absolute tolerance, added to relative_tolerance", unit="rad/s^2, m/s^2, N m, N", lower=0.0
    )
    relative_tolerance: float = setting(1e-6, "tolerance relative to the largest value of pinocchio", lower=0.0)
    stale_after: float = setting(2.0, "time without a state after which diagnostics report STALE", unit="s", lower=0.01)
    description_timeout: float = setting(
        10.0, "timeout for robot_description; 0: none", unit="s", lower=0.0, read_only=True
    )

    def __post_init__(self) -> None:
        """Check the gravity vector."""
        check_gravity(self.gravity)


_POSE = 6  # numbers of a pose


@dataclass(frozen=True)
class TargetSettings:
    """Parameters of the target node."""

    controller: str = setting("controller_node", "controller node", read_only=True)
    joints: tuple[str, ...] = setting((), "joints with an initial target; empty: none", read_only=True)
    positions: tuple[float, ...] = setting((), "initial target of each of these joints", unit="rad, m", read_only=True)
    pose: tuple[float, ...] = setting(
        (), "initial target x, y, z, roll, pitch, yaw in the base frame; empty: none", unit="m, rad", read_only=True
    )

    def __post_init__(self) -> None:
        """Check the list lengths."""
        if len(self.positions) != len(self.joints):
            raise InputError(
                f"parameter positions has {len(self.positions)} values and parameter joints {len(self.joints)} names; "
                "give one value per joint."
            )
        if len(self.pose) not in (0, _POSE):
            raise InputError(
                f"parameter pose has {len(self.pose)} numbers; it must have {_POSE} (x, y, z, roll, pitch, yaw) or "
                "none."
            )


@dataclass(frozen=True)
class ViewSettings(FrameSettings):
    """Parameters of the page."""

    host: str = setting(HOST, "address to listen on; 0.0.0.0: all addresses, with a token", read_only=True)
    port: int = setting(
        PORT, "port to listen on; if in use, the next free one; 0: any free one", lower=0, upper=65535, read_only=True
    )
    open_browser: bool = setting(True, "open the page if a display is available", read_only=True)
    plant: str = setting("dynamics_node", "node that moves the robot", read_only=True)
    state_topic: str = setting(
        "dynamics_node/state",
        "complete state of the robot; without a publisher, joint_states are used",
        read_only=True,
    )
    base: str = setting(
        AUTO, "attachment of the root link; auto: from the messages", choices=(AUTO, *BASES), read_only=True
    )
    pose_sliders: bool = setting(
        False,
        "sliders set the configuration (PLANT/set_state) instead of commanding the motors",
        read_only=True,
    )
    controller: str = setting(
        "controller_node", "controller node whose target is displayed and dragged", read_only=True
    )
    hardware: str = setting(
        "hardware_node",
        "node of robots and sensors; its controls are displayed once it is detected",
        read_only=True,
    )
