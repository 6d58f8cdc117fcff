# SPDX-License-Identifier: Apache-2.0
"""The hardware node on real DDS with an emulated arm on a real wire: controllers move it, and faults are told."""

import contextlib
import sys

import numpy as np
import pytest

pytest.importorskip("rclpy")

from controller_world import controller
from diagnostic_msgs.msg import DiagnosticArray
from hardware_world import Commander, call, diagnosed, hardware, life, states, transition
from sensor_msgs.msg import JointState

from ada_hardware.emulation.process import EmulatorProcess
from ada_robot.ros import qos

pytestmark = pytest.mark.ros
NAMES = ["s1", "s2", "s3", "e1", "e2", "w1", "w2"]
START = (0.0, 0.6, 0.0, 1.5, 0.0, 1.04, 0.0)
# The old PA-10-7C forgives 0.4 s of silence, a PA10-7CE 10 ms, which a machine busy with other tests does not keep, and
# answers may take longer than its 2 ms. That all is kept where it can be, and what happens otherwise, is shown in
# test/hardware and benchmarks/hardware.
ARM = {
    "device": "pa10",
    "pa10__driver__variant": "7c",
    "pa10__driver__device_timeout": 0.4,
    "pa10__driver__period": 0.006,
    "pa10__driver__reply_timeout": 0.0055,
    "pa10__driver__command_timeout": 0.1,
    "pa10__driver__start_timeout": 10.0,
}
# Likewise commands of a controller; only some tests are about those that do not come. And the arm goes on at its speed
# while the cycle stands still.
PATIENT = {
    "pa10__safety__command_timeout": 2.0,
    "pa10__safety__host_timeout": 20.0,
    "pa10__safety__max_missed": 1000,
    "pa10__safety__max_following_error": 1.0,
}
ATTEMPTS = 3


@pytest.fixture(autouse=True)
def flights(tmp_path, monkeypatch):
    """Flight records go where the test's other files are."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@contextlib.contextmanager
def emulated():
    # Speeds change with each cycle of 6 ms, and on a busy machine packets may arrive 2 ms apart: the judge, who counts
    # by arrivals, then sees up to three times the 63 rad/s^2 of the fastest axes.
    judged = {"variant": "7c", "start": list(START), "max_acceleration": 200.0, "watchdog": 60.0}
    with EmulatorProcess("pa10", judged) as device:
        yield device


@pytest.fixture
def device():
    with emulated() as device:
        yield device


def angles(device):
    return np.array(device.state()["position"])


def arm(ros, device, until="active", **parameters):
    """A node that drives the emulated arm; on a busy machine this may answer late, and is asked again."""
    node = hardware(ros, **{**ARM, **PATIENT, "url": device.url, "autostart": "unconfigured", **parameters})
    ros.wait(lambda: transition(ros, "configure"), what="the arm to be found")
    if until == "active":
        activate(ros)
    return node


def activate(ros):
    ros.wait(lambda: call(ros, "reset").success and transition(ros, "activate"), what="the arm to start")


def commanded(ros, device, name, **parameters):
    """An arm, active, under a controller."""
    driving = arm(ros, device, until="inactive")
    node = controller(ros, robot="pa10_7c", controller=name, wait=True, **parameters)
    activate(ros)
    return driving, node


# --- motion -----------------------------------------------------------------------------------------------------------
def test_a_joint_trajectory_moves_the_arm_over_its_protocol(ros, device):
    """Yamada sec. 4.1, as Y1: a synchronised motion of all joints."""
    driving, node = commanded(ros, device, "joint_trajectory", joint_trajectory__speed_scale=0.8)
    goal = np.radians([40.0, 45.0, -30.0, 60.0, 30.0, -45.0, 60.0])
    references = ros.matched(ros.publisher(JointState, "controller_node/joint_reference", qos.COMMANDS))
    references.publish(JointState(name=NAMES, position=goal.tolist()))
    ros.wait(lambda: np.abs(angles(device) - goal).max() < 1e-3, what="the arm at its goal")
    assert driving.phase == "active" and node.phase == "active"
    assert not device.violations()


def is_held_by_efforts(ros):
    """Whether an arm stays where it is; not where a machine that stood still lets it fall, and the node catches it."""
    # Gains per unit of inertia are bandwidths: 10/s bears efforts that a busy machine brings up to 0.1 s late.
    gains = {"computed_torque__stiffness": [25.0], "computed_torque__damping": [10.0]}
    told = ros.collect(JointState, "hardware_node/commanded")
    with emulated() as device:
        driving, node = commanded(ros, device, "computed_torque", **gains)
        before, count = angles(device), len(told)
        ros.wait(lambda: len(told) > count + 200 or driving.phase != "active", what="some time")
        is_active, fallen = driving.phase == "active", np.abs(angles(device) - before).max()
        if is_active:
            assert abs(told[-1].effort[1]) > 5.0, "its weight"
            assert not device.violations()
        for one in (node, driving):
            ros.remove(one)
    # The brakes are off a little before the first efforts come; and where the wrist is light, such gains make less
    # effort of 2 degrees than one step of the protocol.
    return is_active and fallen < 0.05


def test_efforts_of_a_controller_hold_the_arm_against_its_weight(ros):
    assert any(is_held_by_efforts(ros) for _ in range(ATTEMPTS))


# --- watchdogs --------------------------------------------------------------------------------------------------------
def test_a_commander_that_falls_silent_leaves_the_arm_at_rest_and_the_node_inactive(ros, device):
    reports = ros.collect(DiagnosticArray, "/diagnostics")
    node = arm(ros, device, pa10__safety__command_timeout=0.3, pa10__safety__host_timeout=1.5)
    sender = Commander(ros).ready()
    sender.until(lambda: angles(device)[0] > 0.05, velocity=[0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    ros.wait(lambda: node.phase == "inactive", what="the node to see that nobody commands")
    assert life(ros) == "inactive"
    report = ros.wait(lambda: diagnosed(reports, "pa10").get("phase") == "inactive" and diagnosed(reports, "pa10"))
    assert report["because"] == "no command was accepted for 1.5 s"
    rest = angles(device)
    assert 0.05 < rest[0] < 0.05 + 0.3 * 10.0
    assert not device.violations()
    activate(ros)


@pytest.mark.slow
@pytest.mark.parametrize("end", ["killed", "told to end"])
def test_a_node_that_is_gone_leaves_the_arm_braked(ros, device, end):
    parameters = {
        **ARM,
        **PATIENT,
        "url": device.url,
        "pa10__model": "none",
        "autostart": "active",
    }
    words = [word for name, value in parameters.items() for word in ("-p", f"{name.replace('__', '.')}:={value}")]
    process = ros.start(sys.executable, "-m", "ada_hardware.node.hardware_node", "--ros-args", *words)
    told = states(ros)
    ros.wait(lambda: told and told[-1]["phase"] == "active", what="an active node")
    sender = Commander(ros).ready()
    sender.until(lambda: angles(device)[0] > 0.05, velocity=[0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    if end == "killed":
        process.kill()
    else:
        assert process.stop() == 0, process.output
    ros.wait(lambda: set(device.state()["ways"]) == {"braked"}, what="the brakes")
    assert not device.violations()


# --- faults -----------------------------------------------------------------------------------------------------------
def test_an_emergency_stop_is_told_and_only_a_reset_by_hand_leads_on(ros, device):
    reports = ros.collect(DiagnosticArray, "/diagnostics")
    node = arm(ros, device)
    sender = Commander(ros).ready()
    sender.until(lambda: angles(device)[0] > 0.02, velocity=[0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    device.fault("emergency_stop", 1.0)
    ros.wait(lambda: node.phase == "inactive", what="the node to follow")
    report = ros.wait(lambda: diagnosed(reports, "pa10").get("level") == 2 and diagnosed(reports, "pa10"))
    assert report["phase"] == "stopped" and "emergency stop" in report["message"].lower()
    assert not transition(ros, "activate")
    answer = call(ros, "reset")
    assert not answer.success and "emergency stop" in answer.message.lower()
    device.fault("emergency_stop", 0.0)
    activate(ros)
    moved = angles(device)[0]
    sender.until(lambda: angles(device)[0] > moved + 0.02, velocity=[0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert not device.violations()


def test_a_stop_brings_a_moving_arm_to_rest_and_one_that_vanishes_is_told_and_found_again(ros, device):
    reports = ros.collect(DiagnosticArray, "/diagnostics")
    found = ros.collect(JointState, "joint_states")
    node = arm(ros, device, pa10__safety__max_missed=60)
    sender = Commander(ros).ready()
    sender.until(lambda: angles(device)[0] > 0.2, velocity=[0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    speeds = [message.velocity[0] for message in list(found)[-20:]]  # some of a busy machine's cycles are late
    assert abs(np.median(speeds) - 0.3) < 0.01
    assert call(ros, "stop").success
    ros.wait(lambda: set(device.state()["ways"]) == {"braked"}, what="the brakes")
    ros.wait(lambda: node.phase == "inactive", what="the node to follow")
    rest = angles(device)
    sender.until(lambda: node.connection.robots["pa10"].commands.refused["not active"] > 20, velocity=[0.5] * 7)
    np.testing.assert_array_equal(angles(device), rest)
    ros.wait(lambda: np.abs(np.array(found[-1].position) - rest).max() < 1e-5, what="the last reading")  # a count: 8e-6
    activate(ros)
    device.fault("mute", 1.0)
    ros.wait(lambda: node.phase != "active", what="the node to see it")
    report = ros.wait(lambda: diagnosed(reports, "pa10").get("level", 0) >= 2 and diagnosed(reports, "pa10"))
    assert report["phase"] in ("stopped", "closed")
    device.fault("mute", 0.0)
    if node.phase == "inactive":
        activate(ros)
    assert not device.violations()


def test_it_begins_anew_as_often_as_it_is_told_to_and_never_jumps(ros, device):
    node = arm(ros, device, until="inactive")
    start = angles(device)
    for _ in range(2):
        activate(ros)
        assert transition(ros, "deactivate"), node.problem
        assert transition(ros, "cleanup"), node.problem
        ros.wait(lambda: transition(ros, "configure"), what="the arm to be found again")
    np.testing.assert_allclose(angles(device), start, atol=1e-4)  # [rad]; a tick of the speed is 4e-7 in a cycle
    assert not device.violations()
