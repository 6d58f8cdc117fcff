# SPDX-License-Identifier: Apache-2.0
"""The hardware panel in a real browser, the hardware node with an emulated robot behind DDS: held, stopped, killed."""

import signal

import pytest
from chromium import Visit, browser_processes, plain_light, signal_all

pytest.importorskip("rclpy", reason="rclpy is not installed: pip install '.[ros]'")
pytest.importorskip("viser", reason="viser is not installed: pip install '.[view]'")

from hardware_world import JUDGED_7C, PA10_7C_PATIENT, Commander, hardware_process
from page_world import view
from sensor_msgs.msg import JointState

from ada_hardware.emulation.process import EmulatorProcess
from ada_tools.browser import hold, robot_page, stop_button

pytestmark = [pytest.mark.ros, pytest.mark.slow]

EXPIRES = 1.5  # [s] here: a browser that draws without a GPU is late with its signs of life


@pytest.fixture(autouse=True)
def world(monkeypatch):
    """As many drawings as can be drawn without a GPU."""
    monkeypatch.setattr(robot_page, "DRAWN", 1.0)
    monkeypatch.setattr(hold, "EXPIRES", EXPIRES)
    monkeypatch.setattr(hold, "FORGOTTEN", 4.0 * EXPIRES)
    monkeypatch.setattr(stop_button, "SEEN", 4.0 * EXPIRES)


class Stand:
    """A robot on the wire of a node of its own, and a person in front of its page.

    Attributes:
        page: what the person sees.
        panel: that they use.
        states: joint states, one after another.
    """

    def __init__(self, ros, browser, device, url, **settings):
        self.ros, self.device = ros, device
        self.states = ros.collect(JointState, "joint_states")
        given = {"device": device, "url": url, "tf_rate": 0.0, f"{device}__safety__hold_without_commands": True}
        hardware_process(ros, **{**settings, **given})
        self.node = view(ros, plant="hardware_node")
        plain_light(self.node.page)
        self.panel = self.node.shown.devices
        self.page = Visit(browser, self.node.page, self.node.shown, lambda: browser.get("about:blank"))
        self.page.until(lambda: self.node.shown.robot and self.panel.sliders, "the robot and its sliders", every=0.5)
        self.page.until(lambda: f"{device}: inactive" in self.page.text(), "the phase is on the page", every=0.5)

    def where(self, joint):
        newest = self.states.newest()
        return newest.position[list(newest.name).index(joint)]

    def types(self, joint, degrees):
        """What a person types into the field beside a slider."""
        sliders = self.panel.sliders[self.device]
        i = [motor.name for motor in sliders.device.motors].index(joint)
        self.page.types(1 + i, degrees)  # the first one is that of the speed
        self.page.until(lambda: sliders.sliders[i].value == degrees, "the slider is where it was typed to be")
        self.page.until(lambda: i in sliders.wanted, "the slider was moved")

    def presses(self):
        self.page.presses("hold to move")

    def lets_go(self):
        self.page.lets_go()

    def moves(self, joint, by=0.1):
        start = self.where(joint)
        self.page.until(lambda: abs(self.where(joint) - start) > by, f"{joint} moves")

    def rests(self, joint):
        """The commands have ended, and the joint comes to rest."""
        self.page.until(lambda: not self.panel.sliders[self.device].is_commanding, "commands end")
        places = [self.where(joint)]

        def still():
            places.append(self.where(joint))
            return len(places) > 10 and max(places[-10:]) - min(places[-10:]) < 1e-3

        self.page.until(still, "the joint is at rest")

    def phase(self):
        return self.panel.state.devices[self.device].phase


def test_a_humanoid_follows_its_sliders_while_a_person_holds_the_button_and_is_stopped_by_the_red_one(ros, browser):
    with EmulatorProcess("khr1") as robot:
        here = Stand(ros, browser, "khr1", robot.url)
        here.types("left_elbow", 60)
        here.page.until(lambda: here.node.shown.robot.ghost.is_visible, "the ghost is where the slider points")
        here.page.keep("hardware-khr1-ghost")
        here.presses()
        here.moves("left_elbow")
        here.page.until(lambda: "khr1: active" in here.page.text(), "the page says that it is active")
        here.page.until(lambda: "held: robots go to their sliders" in here.page.text(), "and that it is held")
        here.lets_go()
        here.rests("left_elbow")
        assert here.phase() == "active", "it holds where it is"
        assert here.where("left_elbow") < 1.0
        angle = f"is {57.29577951308232 * here.where('left_elbow'):.1f} deg"
        here.page.until(lambda: angle in here.page.text(), "the page shows where the joint is")

        Commander(ros).ready().until(
            lambda: "last refused: joint 'left_elbow'" in here.page.text(),
            "a refusal is on the page",
            names=["left_elbow"],
            position=[9.0],
        )
        here.panel.node.others = lambda device: ()  # the test itself, which has sent that
        here.presses()
        here.moves("left_elbow", 0.05)
        here.page.touch(here.page.button("STOP"))  # the mouse still holds the other button
        here.page.until(lambda: here.phase() == "stopped", "it is stopped")
        here.page.until(lambda: "khr1: stopped" in here.page.text(), "and the page says so")
        here.rests("left_elbow")
        here.page.keep("hardware-khr1-stopped")
        here.lets_go()
        here.page.click("reset")
        here.page.until(lambda: "khr1: inactive" in here.page.text(), "it is reset")
        assert not robot.violations()
        assert here.node.failure is None
        here.page.leave()


def test_an_arm_comes_to_rest_on_its_way_when_the_browser_freezes_or_is_killed(ros, browser):
    with EmulatorProcess("pa10", JUDGED_7C) as robot:
        here = Stand(ros, browser, "pa10", robot.url, **PA10_7C_PATIENT)
        here.types("w1", -80)
        pids = browser_processes(browser)
        assert len(pids) > 3
        for number in (signal.SIGSTOP, signal.SIGKILL):
            here.presses()
            here.moves("w1", 0.05)
            signal_all(pids, number)
            try:
                here.rests("w1")
                assert here.where("w1") > -1.39, "it was on its way"
                assert here.phase() == "active", "it holds where it is"
            finally:
                signal_all(pids, signal.SIGCONT)
            if number == signal.SIGSTOP:
                here.page.until(lambda: "press it anew" in here.panel.move.refusal, "the page goes on, and is told so")
                here.lets_go()
        assert not robot.violations()
        assert here.node.failure is None
