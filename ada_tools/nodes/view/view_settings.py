# SPDX-License-Identifier: Apache-2.0
"""The parameters of the view node."""

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
    """Where the page is served, and what it shows; see the descriptions."""

    host: str = setting(HOST, "address to listen on; 0.0.0.0: all of this machine, with a token", read_only=True)
    port: int = setting(
        PORT, "to listen on; if it is taken, the next free one; 0: any free one", lower=0, upper=65535, read_only=True
    )
    open_browser: bool = setting(True, "open the page, where there is a screen", read_only=True)
    plant: str = setting("dynamics_node", "node that moves the robot: its services and topics", read_only=True)
    state_topic: str = setting(
        "dynamics_node/state",
        "exact state of the robot; as long as nobody sends it, joint_states and /tf are taken",
        read_only=True,
    )
    base: str = setting(
        AUTO, "how the root link is held; auto: as the messages have it", choices=(AUTO, *BASES), read_only=True
    )
    pose_sliders: bool = setting(
        False,
        "sliders that put the robot into a pose (PLANT/set_state), rather than command its motors",
        read_only=True,
    )
    controller: str = setting(
        "controller_node", "node whose target is shown and dragged, where it follows one", read_only=True
    )
    target_link: str = setting(
        "", "link that the controller's target pose is for; empty: its distance is not shown", read_only=True
    )
    hardware: str = setting(
        "hardware_node",
        "node of real robots and sensors, whose phases, STOP, sliders and forces are on the page once it is seen",
        read_only=True,
    )
    push_link: str = setting(
        "", "link that the button pushes at first; empty: the hand of an arm, the trunk of what floats", read_only=True
    )
    push_direction: str = setting("x", "of that push, in the world", choices=tuple(DIRECTIONS), read_only=True)
    push_force: float = setting(0.0, "of that push; 0: half of the robot's weight", unit="N", lower=0.0, read_only=True)
