# SPDX-License-Identifier: Apache-2.0
"""The hardware node on real DDS with emulated devices on real wires: sensors and the other robots."""

import numpy as np
import pytest

pytest.importorskip("rclpy")

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from hardware_world import (
    AT,
    call,
    diagnosed,
    hardware,
    hardware_process,
    transition,
)
from std_srvs.srv import Trigger

import ada_dynamics as ada
from ada_hardware.emulation.process import EmulatorProcess
from ada_robot.safety.phases import Phase

pytestmark = pytest.mark.ros
WITH_ARM = {
    "devices": ["arm", "hand"],
    "arm__kind": "pa10",
    "arm__driver__url": "udp://127.0.0.1:9",
    "hand__kind": "dynpick",
    "hand__frame": "flange",
    "autostart": "active",
    "until": "active",
}


@pytest.fixture
def sensor():
    with EmulatorProcess("dynpick") as sensor:
        yield sensor


def force_of(wrench):
    return np.array([wrench.wrench.force.x, wrench.wrench.force.y, wrench.wrench.force.z])


def test_the_wrenches_of_a_sensor_are_published_and_zeroed_and_its_silence_is_reported(ros, sensor):
    reports, wrenches = ros.collect(DiagnosticArray, "/diagnostics"), ros.collect(WrenchStamped, "wrench")
    given = {"device": "dynpick", "url": sensor.url, "dynpick__frame": "hand", "autostart": "active"}
    node = hardware(ros, **given, dynpick__sensor__bias_samples=20, until="active")
    assert wrenches.newest().header.frame_id == "hand"
    # on a busy machine the samples may take longer than the sensor has for them
    ros.wait(lambda: call(ros, "bias").success, what="a zero")
    assert np.abs(force_of(wrenches.next())).max() < 2.0  # [N]; noise of two counts
    ros.wait(lambda: diagnosed(reports, "dynpick").get("zero set") == "true", what="the report")
    for act, is_silent in ((sensor.freeze, True), (sensor.thaw, False)):
        act()
        ros.wait(lambda s=is_silent: (diagnosed(reports, "dynpick").get("level") == 2) is s, what="the silence")
    assert node.phase == "active"


def test_a_node_can_be_deactivated_and_cleaned_up_while_a_zero_is_taken(ros, sensor):
    many = {"dynpick__sensor__bias_samples": 100_000}
    hardware(ros, device="dynpick", url=sensor.url, **many, autostart="active", until="active")
    client = ros.tester.create_client(Trigger, "hardware_node/bias")
    ros.wait(client.service_is_ready, what="the service")
    zero = client.call_async(Trigger.Request())
    assert transition(ros, "deactivate") and transition(ros, "cleanup")
    ros.wait(zero.done, what="an answer")
    assert not zero.result().success


def test_a_force_over_its_limit_stops_the_robots_of_the_node(ros, fleet, sensor):
    reports, wrenches = ros.collect(DiagnosticArray, "/diagnostics"), ros.collect(WrenchStamped, "wrench")
    limits = {"hand__sensor__max_force": 20.0, "tf_rate": 0.0}
    node = hardware(ros, fleet, **WITH_ARM, **limits, hand__driver__url=sensor.url)
    sensor.fault("fx", 15.0)
    wrenches.newest(lambda one: one.wrench.force.x > 14.0)
    assert node.phase == "active" and fleet.robot.phase is Phase.ACTIVE, "within the limit"
    sensor.fault("fx", 25.0)
    ros.wait(lambda: node.phase == "inactive", what="the node to follow")
    assert fleet.robot.phase is Phase.STOPPED and fleet.robot.reason.startswith("hand: ")
    assert node.devices.latched == fleet.robot.reason
    ros.wait(lambda: diagnosed(reports, "hand").get("exceeded limit"), what="the sensor's report")
    ros.wait(lambda: diagnosed(reports, "node")["level"] == 2, what="the node's report")
    sensor.fault("fx", 0.0)
    wrenches.newest(lambda one: abs(one.wrench.force.x) < 1.0)
    assert call(ros, "reset").success
    assert transition(ros, "activate"), node.problem


def test_the_weight_of_a_tool_is_compensated_as_the_robot_turns(ros, fleet, sensor):
    dynamics, wrenches = ada.Dynamics(ada.load("pa10")), ros.collect(WrenchStamped, "wrench")
    hardware(ros, fleet, **WITH_ARM, hand__driver__url=sensor.url, hand__sensor__tool_mass=0.8, tf_rate=0.0)
    for position in (AT, AT + np.array([0.3, -0.5, 0.4, 0.6, -0.2, 0.7, 0.1])):
        up = dynamics.pose("flange", position)[:3, :3].T @ [0.0, 0.0, 0.8 * 9.81]

        def is_compensated(position=position, up=up):
            fleet.robot.measure(position)
            return wrenches and np.abs(force_of(wrenches[-1]) - up).max() < 1.0  # [N] noise

        ros.wait(is_compensated, what="the weight")


def test_a_port_that_is_not_there_ends_the_process_and_an_unknown_device_is_refused(ros):
    process = hardware_process(ros, device="khr1", url="/dev/ttyNONE0")
    wrong = hardware_process(ros, device="khr9")
    assert process.wait() == 1
    assert "khr1: /dev/ttyNONE0" in process.output and "Traceback" not in process.output
    assert wrong.wait() == 2
    assert "hardware_node: error:" in wrong.output and "Traceback" not in wrong.output
