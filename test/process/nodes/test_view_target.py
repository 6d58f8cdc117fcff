# SPDX-License-Identifier: Apache-2.0
"""The target on the view's page over real DDS: the controller is a stand-in."""

import numpy as np
import pytest

import ada_dynamics as ada

pytest.importorskip("rclpy", reason="rclpy is not installed: pip install '.[ros]'")
pytest.importorskip("viser", reason="viser is not installed: pip install '.[view]'")

import page_world
from geometry_msgs.msg import PoseStamped
from gizmo_drag import drag, placed
from page_world import described, state_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from ada_robot.messages.poses import apart, matrix_of, write_pose
from ada_robot.ros.qos import COMMANDS, LATCHED, STATES
from ada_tools.nodes.view import controller_link

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
        node = page_world.view(ros, target_link=HAND, **parameters)
        ros.wait(lambda: node.failure or node.shown.robot, 60.0, "the robot on the page")
        return node

    return make


def test_the_target_of_a_controller_is_shown_and_where_it_is_dragged_is_a_reference(ros, view):
    world = World(ros)
    hand = ada.Dynamics(world.model).pose(HAND, world.q)
    world.target = pose_message(world.model.root, hand @ placed((0.0, 0.03, 0.04)))
    node = view()
    gizmo = node.shown.robot.gizmo
    ros.wait(lambda: gizmo.handles is not None and gizmo.handles.visible, what="the handles")
    ros.wait(lambda: "flange is **50.0 mm** and **0.0 deg**" in gizmo.words.content, what="the distance")
    wanted = hand @ placed((0.1, 0.0, -0.2), (0.3, 0.2, 0.1))
    drag(node.page, wanted, "start", "update", "end")
    ros.wait(lambda: world.poses, what="a reference")
    sent = world.poses[-1]
    assert sent.header.frame_id == world.model.root
    way, turn = apart(matrix_of(sent.pose.position, sent.pose.orientation), wanted)
    assert way < 1e-9 and turn < 1e-7  # viser keeps 64-bit numbers; an arc cosine near 1 loses half of them
    world.target = None
    ros.wait(lambda: not gizmo.handles.visible, what="no handles without a target")


def test_sliders_of_joints_go_to_the_controller_and_the_joints_are_left_to_it(ros, view):
    world = World(ros)
    node = view()
    robot = node.shown.robot
    ros.wait(lambda: not robot.commands._folder.visible, what="no sliders that command: somebody takes references")
    world.joints = dict(zip(world.model.joint_names, world.q.tolist(), strict=True))
    ros.wait(lambda: robot.targets._folder.visible, what="sliders for the controller")
    node.page.note("on", lambda: robot.targets.switch(True))
    ros.wait(lambda: world.positions, what="a first reference")
    np.testing.assert_allclose(world.positions[0].position, world.q, atol=1e-6)
    node.page.note("move", lambda: setattr(robot.targets.sliders[0], "value", 20.0))
    ros.wait(lambda: abs(world.positions[-1].position[0] - np.radians(20.0)) < 1e-6, what="the slider's value")
    assert world.commands == []


def test_a_target_that_cannot_be_is_none_and_a_drag_without_a_controller_is_said(ros, view, monkeypatch):
    world = World(ros)
    world.target = pose_message(world.model.root, placed((0.3, 0.0, 0.8)))
    node = view()
    gizmo = node.shown.robot.gizmo
    ros.wait(lambda: gizmo.handles is not None and gizmo.handles.visible, what="the handles")
    world.target.pose.position.x = float("nan")
    ros.wait(lambda: not gizmo.handles.visible, what="no handles")
    monkeypatch.setattr(controller_link, "_FRESH", 60.0)
    world.target.pose.position.x = 0.4
    ros.wait(lambda: gizmo.handles.visible, what="the handles again")
    drag(node.page, placed((0.3, 0.1, 0.8)), "update", "end")
    ros.wait(lambda: world.poses, what="a reference")
    listener = next(s for s in ros.tester.subscriptions if s.topic_name.endswith("pose_reference"))
    with ros.paused():
        ros.tester.destroy_subscription(listener)
    ros.wait(lambda: not node.controller._pose_references.get_subscription_count(), what="nobody who listens")
    drag(node.page, placed((0.3, 0.2, 0.8)), "update", "end")
    ros.wait(
        lambda: any("nobody listens to /controller_node/pose_reference" in text for text in node.said), what="a word"
    )
    assert node.failure is None
