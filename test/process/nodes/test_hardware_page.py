# SPDX-License-Identifier: Apache-2.0
"""The hardware panel over real DDS with emulated devices: by what a browser would send, and in a real browser."""

import signal
from functools import partial

import pytest
from chromium import Visit, browser_processes, plain_light, signal_all

pytest.importorskip("rclpy", reason="rclpy is not installed: pip install '.[ros]'")
pytest.importorskip("viser", reason="viser is not installed: pip install '.[view]'")

from hardware_world import (
    JUDGED_7C,
    KHR1_PATIENT,
    PA10_7C_PATIENT,
    Commander,
    active_hardware,
    hardware,
    hardware_process,
)
from page_world import view
from sensor_msgs.msg import JointState

from ada_dynamics.clock import Clock
from ada_hardware.emulation.process import EmulatorProcess
from ada_tools.browser.page import Page

pytestmark = pytest.mark.ros


class SlowClock(Clock):
    """Time at a fifth of its pace: a browser that draws without a GPU is late with its signs of life."""

    def now(self):
        return super().now() / 5.0


JOINT = "w1"


class Stand:
    """A PA-10 on the wire of a node of its own, and a person in front of its page."""

    def __init__(self, ros, browser, url):
        self.states = ros.collect(JointState, "joint_states")
        given = {"url": url, "tf_rate": 0.0, "pa10__safety__hold_without_commands": True}
        hardware_process(ros, **PA10_7C_PATIENT, **given)
        self.node = view(ros, partial(Page, clock=SlowClock(), rate=20.0), plant="hardware_node")
        plain_light(self.node.page)
        self.panel = self.node.shown.devices
        self.page = Visit(browser, self.node.page, self.node.shown, lambda: browser.get("about:blank"))
        # Not the robot as it is shown before the page knows that it is driven: then the page is made anew.
        is_driven = lambda: self.node.shown.robot and not self.node.shown.robot.is_simulated  # noqa: E731
        self.page.until(lambda: is_driven() and self.panel.sliders, "the robot and its sliders", every=0.5)
        self.page.until(lambda: "pa10: inactive" in self.page.text(), "the phase is on the page", every=0.5)

    def where(self):
        newest = self.states.newest()
        return newest.position[list(newest.name).index(JOINT)]

    def types(self, degrees):
        """Type a number into the field beside the slider."""
        sliders = self.panel.sliders["pa10"]
        i = [motor.name for motor in sliders.motors].index(JOINT)
        self.page.types(1 + i, degrees)  # the first one is that of the speed
        self.page.until(lambda: sliders.sliders[i].value == degrees and i in sliders.wanted, "the slider is there")

    def moves(self, by):
        start = self.where()
        self.page.until(lambda: abs(self.where() - start) > by, "the joint moves")

    def rests(self):
        """Wait until the commands have ended and the joint is at rest."""
        self.page.until(lambda: not self.panel.sliders["pa10"].is_commanding, "commands end")
        places = []

        def still():
            places.append(self.where())
            return len(places) > 10 and max(places[-10:]) - min(places[-10:]) < 1e-3

        self.page.until(still, "the joint is at rest")


@pytest.mark.slow
def test_an_arm_comes_to_rest_on_its_way_when_the_browser_freezes_or_is_killed(ros, browser):
    with EmulatorProcess("pa10", JUDGED_7C) as robot:
        here = Stand(ros, browser, robot.url)
        here.types(-80)
        pids = browser_processes(browser)
        assert len(pids) > 3
        for number in (signal.SIGSTOP, signal.SIGKILL):
            here.page.presses("hold to move")
            here.moves(0.05)
            signal_all(pids, number)
            try:
                here.rests()
                assert here.where() > -1.39, "it was on its way"
                assert here.panel.state.devices["pa10"].phase == "active", "it holds where it is"
            finally:
                signal_all(pids, signal.SIGCONT)
            if number == signal.SIGSTOP:
                here.page.until(lambda: browser.execute_script("return true"), "the page goes on")
                place = here.where()
                here.rests()
                assert abs(here.where() - place) < 1e-3, "it moves again without a new press"
                here.page.lets_go()
        assert not robot.violations()
        assert here.node.failure is None


ELBOW = "right_elbow"


class Person:
    """At the page of a view node; its messages are kept in `said`."""

    def __init__(self, ros):
        self.ros = ros
        self.node = view(ros, plant="hardware_node")
        self.panel, self.said = self.node.shown.devices, self.node.said

    @property
    def device(self):
        return self.panel.state.devices["khr1"]

    def sliders(self):
        """Its sliders, once the robot is on the page: then nothing builds the page again, and buttons stay."""
        shown = self.node.shown
        self.ros.wait(lambda: shown.robot and not shown.robot.is_simulated, what="the robot on the page")
        return self.ros.wait(lambda: self.panel.sliders.get("khr1"), what="its sliders")

    def holds(self, until, what):
        hold = self.panel.move

        def act():
            self.panel.stop_button.is_in_sight(1)
            if "press it again" in hold.refusal:  # this machine was so busy that the page counts as frozen
                hold.release(1)
            hold.sign(1)
            return until()

        return self.ros.wait(act, what=what)


def test_other_commanders_and_refusals_are_shown(ros):
    with EmulatorProcess("khr1") as robot:
        active_hardware(ros, **KHR1_PATIENT, url=robot.url, khr1__safety__hold_without_commands=True)
        person = Person(ros)
        person.sliders()
        sender = Commander(ros).ready()
        sender.until(lambda: ELBOW in person.device.last_refusal, "the refusal", names=[ELBOW], position=[99.0])
        other = "tester already commands khr1"
        person.holds(lambda: any(other in text for text in person.said), "a word on the other one")


def test_wrenches_of_a_sensor_reach_the_page_and_are_zeroed_by_its_button(ros):
    with EmulatorProcess("dynpick") as sensor:
        hardware(ros, device="dynpick", url=sensor.url, dynpick__sensor__bias_samples=20, until="active")
        panel = Person(ros).panel

        def force():
            wrench = panel.node.wrench("dynpick") if panel.state else None
            return 0.0 if wrench is None else wrench.values[0]

        sensor.fault("fx", 15.0)
        ros.wait(lambda: force() > 13.0, what="a force")

        def is_zeroed():
            """On a busy machine the samples may take longer than the sensor has for them."""
            answers = []
            panel.node.ask("bias", answers.append)
            return ros.wait(lambda: answers, what="the answer") == [None]

        ros.wait(is_zeroed, what="a zero")
        ros.wait(lambda: abs(force()) < 2.0, what="the zero")
