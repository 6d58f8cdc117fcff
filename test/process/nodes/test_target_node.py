# SPDX-License-Identifier: Apache-2.0
"""The target node over real DDS; RViz and the controller are stand-ins that speak as theirs do."""

import math

import numpy as np
import pytest

import ada_dynamics as ada

pytest.importorskip("rclpy", reason="rclpy is not installed: pip install '.[ros]'")

from geometry_msgs.msg import Pose, PoseStamped
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from visualization_msgs.msg import InteractiveMarkerControl, InteractiveMarkerFeedback, InteractiveMarkerUpdate, Marker
from visualization_msgs.srv import GetInteractiveMarkers

from ada_robot.ros.qos import COMMANDS, STATES
from ada_tools.nodes.target_node import TargetNode

pytestmark = pytest.mark.ros

QUEUE = QoSProfile(depth=100)


class Controller(Node):
    """A controller's topics: says 50 times a second what it follows, and keeps what it is asked to follow."""

    def __init__(self, context):
        super().__init__("controller_node", context=context)
        self.target, self.joints, self.asked = None, None, []
        self.poses = self.create_publisher(PoseStamped, "~/target", STATES)
        self.positions = self.create_publisher(JointState, "~/joint_target", STATES)
        self.create_subscription(PoseStamped, "~/pose_reference", self.asked.append, COMMANDS)
        self.create_subscription(JointState, "~/joint_reference", self.asked.append, COMMANDS)
        self.create_timer(0.02, self.say)

    def say(self):
        if self.target is not None:
            self.poses.publish(self.target)
        if self.joints is not None:
            self.positions.publish(self.joints)


class RViz:
    """RViz's display InteractiveMarkers, as far as its words go: asks once, then keeps count of the updates."""

    def __init__(self, ros, name="rviz"):
        self.name, self.last = name, None
        self.updates = ros.collect(InteractiveMarkerUpdate, "/target_node/update", QUEUE)
        self.feedback = ros.matched(ros.publisher(InteractiveMarkerFeedback, "/target_node/feedback", QUEUE))
        answer = ros.call(GetInteractiveMarkers, "/target_node/get_interactive_markers")
        self.markers = {marker.name: marker for marker in answer.markers}
        self.known, self.read = answer.sequence_number, 0

    def look(self):
        for update in self.updates[self.read :]:
            self.read += 1
            assert self.last in (None, update.seq_num - 1), "RViz would begin anew"
            assert update.type == InteractiveMarkerUpdate.UPDATE
            self.last = update.seq_num
            if update.seq_num <= self.known:
                continue
            self.markers.update((marker.name, marker) for marker in update.markers)
            for moved in update.poses:
                self.markers[moved.name].pose, self.markers[moved.name].header = moved.pose, moved.header
            for name in update.erases:
                self.markers.pop(name)
        return self.markers

    def does(self, event, pose=None, frame=""):
        message = InteractiveMarkerFeedback(client_id=self.name, marker_name="target", event_type=event)
        message.header.frame_id = frame
        if pose is not None:
            message.pose = pose
        self.feedback.publish(message)


def pose_at(x, y, z, yaw=0.0):
    pose = Pose()
    pose.position.x, pose.position.y, pose.position.z = x, y, z
    pose.orientation.z, pose.orientation.w = math.sin(0.5 * yaw), math.cos(0.5 * yaw)
    return pose


def target_at(frame, *place):
    target = PoseStamped(pose=pose_at(*place))
    target.header.frame_id = frame
    return target


@pytest.fixture
def made(ros):

    def make(**parameters):
        controller = ros.add(Controller(ros.context))
        overrides = [Parameter(name, value=value) for name, value in parameters.items()]
        return controller, ros.add(TargetNode(context=ros.context, parameter_overrides=overrides))

    return make


def check_controls(controls):
    """The handle moves along, and turns about, all three axes, and can be seen."""
    names = [control.name for control in controls]
    assert len(set(names)) == len(names) == 7
    for mode in (InteractiveMarkerControl.MOVE_AXIS, InteractiveMarkerControl.ROTATE_AXIS):
        along = []
        for control in (one for one in controls if one.interaction_mode == mode):
            o = control.orientation
            assert np.linalg.norm([o.x, o.y, o.z, o.w]) == pytest.approx(1.0)
            along.append(ada.spatial.rotation.from_quaternion(o.x, o.y, o.z, o.w))
        # RViz moves along, and turns about, the x axis of a control.
        np.testing.assert_allclose(np.abs([np.array(R)[:, 0] for R in along]), np.eye(3), atol=1e-12)
    (cube,) = [control for control in controls if control.always_visible]
    assert cube.markers[0].type == Marker.CUBE and cube.markers[0].color.a > 0.5


def test_the_handle_is_at_the_controllers_target_and_follows_it_and_goes_with_it(ros, made):
    controller, _ = made(scale=0.5)
    rviz = RViz(ros)
    assert rviz.markers == {}
    controller.target = target_at("base", 0.5, 0.1, 0.8, 0.3)
    ros.wait(lambda: rviz.look(), what="a handle")
    handle = rviz.markers["target"]
    assert (handle.header.frame_id, handle.scale) == ("base", 0.5)
    assert (handle.header.stamp.sec, handle.header.stamp.nanosec) == (0, 0)  # else RViz answers in its own frame
    assert handle.pose == controller.target.pose
    check_controls(handle.controls)
    late = RViz(ros, "late")
    assert late.markers["target"] == handle
    controller.target = target_at("base", 0.6, 0.1, 0.8, 0.3)
    ros.wait(lambda: rviz.look()["target"].pose == controller.target.pose, what="a handle that follows")
    ros.wait(lambda: late.look()["target"].pose == controller.target.pose, what="the same elsewhere")
    controller.target = None
    ros.wait(lambda: not rviz.look(), what="no handle without a target")


def test_where_a_person_drags_the_handle_the_controller_is_asked_to_go(ros, made):
    controller, _ = made()
    controller.target = target_at("base", 0.5, 0.1, 0.8)
    rviz = RViz(ros)
    other = RViz(ros, "other")
    ros.wait(rviz.look, what="a handle")
    rviz.does(InteractiveMarkerFeedback.MOUSE_DOWN)
    for k in range(1, 4):
        rviz.does(InteractiveMarkerFeedback.POSE_UPDATE, pose_at(0.5 + 0.1 * k, 0.1, 0.8, 0.2), "base")
    last = pose_at(0.8, 0.1, 0.8, 0.2)
    ros.wait(lambda: controller.asked and controller.asked[-1].pose == last, what="the last reference")
    assert controller.asked[-1].header.frame_id == "base"
    ros.wait(lambda: other.look()["target"].pose == last, what="the same in another RViz")
    other.does(InteractiveMarkerFeedback.POSE_UPDATE, pose_at(0.0, 0.0, 0.1), "base")  # it is in another hand
    rviz.does(InteractiveMarkerFeedback.MOUSE_UP)
    # The controller has not taken it: the handle goes back.
    ros.wait(lambda: rviz.look()["target"].pose == controller.target.pose, what="the handle back at the target")
    assert controller.asked[-1].pose == last


def test_a_pose_that_cannot_be_a_target_is_refused_and_counted(ros, made):
    controller, node = made()
    controller.target = target_at("base", 0.5, 0.1, 0.8)
    rviz = RViz(ros)
    ros.wait(rviz.look, what="a handle")
    no_rotation = Pose()
    no_rotation.orientation.w = 0.0
    bad = [(pose_at(x, 0.0, 0.0), "base") for x in (math.nan, math.inf)]
    for count, (pose, frame) in enumerate([*bad, (no_rotation, "base"), (pose_at(0.5, 0.0, 0.0), "map")], start=1):
        rviz.does(InteractiveMarkerFeedback.POSE_UPDATE, pose, frame)
        ros.wait(lambda count=count: node.refused == count, what="a refusal")
    rviz.does(InteractiveMarkerFeedback.POSE_UPDATE, pose_at(0.5, 0.0, 0.7), "base")
    ros.wait(lambda: controller.asked, what="the next good one")
    assert len(controller.asked) == 1


def test_first_targets_are_sent_once_when_the_controller_is_at_work(ros, made):
    half = 0.5 * math.pi
    controller, _ = made(joints=["a", "b"], positions=[0.1, -0.2], pose=[1.0, 2.0, 3.0, 0.0, 0.0, half])
    ros.wait(lambda: controller.poses.get_subscription_count(), what="who listens")
    assert controller.asked == []
    controller.joints = JointState(name=["a", "b"], position=[0.0, 0.0])
    ros.wait(lambda: len(controller.asked) == 2, what="both first targets")
    joints = next(one for one in controller.asked if isinstance(one, JointState))
    assert list(joints.name) == ["a", "b"] and list(joints.position) == [0.1, -0.2]
    pose = next(one for one in controller.asked if isinstance(one, PoseStamped)).pose
    assert (pose.position.x, pose.position.y, pose.position.z) == (1.0, 2.0, 3.0)
    assert (pose.orientation.z, pose.orientation.w) == pytest.approx((math.sqrt(0.5), math.sqrt(0.5)))
    controller.target = target_at("base", 0.0, 0.0, 0.1)
    rviz = RViz(ros)
    ros.wait(rviz.look, what="a handle, long after")
    assert len(controller.asked) == 2
