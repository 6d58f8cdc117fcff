# SPDX-License-Identifier: Apache-2.0
"""Parameters of the view node."""

from __future__ import annotations

from dataclasses import dataclass

from ada_dynamics.model.description import BASES
from ada_robot.ros.robot_settings import FrameSettings
from ada_robot.settings import setting
from ada_tools.browser.page import HOST, PORT
from ada_tools.browser.push_panel import DIRECTIONS
from ada_tools.browser.remote import AUTO


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
        "complete state of the robot; without a publisher, joint_states and /tf are used",
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
    target_link: str = setting(
        "", "link that follows the target pose; empty: its distance is not displayed", read_only=True
    )
    hardware: str = setting(
        "hardware_node",
        "node of robots and sensors; its controls are displayed once it is detected",
        read_only=True,
    )
    push_link: str = setting(
        "", "initial link of the push controls; empty: end link of an arm, trunk of a floating robot", read_only=True
    )
    push_direction: str = setting(
        "x", "initial push direction in the world frame", choices=tuple(DIRECTIONS), read_only=True
    )
    push_force: float = setting(
        0.0, "initial push force; 0: half of the robot weight", unit="N", lower=0.0, read_only=True
    )
