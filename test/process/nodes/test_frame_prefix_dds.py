# SPDX-License-Identifier: Apache-2.0
"""A prefix of frames over DDS: all messages that name a frame, and inputs in frames that are there."""

import pytest

pytest.importorskip("rclpy")

from controller_world import BENT, controller, plant
from geometry_msgs.msg import PoseStamped, WrenchStamped
from hardware_world import AT, ONE, Fleet, hardware
from visualization_msgs.msg import MarkerArray

import ada_dynamics as ada
from ada_robot.ros import environment, qos

pytestmark = pytest.mark.ros
PREFIX = "left/"


def pose_in(frame, pose):
    message = PoseStamped(pose=pose)
    message.header.frame_id = frame
    return message


def test_wrenches_and_markers_are_in_frames_with_the_prefix_and_pushes_may_be(ros):
    wrenches = ros.collect(WrenchStamped, "dynamics_node/wrench/s1")
    markers = ros.collect(MarkerArray, "dynamics_node/markers")
    node = plant(ros, frame_prefix=PREFIX, wrenches=["s1"], idle="release")
    ros.wait(lambda: wrenches and markers and markers[-1].markers, what="a wrench and markers")
    model = ada.load("pa10")
    assert wrenches[-1].header.frame_id == PREFIX + model.joints["s1"].child
    assert {marker.header.frame_id for marker in markers[-1].markers} == {"left/world"}
    push = WrenchStamped()
    push.header.frame_id = "left/flange"
    push.wrench.force.y = 200.0  # turns s1, about which gravity has no moment
    pushes = ros.matched(ros.publisher(WrenchStamped, "dynamics_node/external_wrench"))

    def is_turned():
        pushes.publish(push)
        return node.loop.latest.q[0] - BENT[0] > 0.1

    ros.wait(is_turned, what="the pushed arm")


def test_targets_are_in_the_prefixed_base_and_poses_in_it_alone_are_taken(ros):
    plant(ros, frame_prefix=PREFIX)
    targets = ros.collect(PoseStamped, "controller_node/target")
    node = controller(ros, frame_prefix=PREFIX, controller="pose_servo", pose_servo__link="flange", wait=True)
    root = ada.load("pa10").root
    ros.wait(lambda: targets, what="a target")
    assert targets[-1].header.frame_id == PREFIX + root
    references = ros.matched(ros.publisher(PoseStamped, "controller_node/pose_reference", qos.COMMANDS))
    control, pose = node.thread.control, targets[-1].pose
    for frame in (root, "right/" + root, "world"):  # another robot's, and one that lies elsewhere
        count = sum(control.refused.values())
        references.publish(pose_in(frame, pose))
        ros.wait(lambda n=count: sum(control.refused.values()) > n, what=f"the refusal of {frame}")
        assert f"in the frame {frame!r}" in control.last_refusal and PREFIX + root in control.last_refusal
    pose.position.z -= 0.02
    references.publish(pose_in(PREFIX + root, pose))
    ros.wait(lambda: targets[-1].pose.position.z == pytest.approx(pose.position.z, abs=1e-9), what="the new target")


def test_the_view_shows_a_robot_with_a_prefix_and_pushes_it_in_its_own_frame(ros):
    pytest.importorskip("viser", reason="viser is not installed: pip install '.[view]'")
    import page_world

    pushed = ros.collect(WrenchStamped, "dynamics_node/external_wrench")
    plant(ros, frame_prefix=PREFIX)
    controller(ros, frame_prefix=PREFIX, controller="pose_servo", pose_servo__link="flange", wait=True)
    view = page_world.view(ros, frame_prefix=PREFIX)
    ros.wait(lambda: view.failure or view.shown.robot, what="the robot on the page")
    assert view.failure is None
    ros.wait(lambda: view.link._known.get("world_frame") is not None, what="the frame of the world")
    # What the page's thread asks of its links, in names of links of the model.
    target = ros.wait(view.controller.target_pose, what="the target")
    assert target.frame == ada.load("pa10").root
    view.link.watch_marks(True)
    ros.wait(view.link.marks, what="marks that are in the robot's own world")
    view.link.push("flange", [1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    ros.wait(lambda: pushed, what="the push")
    assert pushed[-1].header.frame_id == "left/flange"


@pytest.mark.skipif(not environment.can_send_tf(), reason="tf2_msgs is not there")
def test_frames_of_a_device_have_the_prefix_and_its_place(ros, monkeypatch):
    from tf2_msgs.msg import TFMessage

    fleet = Fleet(monkeypatch)
    static = ros.collect(TFMessage, "/tf_static", qos.LATCHED)
    moving = ros.collect(TFMessage, "/tf")
    settings = {"tf_rate": 50.0, "frame_prefix": PREFIX, "base_pose": [1.0, 2.0, 0.0, 0.0]}
    hardware(ros, **{**ONE, **settings}, until="inactive")
    ros.wait(lambda: fleet.robot.measure() or (static and moving), what="frames")
    place, *rest = static[-1].transforms
    assert (place.header.frame_id, place.child_frame_id) == ("world", "left/world")
    assert (place.transform.translation.x, place.transform.translation.y) == (1.0, 2.0)
    for one in (*rest, *moving[-1].transforms):
        assert one.header.frame_id.startswith(PREFIX) and one.child_frame_id.startswith(PREFIX)
    assert len(moving[-1].transforms) == len(AT)
    fleet.open_all()
