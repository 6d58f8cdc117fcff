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


@pytest.fixture(autouse=True)
def flights(tmp_path, monkeypatch):
    """Flight records go where the test's other files are."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


class Person:
    """At the page of a view node; what it says to them is kept."""

    def __init__(self, ros):
        self.ros = ros
        self.node = view(ros, plant="hardware_node")
        self.panel, self.said = self.node.shown.devices, self.node.said

    @property
    def state(self):
        return self.panel.state

    def sliders(self, name):
        """Its sliders, once the robot is on the page: then nothing builds the page anew, and buttons stay."""
        self.ros.wait(
            lambda: self.node.shown.robot and not self.node.shown.robot.is_simulated, 60.0, "the robot on the page"
        )
        return self.ros.wait(lambda: self.panel.sliders.get(name), 60.0, f"the sliders of {name}")

    def holds(self, until, what, button="move", timeout=60.0):
        hold = getattr(self.panel, button)

        def act():
            self.panel.stop_button.is_in_sight(1)
            if "press it anew" in hold.refusal:  # this machine was so busy that the page counts as frozen
                hold.release(1)
            hold.sign(1)
            return until()

        return self.ros.wait(act, timeout, what)

    def lets_go(self, button="move"):
        getattr(self.panel, button).release(1)


def test_a_robot_that_others_command_and_commands_that_are_refused_are_said(ros):
    with EmulatorProcess("khr1") as robot:
        active_hardware(ros, **KHR1_PATIENT, url=robot.url, khr1__safety__hold_without_commands=True)
        person = Person(ros)
        person.sliders("khr1")
        sender = Commander(ros).ready()
        sender.until(
            lambda: "right_elbow" in person.state.devices["khr1"].last_refusal,
            "the refusal",
            names=[ELBOW],
            position=[99.0],
        )
        ros.wait(lambda: "last refused: " in person.panel._status.content, what="it on the page")
        person.holds(lambda: any("tester commands khr1" in text for text in person.said), "a word on the other one")


def test_a_motion_is_played_while_its_button_is_held(ros):
    with EmulatorProcess("khr1") as robot:
        node = active_hardware(ros, **KHR1_PATIENT, url=robot.url, khr1__safety__hold_without_commands=True)
        person = Person(ros)
        device = person.sliders("khr1").device
        assert device.servos[ELBOW].zero == 90.0
        assert any(path.endswith("khr1_walk.csv") for path in device.motions)
        person.holds(lambda: person.state.devices["khr1"].plays, "the motion to begin", button="play")
        ros.wait(lambda: node.connection.playing.row > 2, what="the motion to be under way")
        person.lets_go("play")
        ros.wait(lambda: person.state.phase == "inactive", what="the end of it")
        assert "was left off after" in node.connection.playing.ended
        assert not robot.violations()


def test_wrenches_of_a_sensor_are_bars_and_zeroed_by_a_button(ros):
    with EmulatorProcess("dynpick") as sensor:
        hardware(ros, device="dynpick", url=sensor.url, autostart="active", until="active")
        person = Person(ros)
        bars = ros.wait(lambda: person.panel._sensors, what="the bars")
        ros.wait(lambda: "dynpick in dynpick" in bars.bars["dynpick"].content, what="a wrench")
        sensor.fault("fx", 15.0)
        ros.wait(lambda: person.panel.node.wrench("dynpick").values[0] > 13.0, what="a force")
        person.panel.node.bias(person.said.append)
        ros.wait(lambda: person.said or person.node.failure, what="the answer")
        assert person.node.failure is None
        assert person.said == [None]
        ros.wait(lambda: abs(person.panel.node.wrench("dynpick").values[0]) < 2.0, what="the zero")


def test_a_node_that_goes_away_is_said_and_its_stop_says_what_to_press_instead(ros):
    with EmulatorProcess("khr1") as robot:
        node = hardware(ros, device="khr1", url=robot.url, until="inactive", tf_rate=0.0)
        person = Person(ros)
        person.sliders("khr1")
        ros.remove(node)
        ros.wait(lambda: "hardware_node: gone" in person.panel._status.content, what="the word")
        person.panel._stop()
        ros.wait(lambda: any("Press the emergency stop of the robot itself" in t for t in person.said), what="advice")
