# SPDX-License-Identifier: Apache-2.0
"""A prefix of frames over DDS: all messages that name a frame, and inputs in frames that are there."""

from contextlib import suppress

import pytest

pytest.importorskip("rclpy")

from controller_world import controller, plant
from geometry_msgs.msg import WrenchStamped

import ada_dynamics as ada
from ada_dynamics.errors import InputError

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
    ros.wait(lambda: view.link.marks(()), what="marks that are in the robot's own world")
    ros.wait(lambda: ros.tester.count_subscribers("dynamics_node/external_wrench") > 1, what="the plant to listen")

    def is_turned():
        with suppress(InputError):  # nobody listens yet
            view.link.push("flange", [0.0, 300.0, 0.0, 0.0, 0.0, 0.0])  # turns s1, on which gravity does no work
        return abs(simulated.loop.latest.v[0]) > 0.05

    ros.wait(is_turned, what="the pushed arm")
    assert pushed[0].header.frame_id == "left/flange"
