# SPDX-License-Identifier: Apache-2.0
"""The target node, and the target on the page of the view, over real DDS: the controller is a stand-in."""

import math

import numpy as np
import pytest

import ada_dynamics as ada

pytest.importorskip("rclpy", reason="rclpy is not installed: pip install '.[ros]'")
pytest.importorskip("viser", reason="viser is not installed: pip install '.[view]'")

import page_world
from geometry_msgs.msg import PoseStamped
from page_world import described, state_message
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from viser_stand_in import drag, placed

from ada_robot.messages.incoming import matrix_of, write_pose
from ada_robot.ros.qos import COMMANDS, LATCHED, STATES
from ada_tools.nodes.target_node import TargetNode

pytestmark = pytest.mark.ros

HAND = "flange"


def pose_message(frame, pose):
    message = PoseStamped()
    message.header.frame_id = frame
    write_pose(pose, message.pose.position, message.pose.orientation)
    return message


class World:
    """A PA-10 at rest and its controller, as far as the view hears of them: 50 times a second."""

    def __init__(self, ros):
        self.model = ada.load("pa10")
        self.q = np.array([0.0, 0.5, 0.0, 1.5, 0.0, 1.0, 0.0])
        self.target = self.joints = None
        self.poses = ros.collect(PoseStamped, "controller_node/pose_reference", COMMANDS)
        self.positions = ros.collect(JointState, "controller_node/joint_reference", COMMANDS)
        self.commands = ros.collect(JointState, "joint_commands", COMMANDS)
        self._states = ros.publisher(Float64MultiArray, "dynamics_node/state", STATES)
        self._targets = ros.publisher(PoseStamped, "controller_node/target", STATES)
        self._joint_targets = ros.publisher(JointState, "controller_node/joint_target", STATES)
        self._described = ros.publisher(String, "robot_description", LATCHED)
        self._described.publish(String(data=described(self.model)))
        ros.tester.create_timer(0.02, self._send)

    def _send(self):
        self._states.publish(state_message(0.0, self.q, np.zeros(7), np.zeros(7)))
        if self.target is not None:
            self._targets.publish(self.target)
        if self.joints is not None:
            self._joint_targets.publish(JointState(name=list(self.joints), position=list(self.joints.values())))


@pytest.fixture
def view(ros):
    """A view node whose robot is shown; what it says to people is kept in `said`."""

    def make(**parameters):
        node = page_world.view(ros, **parameters)
        ros.wait(lambda: node.failure or node.shown.robot, what="the robot on the page")
        return node

    return make


def test_the_target_of_a_controller_is_shown_and_dragged_and_without_a_controller_that_is_said(ros, view):
    world = World(ros)
    hand = ada.Dynamics(world.model).pose(HAND, world.q)
    world.target = pose_message(world.model.root, hand @ placed((0.0, 0.03, 0.04)))
    node = view()
    gizmo = node.shown.robot.gizmo
    ros.wait(lambda: gizmo.handles is not None and gizmo.handles.visible, what="the handles")
    wanted = hand @ placed((0.1, 0.0, -0.2), (0.3, 0.2, 0.1))
    ros.wait(lambda: drag(gizmo, wanted, "start", "update", "end") or world.poses, what="a reference")
    sent = world.poses[-1]
    assert sent.header.frame_id == world.model.root
    # viser keeps 64-bit numbers
    np.testing.assert_allclose(matrix_of(sent.pose.position, sent.pose.orientation), wanted, rtol=0.0, atol=1e-9)
    place, world.target.pose.position.x = world.target.pose.position.x, float("nan")
    ros.wait(lambda: not gizmo.handles.visible, what="no handles with a target that cannot be")
    world.target.pose.position.x = place
    ros.wait(lambda: gizmo.handles.visible, what="the handles again")
    listener = next(s for s in ros.tester.subscriptions if s.topic_name.endswith("pose_reference"))
    with ros.paused():
        ros.tester.destroy_subscription(listener)

    def is_said():
        drag(gizmo, hand, "update", "end")
        return any("no subscriber on /controller_node/pose_reference" in text for text in node.said)

    ros.wait(is_said, what="a word that nobody listens")
    world.target = None
    ros.wait(lambda: not gizmo.handles.visible, what="no handles without a target")
    assert node.failure is None


def test_sliders_of_joints_go_to_the_controller_and_the_joints_are_left_to_it(ros, view):
    world = World(ros)
    world.joints = dict(zip(world.model.joint_names, world.q.tolist(), strict=True))
    node = view()
    robot = node.shown.robot
    ros.wait(node.controller.target_joints, what="the positions that the controller follows")

    def begins():
        node.page.note("on", lambda: robot.targets.switch(True))
        return world.positions

    ros.wait(begins, what="a first reference")
    np.testing.assert_allclose(world.positions[0].position, world.q, atol=1e-6)
    node.page.note("move", lambda: setattr(robot.targets.sliders[0], "value", 20.0))
    node.page.note("moved", lambda: robot.targets.wanted.add(0))  # as if a user had done it
    ros.wait(lambda: abs(world.positions[-1].position[0] - np.radians(20.0)) < 1e-6, what="the slider's value")
    assert world.commands == []


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
