# SPDX-License-Identifier: Apache-2.0
"""The hardware node on real DDS with emulated devices on real wires: sensors, and a moving arm that is stopped."""

import numpy as np
import pytest

pytest.importorskip("rclpy")

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from hardware_world import (
    AT,
    JUDGED_7C,
    PA10_7C_PATIENT,
    Commander,
    call,
    diagnosed,
    hardware,
    hardware_process,
    life,
    states,
    transition,
)
from sensor_msgs.msg import JointState
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


TURN = [0.3, *[0.0] * 6]  # [rad/s]


@pytest.fixture
def device():
    with EmulatorProcess("pa10", JUDGED_7C) as device:
        yield device
        assert not device.violations()


def angles(device):
    return np.array(device.state()["position"])


def arm(ros, device, **parameters):
    """A node that drives the emulated arm, active; an arm that answers late is asked again."""
    node = hardware(ros, **{**PA10_7C_PATIENT, "url": device.url, "autostart": "unconfigured", **parameters})
    ros.wait(lambda: transition(ros, "configure"), what="the arm to be found")
    activate(ros)
    return node


def activate(ros):
    ros.wait(lambda: call(ros, "reset").success and transition(ros, "activate"), what="the arm to start")


def test_an_arm_whose_commander_falls_silent_comes_to_rest_and_starts_again_where_it_is(ros, device):
    reports = ros.collect(DiagnosticArray, "/diagnostics")
    node = arm(ros, device, pa10__safety__command_timeout=0.3, pa10__safety__host_timeout=1.5)
    Commander(ros).ready().until(lambda: angles(device)[0] > 0.05, velocity=TURN)
    ros.wait(lambda: node.phase == "inactive", what="the node to see that nobody commands")
    assert life(ros) == "inactive"
    ros.wait(lambda: "no command" in diagnosed(reports, "pa10").get("reason", ""), what="the reason in the report")
    rest = angles(device)
    assert 0.05 < rest[0] < 0.05 + 0.3 * 10.0
    for _ in range(2):
        activate(ros)
        assert transition(ros, "deactivate") and transition(ros, "cleanup"), node.problem
        ros.wait(lambda: transition(ros, "configure"), what="the arm to be found again")
    np.testing.assert_allclose(angles(device), rest, atol=1e-4)  # [rad]; a tick of the speed is 4e-7 in a cycle


@pytest.mark.slow
@pytest.mark.parametrize("is_killed", [True, False])
def test_an_arm_whose_node_has_gone_is_braked(ros, device, is_killed):
    process = hardware_process(ros, **PA10_7C_PATIENT, url=device.url, pa10__model="none", autostart="active")
    states(ros).newest(lambda state: state["phase"] == "active")
    Commander(ros).ready().until(lambda: angles(device)[0] > 0.05, velocity=TURN)
    if is_killed:
        process.kill()
    else:
        assert process.stop() == 0, process.output
    ros.wait(lambda: set(device.state()["ways"]) == {"braked"}, what="the brakes")


def test_stops_and_faults_bring_a_moving_arm_to_rest_until_a_reset(ros, device):
    reports, measured = ros.collect(DiagnosticArray, "/diagnostics"), ros.collect(JointState, "joint_states")
    node = arm(ros, device, pa10__safety__max_missed=60)
    sender = Commander(ros).ready()
    sender.until(lambda: angles(device)[0] > 0.2, velocity=TURN)
    speeds = [message.velocity[0] for message in measured[-20:]]  # some of a busy machine's cycles are late
    assert abs(np.median(speeds) - 0.3) < 0.01
    # the service
    assert call(ros, "stop").success
    ros.wait(lambda: set(device.state()["ways"]) == {"braked"}, what="the brakes")
    ros.wait(lambda: node.phase == "inactive", what="the node to follow")
    rest, refused = angles(device), node.connection.robots["pa10"].commands.refused
    sender.until(lambda: refused["not active"] > 20, velocity=[0.5] * 7)
    np.testing.assert_array_equal(angles(device), rest)
    measured.newest(lambda one: np.abs(np.array(one.position) - rest).max() < 1e-5)  # a count: 8e-6
    # the emergency stop
    activate(ros)
    sender.until(lambda: angles(device)[0] > rest[0] + 0.02, velocity=TURN)
    device.fault("emergency_stop", 1.0)
    ros.wait(lambda: node.phase == "inactive", what="the node to follow")
    ros.wait(lambda: "emergency stop" in diagnosed(reports, "pa10").get("message", "").lower(), what="the report")
    assert diagnosed(reports, "pa10")["level"] == 2
    assert not transition(ros, "activate") and not call(ros, "reset").success, "it is still pressed"
    device.fault("emergency_stop", 0.0)
    activate(ros)
    # a lost device
    device.fault("mute", 1.0)
    ros.wait(lambda: node.phase != "active", what="the node to see it")
    ros.wait(lambda: diagnosed(reports, "pa10").get("phase") in ("stopped", "closed"), what="the report")
    device.fault("mute", 0.0)
    if node.phase == "inactive":
        activate(ros)
