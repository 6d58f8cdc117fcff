# SPDX-License-Identifier: Apache-2.0
"""Controls stay where they are in a real browser, whatever the words above them say: somebody may be about to press."""

import math
import threading

import numpy as np
import pytest
from browser_robots import pushable
from chromium import Visit, chromium, plain_light
from page_world import RobotNode

pytest.importorskip("viser", reason="viser is not installed: pip install 'ada_dynamics[view]'")

import ada_dynamics as ada
from ada_dynamics.robots.catalogue import start_of_mechanism
from ada_robot.node_state import DeviceState, Motor
from ada_tools.browser.held_sliders import HeldSliders
from ada_tools.browser.live import LivePage
from ada_tools.browser.page import Page
from ada_tools.browser.pose_page import PosePage
from ada_tools.browser.robot_node import Wrench
from ada_tools.browser.sensor_bars import SensorBars

pytestmark = pytest.mark.slow

PLACES = """
return [...document.querySelectorAll('button, input, [role=slider]')]
  .filter(e => e.getBoundingClientRect().width && !e.closest('[class*=Notification]'))
  .map(e => { const r = e.getBoundingClientRect(); return [e.getAttribute('role') ? 0 : r.left, r.top] })
"""
NUMBERS = "t = **1234.567** s, **1.00** x real time, energy -1.23457e+06 J, largest gap 1.0e-12 [m, rad]"
WORDS = (
    "",
    "paused",
    NUMBERS,
    f"**The node has sent nothing for 12 s.** This is its last state.\n\n{NUMBERS}",
    9 * NUMBERS,
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("chromium")) as driver:
        driver.set_window_size(1000, 900)
        yield driver


def visit(browser, page):
    here = Visit(browser, page, None, page.end)
    places = [None]

    def rests():
        places.append(browser.execute_script(PLACES))
        return len(places) > 8 and places[-1] and all(one == places[-1] for one in places[-8:])

    here.until(rests, "the layout is at rest")
    return here, places[-1]


def stay(here, first, is_shown):
    """They are where they were, once the page shows something, and for a little while after."""
    here.until(is_shown, "the words are on the page")
    here.page._ended.wait(0.3)
    now = here.browser.execute_script(PLACES)
    assert len(now) == len(first)
    np.testing.assert_allclose(now, first, atol=0.5)


def four_bar():
    return ada.load("four_bar"), start_of_mechanism("four_bar")


def moving(page):
    model, q = four_bar()
    simulation, _ = pushable(model)
    simulation.reset(ada.assemble(model, q))
    return LivePage(page, simulation)


@pytest.mark.parametrize("make", [moving, lambda page: PosePage(page, *four_bar())], ids=["simulation", "pose"])
def test_controls_stay_where_they_are_whatever_the_status_says(browser, make):
    with Page("test", port=0) as page:
        plain_light(page)
        shown = make(page)
        here, first = visit(browser, page)
        assert len(first) > 3
        for words in WORDS:
            shown.status.content = words
            wanted = words.replace("*", "").split("\n\n")[0]
            stay(here, first, lambda wanted=wanted: wanted in here.text())


def test_sliders_and_bars_of_hardware_stay_where_they_are_whether_it_is_heard_or_not(browser):
    node = RobotNode()
    robot = DeviceState(
        "leg", "khr1", "inactive", "", (), "", ("position",), (Motor("knee", -1.0, 1.5, 6.0),), {}, {}, (), "", ""
    )
    with Page("test", port=0) as page:
        plain_light(page)
        bars = SensorBars(page, node, ["hand", "foot"])
        sliders = HeldSliders(page, node, robot)

        def tick():
            bars.tick({}, 1.0)
            sliders.tick(robot, is_held=False)

        thread = threading.Thread(target=page.run, args=(tick,))
        thread.start()
        here, first = visit(browser, page)
        assert "not measured" in here.text() and "nothing is measured" in here.text()
        node.at = node.told_at = {"knee": -0.123}
        node.felt = Wrench(math.inf, "a_frame_whose_name_is_longer_than_the_panel_is_wide", np.full(6, -123.4))
        stay(here, first, lambda: "told -7.0" in here.text() and "-123.40 N m" in here.text())
        node.at = node.told_at = node.felt = None
        stay(here, first, lambda: "not measured" in here.text())
        page.end()
        thread.join(10.0)
