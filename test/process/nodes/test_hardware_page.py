# SPDX-License-Identifier: Apache-2.0
"""The hardware panel over real DDS: the real hardware node, emulated devices on real wires, and a person without a
browser, who holds buttons by what a browser would send. In a real browser: test_hardware_page_chromium.py.
"""

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed: pip install '.[ros]'")
pytest.importorskip("viser", reason="viser is not installed: pip install '.[view]'")

from hardware_world import KHR1_PATIENT, Commander, active_hardware, hardware
from page_world import view

from ada_hardware.emulation.process import EmulatorProcess

pytestmark = pytest.mark.ros

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
