# SPDX-License-Identifier: Apache-2.0
"""The target of a controller on the page; robot, controller and server are stand-ins."""

import numpy as np
import pytest
from page_world import Controller, RobotNode, at_once, described, passes
from viser_stand_in import drag, placed

import ada_dynamics as ada
from ada_dynamics.spatial.orientation import to_quaternion
from ada_tools.browser.remote import RemotePage
from ada_tools.browser.robot_node import TargetPose
from ada_tools.browser.sliders import LEAD
from ada_tools.browser.target_gizmo import TargetGizmo

POSES = {"base": placed((0.1, 0.0, 0.5), (0.0, 0.0, 0.3)), "hand": placed((0.4, 0.2, 0.9))}


def test_the_handles_are_where_the_controllers_target_is_in_the_frame_that_it_names(page):
    controller = Controller()
    gizmo = TargetGizmo(page, controller, 1.0)
    gizmo.tick(POSES)
    assert gizmo.handles is None
    for frame, base in (("base", POSES["base"]), ("world", np.eye(4))):
        controller.pose = TargetPose(frame, placed((0.2, 0.3, 0.1), (0.4, 0.0, 0.0)))
        gizmo.tick(POSES)
        expected = base @ controller.pose.pose
        np.testing.assert_allclose(gizmo.handles.position, expected[:3, 3], atol=1e-12)
        np.testing.assert_allclose(gizmo.handles.wxyz, to_quaternion(expected[:3, :3]), atol=1e-12)
        assert gizmo.handles.visible
    controller.pose = None
    gizmo.tick(POSES)
    assert not gizmo.handles.visible
    gizmo.remove()


def test_what_a_person_drags_is_asked_of_the_controller_and_what_it_does_not_take_is_not_kept(page):
    controller = Controller()
    gizmo = TargetGizmo(page, controller, 1.0)
    controller.pose = TargetPose("base", placed((0.2, 0.3, 0.1)))
    gizmo.tick(POSES)
    wanted = placed((0.5, -0.1, 0.7), (0.2, -0.4, 1.0))
    drag(gizmo, wanted, "start", "update")
    page.act()
    (asked,) = controller.asked
    assert asked.frame == "base"
    np.testing.assert_allclose(POSES["base"] @ asked.pose, wanted, atol=1e-9)
    gizmo.tick(POSES)  # the controller has not taken it yet; the person still has the handles
    np.testing.assert_allclose(gizmo.handles.position, wanted[:3, 3], atol=1e-12)
    drag(gizmo, wanted, "end")
    page.act()
    gizmo.tick(POSES)
    np.testing.assert_allclose(gizmo.handles.position, wanted[:3, 3], atol=1e-12)
    page.clock.advance(1.0)
    gizmo.tick(POSES)
    np.testing.assert_allclose(gizmo.handles.position, (POSES["base"] @ controller.pose.pose)[:3, 3], atol=1e-12)


def test_joint_targets_are_there_while_the_controller_follows_joints_and_are_sent_once(page):
    model, controller = ada.load("pa10"), Controller()
    plant = RobotNode(described(model), clock=page.clock)
    q = np.linspace(-0.3, 0.3, 7)

    def frames(count):
        for _ in range(count):
            plant.sends(0.0, q)
            passes(shown, 1, 0.05)

    shown = RemotePage(page, plant, follower=controller, start=at_once)
    frames(3)
    folder, targets = page.gui.named("joint targets"), shown.robot.targets
    assert not folder.visible
    names = model.joint_names[:5]  # the controller has not all of them
    controller.joints = dict.fromkeys([*names, "without_motor"], 0.0)
    frames(1)
    assert folder.visible
    targets.switch(True)
    frames(5)
    assert len(controller.asked) == 1
    assert list(controller.asked[0]) == names
    np.testing.assert_allclose(list(controller.asked[0].values()), q[:5], atol=1e-6)
    targets.sliders[0].set(90.0)
    frames(40)
    assert controller.asked[-1][names[0]] == pytest.approx(q[0] + LEAD)
    controller.joints = None
    frames(1)
    assert not folder.visible and not targets.box.value


def test_with_a_controller_there_sliders_send_it_targets_and_do_not_command_the_joints(page):
    model = ada.load("pa10")
    plant, controller = RobotNode(described(model), clock=page.clock), Controller()
    plant.sends(0.0, model.neutral())
    controller.is_there = False
    shown = RemotePage(page, plant, follower=controller, start=at_once)
    passes(shown)
    robot = shown.robot
    commands, targets = (page.gui.named(f"joint {name}") for name in ("commands", "targets"))
    assert commands.visible and not targets.visible
    robot.commands.switch(True)
    shown.tick()
    assert plant.commands[-1] is not None
    controller.is_there, controller.joints = True, dict.fromkeys(model.joint_names, 0.0)
    controller.pose = TargetPose(model.root, placed((0.3, 0.0, 0.8)))
    shown.tick()
    assert plant.commands[-1] is None
    assert not commands.visible and targets.visible
    assert robot.gizmo.handles.visible
    robot.close()
    assert robot.gizmo.handles is None


def test_a_browser_that_may_move_nothing_drags_no_target_and_sees_the_handles_go_back(page):
    controller = Controller()
    controller.pose = TargetPose("base", placed((0.2, 0.3, 0.1)))
    gizmo = TargetGizmo(page, controller, 1.0)
    gizmo.tick(POSES)
    place = gizmo.handles.position
    page.guard = lambda browser: "no"
    drag(gizmo, placed((1.0, 0.0, 0.0)), "start", "update", "end")
    page.act()
    gizmo.tick(POSES)
    assert controller.asked == []
    np.testing.assert_allclose(gizmo.handles.position, place, atol=1e-12)
    page.guard = lambda browser: ""
    drag(gizmo, placed((1.0, 0.0, 0.0)), "start", "update", "end")
    page.act()
    assert controller.asked
