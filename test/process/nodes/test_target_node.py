# SPDX-License-Identifier: Apache-2.0
"""The target node over real DDS; the controller is a stand-in with its topics."""

import math

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed: pip install '.[ros]'")

from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState

from ada_robot.ros.qos import COMMANDS, STATES
from ada_tools.nodes.target_node import TargetNode

pytestmark = pytest.mark.ros


class Controller(Node):
    """A controller's topics: says 50 times a second what it follows, and keeps what it is asked to follow."""

    def __init__(self, context):
        super().__init__("controller_node", context=context)
        self.joints, self.asked, self.said = None, [], 0
        self.positions = self.create_publisher(JointState, "~/joint_target", STATES)
        self.create_subscription(PoseStamped, "~/pose_reference", self.asked.append, COMMANDS)
        self.create_subscription(JointState, "~/joint_reference", self.asked.append, COMMANDS)
        self.create_timer(0.02, self.say)

    def say(self):
        if self.joints is not None:
            self.positions.publish(self.joints)
            self.said += 1


@pytest.fixture
def made(ros):

    def make(**parameters):
        controller = ros.add(Controller(ros.context))
        return controller, ros.make(TargetNode, parameters)

    return make


def test_first_targets_are_sent_once_when_the_controller_is_at_work(ros, made):
    half = 0.5 * math.pi
    controller, _ = made(joints=["a", "b"], positions=[0.1, -0.2], pose=[1.0, 2.0, 3.0, 0.0, 0.0, half])
    ros.wait(lambda: controller.positions.get_subscription_count(), what="who listens")
    assert controller.asked == []
    controller.joints = JointState(name=["a", "b"], position=[0.0, 0.0])
    ros.wait(lambda: len(controller.asked) == 2, what="both first targets")
    joints = next(one for one in controller.asked if isinstance(one, JointState))
    assert list(joints.name) == ["a", "b"] and list(joints.position) == [0.1, -0.2]
    pose = next(one for one in controller.asked if isinstance(one, PoseStamped)).pose
    assert (pose.position.x, pose.position.y, pose.position.z) == (1.0, 2.0, 3.0)
    assert (pose.orientation.z, pose.orientation.w) == pytest.approx((math.sqrt(0.5), math.sqrt(0.5)))
    said = controller.said
    ros.wait(lambda: controller.said > said + 20, what="further targets of the controller")
    assert len(controller.asked) == 2
