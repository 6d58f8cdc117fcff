# SPDX-License-Identifier: Apache-2.0
"""Parallel robots under the controllers of config/*_control.yaml, as `ada up` starts them, follow their targets."""

import numpy as np
import pytest

pytest.importorskip("rclpy")

from geometry_msgs.msg import PoseStamped
from setup_world import Running

from ada_robot.messages.incoming import write_pose
from ada_robot.ros.qos import COMMANDS
from ada_tools.bringup import plan

pytestmark = pytest.mark.ros


@pytest.mark.parametrize(("robot", "shift"), [("delta", [0.03, -0.02, 0.04]), ("stewart", [0.02, 0.03, -0.03])])
def test_the_platform_of_a_parallel_robot_follows_a_target(ros, robot, shift):
    tf2_msgs = pytest.importorskip("tf2_msgs.msg")
    moving = ros.collect(tf2_msgs.TFMessage, "/tf")
    running = Running(ros, f"{robot}_control", "real_time_factor:=0.5")
    running.until(lambda: running.controls and running.measured, "a controller at work")

    def place():
        at = next(one.transform.translation for one in moving.newest().transforms if one.child_frame_id == "platform")
        return np.array([at.x, at.y, at.z])

    goal, start = np.eye(4), place()
    goal[:3, 3] = start + shift
    message = PoseStamped()
    write_pose(goal, message.pose.position, message.pose.orientation)
    ros.matched(ros.publisher(PoseStamped, "controller_node/pose_reference", COMMANDS)).publish(message)
    ros.wait(lambda: np.abs(place() - goal[:3, 3]).max() < 1e-3, what="the platform at its target")
    running.end()


def test_the_cranks_of_a_five_bar_follow_their_goal(ros):
    goal = {"left_crank": -0.5, "right_crank": 0.8}
    text = ",".join(f"{name}={value}" for name, value in goal.items())
    running = Running(ros, "five_bar_control", f"goal:={text}", "real_time_factor:=0.5")
    running.until(lambda: running.controls and running.measured, "a controller at work")
    ros.wait(lambda: np.abs(running.joints(list(goal)) - list(goal.values())).max() < 2e-3, what="the goal")
    running.end()
    assert plan("five_bar_control").process("controller_node").params_file.name == "five_bar_control.yaml"
