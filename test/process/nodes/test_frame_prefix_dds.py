# SPDX-License-Identifier: Apache-2.0
"""A prefix of frames over DDS: all messages that name a frame, and inputs in frames that are there."""

from contextlib import suppress

import pytest

pytest.importorskip("rclpy")

from controller_world import controller, plant
from geometry_msgs.msg import WrenchStamped
from hardware_world import AT, ONE, hardware

import ada_dynamics as ada
from ada_dynamics.errors import InputError
from ada_robot.ros import environment, qos

pytestmark = pytest.mark.ros
PREFIX = "left/"


def test_the_view_shows_a_robot_with_a_prefix_and_pushes_it_in_its_own_frame(ros):
    pytest.importorskip("viser", reason="viser is not installed: pip install '.[view]'")
    import page_world

    pushed = ros.collect(WrenchStamped, "dynamics_node/external_wrench")
    simulated = plant(ros, frame_prefix=PREFIX, idle="release")
    controller(ros, frame_prefix=PREFIX, controller="pose_servo", pose_servo__link="flange", wait=True)
    view = page_world.view(ros, frame_prefix=PREFIX)
    ros.wait(lambda: view.failure or view.shown.robot, what="the robot on the page")
    assert view.failure is None
    # What the page's thread asks of its links, in names of links of the model.
    target = ros.wait(view.controller.target_pose, what="the target")
    assert target.frame == ada.load("pa10").root
    view.link.watch_marks(True)
    ros.wait(view.link.marks, what="marks that are in the robot's own world")
    ros.wait(lambda: ros.tester.count_subscribers("dynamics_node/external_wrench") > 1, what="the plant to listen")

    def is_turned():
        with suppress(InputError):  # nobody listens yet
            view.link.push("flange", [0.0, 300.0, 0.0, 0.0, 0.0, 0.0])  # turns s1, on which gravity does no work
        return abs(simulated.loop.latest.v[0]) > 0.05

    ros.wait(is_turned, what="the pushed arm")
    assert pushed[0].header.frame_id == "left/flange"


@pytest.mark.skipif(not environment.can_send_tf(), reason="tf2_msgs is not there")
def test_frames_of_a_device_have_the_prefix_and_its_place(ros, fleet):
    from tf2_msgs.msg import TFMessage

    static = ros.collect(TFMessage, "/tf_static", qos.LATCHED)
    moving = ros.collect(TFMessage, "/tf")
    settings = {"tf_rate": 50.0, "frame_prefix": PREFIX, "base_pose": [1.0, 2.0, 0.0, 0.0]}
    hardware(ros, fleet, **{**ONE, **settings}, until="inactive")
    ros.wait(lambda: fleet.robot.measure() or (static and moving), what="frames")
    place, *rest = static[-1].transforms
    assert (place.header.frame_id, place.child_frame_id) == ("world", "left/world")
    assert (place.transform.translation.x, place.transform.translation.y) == (1.0, 2.0)
    for one in (*rest, *moving[-1].transforms):
        assert one.header.frame_id.startswith(PREFIX) and one.child_frame_id.startswith(PREFIX)
    assert len(moving[-1].transforms) == len(AT)
