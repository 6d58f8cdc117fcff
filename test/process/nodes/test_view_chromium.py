# SPDX-License-Identifier: Apache-2.0
"""The view node in a real browser, robot and controller behind DDS: seen, paused, its target dragged."""

import sys
import time
from functools import partial

import numpy as np
import pytest
from chromium import Visit, plain_light

pytest.importorskip("rclpy", reason="rclpy is not installed: pip install '.[ros]'")
pytest.importorskip("viser", reason="viser is not installed: pip install '.[view]'")

from page_world import view

import ada_dynamics as ada
from ada_tools.browser.page import Page
from ada_tools.browser.robot_page import PLAY, STEP

pytestmark = [pytest.mark.ros, pytest.mark.slow]

PLANT = (sys.executable, "-m", "ada_robot.node.dynamics_node", "--ros-args", "-p", "robot:=four_bar")


def test_a_person_sees_the_robot_move_and_pauses_it(ros, browser):
    # as many frames as are drawn without a GPU before the next ones arrive
    node = view(ros, open_page=partial(Page, rate=4.0))
    plain_light(node.page)
    here = Visit(browser, node.page, node.shown, lambda: browser.get("about:blank"))
    here.until(lambda: "Waiting for the robot description" in here.text(), "the page says what it waits for")
    ros.start(*PLANT, "-p", "idle:=release")
    here.until(lambda: "x real time" in here.text(), "the robot moves", every=0.5)
    here.until(lambda: len(here.drawn()) > 300, "the robot is drawn", every=1.0)
    before = here.drawn()
    here.until(lambda: here.differs(before), "the picture changes", every=1.0)
    assert len(browser.find_elements("css selector", ".uplot canvas")) >= 1

    here.keep("view-topics")
    here.click(PLAY)
    here.until(lambda: ", paused" in here.text(), "the plant pauses")
    stopped = node.shown.robot.now.t
    here.click(STEP)
    here.until(lambda: node.shown.robot.now.t > stopped, "the plant takes a step")
    here.click(PLAY)
    here.until(lambda: "x real time" in here.text(), "it goes on")
    assert node.failure is None
    here.leave()


SETUP = (sys.executable, "-m", "ada_tools.cli", "up", "pa10_control", "view:=false", "rviz:=false")
HAND = "flange"


def pixel(here, point):
    """Where a point of the world is seen on the page."""
    (client,) = here.page.server.get_clients().values()
    camera = client.camera
    forward = camera.look_at - camera.position
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, camera.up_direction)
    right /= np.linalg.norm(right)
    way = np.asarray(point) - camera.position
    depth = way @ forward
    left, top, width, height = here.browser.execute_script(
        "const r = document.querySelector('canvas').getBoundingClientRect();return [r.left, r.top, r.width, r.height]"
    )
    scale = 0.5 * height / np.tan(0.5 * camera.fov) / depth
    x, y = way @ right * scale, way @ np.cross(right, forward) * scale
    return round(left + 0.5 * width + x), round(top + 0.5 * height - y)


def drag(here, begin, end):
    from selenium.webdriver import ActionChains

    mouse = ActionChains(here.browser, duration=100)
    pointer = mouse.w3c_actions.pointer_action
    pointer.move_to_location(*begin)
    pointer.pause(1.0)  # it is drawn without a GPU: the arrow must notice the mouse
    pointer.pointer_down()
    for k in range(1, 9):
        pointer.move_to_location(*(round(a + (b - a) * k / 8) for a, b in zip(begin, end, strict=True)))
        pointer.pause(0.1)
    pointer.pointer_up()
    mouse.perform()


def test_a_person_drags_the_target_with_the_mouse_and_the_arm_goes_there(ros, browser):
    ros.start(*SETUP)
    # as many frames as are drawn without a GPU before the next ones arrive
    node = view(ros, partial(Page, rate=4.0))
    plain_light(node.page)
    here = Visit(browser, node.page, node.shown, lambda: browser.get("about:blank"))
    here.until(lambda: node.shown.robot and node.shown.robot.gizmo.handles, "there are handles", every=0.5)
    robot = node.shown.robot
    here.until(lambda: len(here.drawn()) > 300, "the robot is drawn", every=1.0)
    here.keep("target-before")
    start = np.array(robot.gizmo.handles.position)
    R = np.array(ada.spatial.rotation.from_quaternion(*np.roll(robot.gizmo.handles.wxyz, -1)))
    size = robot.gizmo.handles.scale

    def moved():
        return float(np.linalg.norm(robot.gizmo.handles.position - start))

    for axis in (*R.T, *R.T):  # an arrow may be hidden by the robot, and a browser that is busy may miss the mouse
        middle, begin = pixel(here, start), pixel(here, start + 0.7 * size * axis)
        drag(here, begin, tuple(2 * a - b for a, b in zip(begin, middle, strict=True)))
        end = time.monotonic() + 2.0
        here.until(lambda e=end: moved() > 0.02 or time.monotonic() > e, "a drag", every=0.1)
        if moved() > 0.02:
            break
    here.keep("target-dragged")
    assert moved() > 0.02, "no arrow could be dragged"

    def distance():
        return np.linalg.norm(robot.scene.poses[HAND][:3, 3] - robot.gizmo.handles.position)

    here.until(lambda: distance() < 2e-3, "the hand is at the target", every=0.5)
    assert np.linalg.norm(robot.scene.poses[HAND][:3, 3] - start) > 0.02
    here.keep("target-reached")
    assert node.failure is None
    here.leave()
