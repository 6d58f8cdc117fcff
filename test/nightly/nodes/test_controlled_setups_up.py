# SPDX-License-Identifier: Apache-2.0
"""Setups with a controller over real DDS, as `ada up` starts them: robot and controller in processes of their own."""

import math

import numpy as np
import pytest

pytest.importorskip("rclpy")

from geometry_msgs.msg import PoseStamped, WrenchStamped
from setup_world import Running

from ada_robot.ros.qos import COMMANDS, STATES

pytestmark = [pytest.mark.ros, pytest.mark.slow]


# A controller that gets no state for a fifth of a second begins anew where the robot is; a busy machine takes longer.
PATIENT = """
/**/controller_node:
  ros__parameters:
    state_timeout: 20.0
    max_gap: 20.0
"""


@pytest.fixture
def started(ros, tmp_path):
    """Starts a setup whose controllers wait for a busy machine."""
    file = tmp_path / "patient.yaml"
    file.write_text(PATIENT)
    return lambda *words: Controlled(ros, *words, f"params_file:={file}")


class Controlled(Running):
    """A robot under its controller."""

    def __init__(self, ros, *words):
        super().__init__(ros, *words)
        self.until(lambda: self.controls and self.measured, "a controller at work")

    def push(self, link, force):
        pushes = self.ros.matched(self.ros.publisher(WrenchStamped, "dynamics_node/external_wrench", STATES))
        message = WrenchStamped()
        message.header.frame_id = link
        message.wrench.force.x, message.wrench.force.y, message.wrench.force.z = map(float, force)
        return lambda: pushes.publish(message)


def test_four_rods_move_as_a_parallel_four_bar_to_their_target(ros, started):
    running = started("closed_chain_control", "target:=20", "real_time_factor:=0.5")
    ros.wait(lambda: abs(running.joint("joint_1") - math.radians(20.0)) < 2e-3, what="the target")
    first, second, third, fourth = (running.joint(f"joint_{i}") for i in (1, 2, 3, 4))
    # The links 1 and 3 stay parallel, and the tip upside down where it is; a millirad for the delay of messages.
    np.testing.assert_allclose([first + second, third - first, first + fourth], [math.pi / 2] * 2 + [0.0], atol=2e-3)
    running.end()


def test_a_slider_goes_to_its_target_and_to_the_next_one(ros, started):
    running = started("closed_chain_control", "mechanism:=slider_crank", "real_time_factor:=0.5")

    def place():
        q = np.cumsum([running.joint(f"joint_{i}") for i in (1, 2, 3, 4)])
        return float(np.array([1.0, 1.0, 1.0, 0.5]) @ np.sin(q))

    ros.wait(lambda: abs(place() - 1.49) < 5e-3, what="the target of the thesis")
    references = ros.matched(ros.publisher(PoseStamped, "controller_node/pose_reference", COMMANDS))
    message = PoseStamped()
    message.pose.position.x = 1.8
    references.publish(message)
    ros.wait(lambda: abs(place() - 1.8) < 5e-3, what="the next target")
    assert abs(running.joint("joint_3")) < 5e-3  # the rod is straight
    running.end()


@pytest.mark.parametrize("feet", ["clamped", "free"])
def test_a_humanoid_that_is_pushed_sways_and_comes_back(ros, started, feet):
    running = started("hoap2_balance", f"feet:={feet}", "real_time_factor:=0.2")
    push = running.push("left_hand", (-7.0, 0.0, 0.0))
    push()

    def sway():
        """Largest angle of a joint within the last second or so of the robot's time."""
        return float(np.abs([state.position for state in running.measured[-1000::20]]).max())

    ros.wait(lambda: sway() > 0.05, what="a sway")
    largest = [0.0]

    def has_come_back():
        now = sway()
        largest[0] = max(largest[0], now)
        return now < 0.5 * largest[0]

    ros.wait(has_come_back, what="the way back")
    running.end()
