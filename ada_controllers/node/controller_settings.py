# SPDX-License-Identifier: Apache-2.0
"""Parameters of the controller node, in addition to those of `LoopSettings`, command limits and the controller."""

from __future__ import annotations

from dataclasses import dataclass

from ada_controllers.registry import CONTROLLERS
from ada_robot.ros.robot_settings import AUTO, RobotSettings
from ada_robot.settings import setting

JOINT_STATES, STATE = "joint_states", "state"  # topics
CONTACT, ARM = "contact", "arm"


@dataclass(frozen=True)
class ControllerSettings(RobotSettings):
    """Settings of the controller node."""

    controller: str = setting(
        "computed_torque",
        "name of the controller; its settings are the parameters CONTROLLER.NAME",
        choices=tuple(CONTROLLERS),
    )
    state_source: str = setting(
        AUTO,
        "topic of the measured state: joint_states, or the exact state of a simulated robot; auto: the latter if joint "
        "states are incomplete, as for floating bases. Ball joints in loops follow from joint_states",
        choices=(AUTO, JOINT_STATES, STATE),
        read_only=True,
    )
    hardware: str = setting(
        "hardware_node",
        "node that drives a real robot: commands are sent only while it reports the robot as active, and "
        "the controller restarts at the measured state when it becomes active",
        read_only=True,
    )
    wrench_of: str = setting(
        CONTACT,
        "meaning of the topic wrench; contact: wrench of the environment on the hand; arm: wrench of the "
        "arm on the hand, as in ~/wrench/JOINT of dynamics_node",
        choices=(CONTACT, ARM),
        read_only=True,
    )
    rate: float = setting(
        1000.0,
        "rate at which new states are polled; each state is answered by a command at once",
        unit="Hz",
        lower=1.0,
        upper=20_000.0,
        read_only=True,
    )
    realtime_priority: int = setting(
        0, "priority of the control thread (SCHED_FIFO); 0: normal thread", lower=0, upper=99, read_only=True
    )
    autostart: bool = setting(True, "configure immediately, and activate after the first state, without a request")
    state_rate: float = setting(
        50.0, "maximum rate of ~/state, ~/target and ~/joint_target; 0: one message per command", unit="Hz", lower=0.0
    )
    goal_tolerance: float = setting(
        0.02, "tolerance at the end of a trajectory, if the action goal has none; 0: no check", unit="rad, m", lower=0.0
    )
    path_tolerance: float = setting(
        0.0, "tolerance along a trajectory, if the action goal has none; 0: no check", unit="rad, m", lower=0.0
    )
    goal_time: float = setting(
        2.0, "time allowed after the end of a trajectory, if the action goal has none; 0: no limit", unit="s", lower=0.0
    )
