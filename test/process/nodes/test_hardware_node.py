# SPDX-License-Identifier: Apache-2.0
"""The hardware node on real DDS, with robots that do what the test says: its life, stops and resets."""

import contextlib

import pytest

pytest.importorskip("rclpy")

from diagnostic_msgs.msg import DiagnosticArray
from hardware_world import (
    ONE,
    TWO,
    ScriptedRobot,
    ask,
    call,
    diagnosed,
    hardware,
    life,
    set_parameter,
    states,
    transition,
)

from ada_hardware.node import hardware_node
from ada_robot.errors import DeviceAlarm, NoAnswer, TransportError
from ada_robot.safety.phases import Phase

pytestmark = pytest.mark.ros


# --- life -------------------------------------------------------------------------------------------------------------
@pytest.mark.smoke
def test_the_node_lives_as_a_lifecycle_node_and_robots_with_it(ros, fleet):
    node = hardware(ros, fleet, **ONE, autostart="unconfigured")
    assert life(ros) == "unconfigured" and not fleet.made
    for name in ("activate", "deactivate", "cleanup", "active_shutdown"):
        assert not transition(ros, name), "not allowed here"
    assert life(ros) == "unconfigured" and node.failure is None and not fleet.made
    assert transition(ros, "configure") and life(ros) == "inactive" and not transition(ros, "configure")
    robot = fleet.robot
    assert robot.phase is Phase.INACTIVE and robot.settings.url == "udp://127.0.0.1:9" and robot.place == "process"
    assert transition(ros, "activate") and robot.phase is Phase.ACTIVE
    assert not transition(ros, "cleanup"), "a robot that moves is not let go of"
    assert life(ros) == "active" and robot.phase is Phase.ACTIVE
    assert transition(ros, "deactivate") and robot.phase is Phase.INACTIVE
    assert transition(ros, "activate") and transition(ros, "deactivate")
    assert transition(ros, "cleanup") and robot.phase is Phase.CLOSED and node.connection is None
    assert transition(ros, "configure") and fleet.robot is not robot
    assert transition(ros, "inactive_shutdown") and fleet.robot.phase is Phase.CLOSED and life(ros) == "finalized"


@pytest.mark.parametrize(("wanted", "phase"), [("inactive", Phase.INACTIVE), ("active", Phase.ACTIVE)])
def test_the_node_goes_as_far_by_itself_as_it_is_told_to_and_its_end_brings_the_robot_to_rest(
    ros, fleet, wanted, phase
):
    node = hardware(ros, fleet, **ONE, autostart=wanted, until=wanted)
    assert fleet.robot.phase is phase and life(ros) == wanted and node.problem is None
    ros.remove(node)
    assert fleet.robot.phase is Phase.CLOSED and not node.loop.is_running


def test_a_device_that_cannot_be_opened_ends_a_node_that_was_to_start_by_itself(ros, fleet):
    fleet.answers["open"] = TransportError("no such port; there are /dev/ttyUSB1.")
    node = hardware(ros, fleet, **ONE)
    problem = ros.wait(lambda: node.failure, what="the failure")
    assert str(problem) == "pa10: no such port; there are /dev/ttyUSB1."


def test_a_device_that_cannot_be_opened_leaves_the_node_unconfigured_until_it_can(ros, fleet):
    fleet.answers["open"] = NoAnswer("nobody answers.")
    node = hardware(ros, fleet, **ONE, autostart="unconfigured")
    reports = ros.collect(DiagnosticArray, "/diagnostics")
    assert not transition(ros, "configure")
    assert life(ros) == "unconfigured" and node.failure is None and node.connection is None
    ros.wait(lambda: "pa10: nobody answers." in diagnosed(reports, "node").get("message", ""), what="the report")
    fleet.answers.clear()
    assert transition(ros, "configure") and node.problem is None


def test_a_robot_that_does_not_start_leaves_the_node_inactive_with_the_reason(ros, fleet):
    fleet.answers["activate"] = DeviceAlarm("motor power is off; switch it on.")
    node = hardware(ros, fleet, **ONE, until="inactive")
    assert not transition(ros, "activate") and life(ros) == "inactive"
    assert str(node.problem) == "pa10: motor power is off; switch it on."
    assert transition(ros, "activate"), "the scripted robot fails once"


def test_robots_start_together_and_none_alone(ros, fleet):
    node = hardware(ros, fleet, **TWO, until="inactive")
    left, right = fleet.made
    right.answers["activate"] = DeviceAlarm("it is hot.")
    assert not transition(ros, "activate")
    assert str(node.problem) == "right: it is hot."
    assert left.phase is Phase.INACTIVE and "activate" in left.calls, "the other one was brought to rest again"
    left.answers["activate"] = DeviceAlarm("it is cold.")
    right.answers["activate"] = DeviceAlarm("it is hot.")
    right.phase = Phase.INACTIVE
    assert not transition(ros, "activate")
    assert str(node.problem) == "left: it is cold. right: it is hot."


# --- robots that leave their phase by themselves ----------------------------------------------------------------------
def test_a_robot_that_leaves_its_phase_takes_the_node_along_and_says_why(ros, fleet):
    reports = ros.collect(DiagnosticArray, "/diagnostics")
    told = states(ros)
    node = hardware(ros, fleet, **ONE, until="active")
    for phase, why, level in (
        (Phase.INACTIVE, "deactivated: no command for 0.5 s", 0),
        (Phase.STOPPED, "alarm: motor-side resolver (0xc0)", 2),
    ):
        fleet.robot.fall(phase, why)
        ros.wait(lambda: node.phase == "inactive", what="the node to follow")
        assert life(ros) == "inactive"
        ros.wait(lambda: told[-1]["phase"] == "inactive", what="the state")
        assert told[-1]["devices"]["pa10"]["phase"] == phase.value
        assert told[-1]["devices"]["pa10"]["reason"] == why
        report = ros.wait(lambda why=why: why in diagnosed(reports, "pa10").get("message", "") and reports)
        report = diagnosed(report, "pa10")
        assert report["level"] == level and report["because"] == why
        assert node.failure is None and call(ros, "stop").success and call(ros, "reset").success
        assert transition(ros, "activate")
    fleet.robot.fall(Phase.CLOSED, "its cycle's process has died")
    ros.wait(lambda: node.phase == "unconfigured", what="the node to follow")
    assert life(ros) == "unconfigured"
    assert transition(ros, "configure") and transition(ros, "activate")


def test_one_robot_that_falls_brings_all_to_rest(ros, fleet):
    node = hardware(ros, fleet, **TWO, until="active")
    left, right = fleet.made
    left.fall(Phase.STOPPED, "its link is lost")
    ros.wait(lambda: node.phase == "inactive", what="the node to follow")
    assert right.phase is Phase.INACTIVE and left.phase is Phase.STOPPED


# --- stop and reset ---------------------------------------------------------------------------------------------------
def test_a_stop_is_answered_in_every_state_and_nothing_moves_until_a_reset(ros, fleet):
    node = hardware(ros, fleet, **ONE, autostart="unconfigured")
    answer = call(ros, "stop")
    assert answer.success and answer.message == "nothing was driven; nothing moves until ~/reset."
    assert transition(ros, "configure"), "reading is no motion"
    assert not transition(ros, "activate")
    assert "stopped: the service ~/stop was called. Reset it first" in str(node.problem)
    assert call(ros, "reset").success
    robot = fleet.robot
    assert call(ros, "stop").success and robot.phase is Phase.STOPPED
    assert not transition(ros, "activate")
    robot.answers["reset"] = DeviceAlarm("the emergency stop is pressed; release it.")
    answer = call(ros, "reset")
    assert not answer.success and "release it" in answer.message
    assert node.devices.latched and robot.phase is Phase.STOPPED, "an alarm that stays keeps the stop"
    assert call(ros, "reset").message == "pa10: alarms and stops are cleared; nothing moves."
    assert robot.phase is Phase.INACTIVE
    assert transition(ros, "activate")
    resets = robot.calls.count("reset")
    answer = call(ros, "reset")
    assert not answer.success and "deactivate the node, or stop it" in answer.message
    assert robot.calls.count("reset") == resets, "not while it is driven"
    answer = call(ros, "stop")
    assert answer.success and answer.message == "pa10: coming to rest; nothing moves until ~/reset."
    assert robot.phase is Phase.STOPPED and robot.reason == "the service ~/stop was called"
    ros.wait(lambda: node.phase == "inactive", what="the node to follow")
    assert not transition(ros, "activate")
    assert transition(ros, "cleanup") and transition(ros, "configure")
    assert not transition(ros, "activate"), "a stop outlives the connection"
    assert call(ros, "reset").success and transition(ros, "activate")


@pytest.mark.parametrize("busy", ["open", "activate", "deactivate", "close"])
def test_a_stop_is_answered_while_a_transition_runs(ros, beside, fleet, busy):
    before = {"open": "unconfigured", "activate": "inactive", "deactivate": "active", "close": "inactive"}[busy]
    node = hardware(beside, fleet, **ONE, autostart=before, until=before)
    door = fleet.shut(busy)
    name = {"open": "configure", "close": "cleanup"}.get(busy, busy)
    client = ros.tester.create_client(hardware_node.Trigger, "hardware_node/stop")
    ros.wait(client.service_is_ready, what="the service")
    running = ask(ros, name)
    ros.wait(lambda: fleet.made and busy in fleet.robot.calls, what=f"{name} to be under way")
    answer = client.call_async(hardware_node.Trigger.Request())
    ros.wait(answer.done, what="the answer, with the executor of the node busy")
    assert answer.result().success
    door.set()
    ros.wait(running.done, what="the end of the transition")
    assert fleet.robot.phase in (Phase.STOPPED, Phase.CLOSED, Phase.INACTIVE)
    assert node.devices.latched == "the service ~/stop was called"
    assert node.phase != "active"


@pytest.mark.parametrize("busy", ["activate", ""])
def test_a_node_that_ends_brings_its_robot_to_rest_while_its_executor_is_busy(ros, beside, fleet, busy):
    node = hardware(
        beside, fleet, **ONE, autostart="inactive" if busy else "active", until="inactive" if busy else "active"
    )
    if busy:
        fleet.shut(busy)
        ask(ros, busy)
        ros.wait(lambda: busy in fleet.robot.calls, what="the start to be under way")
    with beside.paused() if not busy else contextlib.nullcontext():
        node.halt()
        assert fleet.robot.calls[-1] == ("stop" if busy else "deactivate")
        assert not fleet.robot.phase.is_driven
    assert "the node ends" in node.devices.latched


def test_robots_that_do_not_answer_a_stop_are_named_and_the_others_are_stopped(ros, fleet):
    hardware(ros, fleet, **TWO, until="active")
    left, right = fleet.made
    left.answers["stop"] = NoAnswer("it was left to its own watchdog.")
    answer = call(ros, "stop")
    assert not answer.success and answer.message == "left: it was left to its own watchdog."
    assert right.phase is Phase.STOPPED


def test_the_tool_of_an_open_robot_is_slowed_by_a_parameter_and_never_made_faster(ros, fleet, monkeypatch):
    lowered = []
    monkeypatch.setattr(ScriptedRobot, "lower_tool_speed", lambda self, speed: lowered.append(speed), raising=False)
    hardware(ros, fleet, **ONE, until="active")
    assert set_parameter(ros, "pa10.safety.tool_speed", 0.1).successful and lowered == [0.1]
    refused = set_parameter(ros, "pa10.safety.tool_speed", 0.2)
    assert not refused.successful and "lowered only" in refused.reason
    refused = set_parameter(ros, "pa10.safety.operating_mode", "automatic")
    assert not refused.successful and "clean the node up first" in refused.reason
    assert lowered == [0.1]


def test_all_robots_are_armed_by_a_service_and_only_while_they_are_active(ros, fleet, monkeypatch):
    monkeypatch.setattr(ScriptedRobot, "arm", lambda self: self.calls.append("arm"), raising=False)
    hardware(ros, fleet, **TWO, until="inactive")
    assert "activate the node first" in call(ros, "arm").message
    assert transition(ros, "activate") and call(ros, "arm").success
    assert all("arm" in robot.calls for robot in fleet.made)
