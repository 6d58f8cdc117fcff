# SPDX-License-Identifier: Apache-2.0
"""The hardware node on real DDS with an emulated arm over UDP: stops, faults and watchdogs of a moving arm."""

import numpy as np
import pytest

pytest.importorskip("rclpy")

from diagnostic_msgs.msg import DiagnosticArray
from hardware_world import (
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

from ada_hardware.emulation.process import EmulatorProcess

pytestmark = pytest.mark.ros
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
