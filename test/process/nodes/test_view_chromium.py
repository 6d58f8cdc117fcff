# SPDX-License-Identifier: Apache-2.0
"""The view node in a real browser, the real dynamics node behind DDS: seen, paused."""

import sys
from functools import partial

import pytest
from chromium import Visit, plain_light

pytest.importorskip("rclpy", reason="rclpy is not installed: pip install '.[ros]'")
pytest.importorskip("viser", reason="viser is not installed: pip install '.[view]'")

from page_world import view

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
