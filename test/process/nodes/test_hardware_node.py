# SPDX-License-Identifier: Apache-2.0
"""The hardware node on real DDS with scripted robots: its life cycle, stops and resets."""

import contextlib

import pytest

pytest.importorskip("rclpy")

from diagnostic_msgs.msg import DiagnosticArray
from hardware_world import ONE, TWO, ask, call, diagnosed, hardware, life, set_parameter, states, transition
from std_srvs.srv import Trigger

from ada_robot.errors import DeviceAlarm, NoAnswer, TransportError
from ada_robot.safety.phases import Phase

pytestmark = pytest.mark.ros


@pytest.mark.smoke
def test_robots_follow_the_life_cycle_of_the_node(ros, fleet):
    node = hardware(ros, fleet, **ONE, autostart="unconfigured")
    assert life(ros) == "unconfigured" and not fleet.made
    for name in ("activate", "deactivate", "cleanup", "active_shutdown"):
        assert not transition(ros, name), "not allowed here"
    assert life(ros) == "unconfigured" and node.failure is None and not fleet.made
    assert transition(ros, "configure") and life(ros) == "inactive" and not transition(ros, "configure")
    robot = fleet.robot
    assert robot.phase is Phase.INACTIVE and robot.settings.url == "udp://127.0.0.1:9" and robot.place == "process"
    assert transition(ros, "activate") and robot.phase is Phase.ACTIVE
    assert not transition(ros, "cleanup"), "a robot that moves is not closed"
    assert life(ros) == "active" and robot.phase is Phase.ACTIVE
    assert transition(ros, "deactivate") and robot.phase is Phase.INACTIVE
    assert transition(ros, "activate") and transition(ros, "deactivate")
    assert transition(ros, "cleanup") and robot.phase is Phase.CLOSED and node.connection is None
    assert transition(ros, "configure") and fleet.robot is not robot
    assert transition(ros, "inactive_shutdown") and fleet.robot.phase is Phase.CLOSED and life(ros) == "finalized"


@pytest.mark.parametrize(("wanted", "phase"), [("inactive", Phase.INACTIVE), ("active", Phase.ACTIVE)])
def test_autostart_reaches_its_state_and_the_end_of_the_node_closes_robot_and_participant(ros, fleet, wanted, phase):
    node = hardware(ros, fleet, **ONE, autostart=wanted, until=wanted)
    assert fleet.robot.phase is phase and life(ros) == wanted and node.problem is None
    ros.remove(node)
    assert fleet.robot.phase is Phase.CLOSED and not node.loop.is_running
    ros.wait(lambda: not ros.tester.count_publishers("hardware_node/transition_event"), what="its last publisher gone")


def test_a_device_that_cannot_be_opened_ends_an_autostarted_node_and_else_leaves_it_unconfigured(ros, fleet):
    fleet.answers["open"] = TransportError("no such port; there are /dev/ttyUSB1.")
    node = hardware(ros, fleet, **ONE)
    problem = ros.wait(lambda: node.failure, what="the failure")
    assert str(problem) == "pa10: no such port; there are /dev/ttyUSB1."
    ros.remove(node)
    fleet.answers["open"] = NoAnswer("nobody answers.")
    node = hardware(ros, fleet, **ONE, autostart="unconfigured")
    reports = ros.collect(DiagnosticArray, "/diagnostics")
    assert not transition(ros, "configure")
    assert life(ros) == "unconfigured" and node.failure is None and node.connection is None
    ros.wait(lambda: "pa10: nobody answers." in diagnosed(reports, "node").get("message", ""), what="the report")
    fleet.answers.clear()
    assert transition(ros, "configure") and node.problem is None


def test_robots_start_together_or_not_at_all(ros, fleet):
    node = hardware(ros, fleet, **TWO, until="inactive")
    left, right = fleet.made
    right.answers["activate"] = DeviceAlarm("it is hot.")
    assert not transition(ros, "activate") and life(ros) == "inactive"
    assert str(node.problem) == "right: it is hot."
    assert left.phase is Phase.INACTIVE and "activate" in left.calls, "the other one was deactivated again"
    left.answers["activate"], right.answers["activate"] = DeviceAlarm("it is cold."), DeviceAlarm("it is hot.")
    right.phase = Phase.INACTIVE
    assert not transition(ros, "activate")
    assert str(node.problem) == "left: it is cold. right: it is hot."
    right.phase = Phase.INACTIVE
    assert "activate the node first" in call(ros, "arm").message
    assert transition(ros, "activate") and call(ros, "arm").success
    assert all("arm" in robot.calls for robot in fleet.made)
    left.fall(Phase.STOPPED, "its link is lost")
    ros.wait(lambda: node.phase == "inactive", what="the node to follow")
    assert right.phase is Phase.INACTIVE and left.phase is Phase.STOPPED, "one that stops brings all to rest"


def test_the_node_follows_a_robot_that_leaves_its_phase_and_reports_the_reason(ros, fleet):
    reports, told = ros.collect(DiagnosticArray, "/diagnostics"), states(ros)
    node = hardware(ros, fleet, **ONE, until="active")
    for phase, why, level in (
        (Phase.INACTIVE, "deactivated: no command for 0.5 s", 0),
        (Phase.STOPPED, "alarm: motor-side resolver (0xc0)", 2),
    ):
        fleet.robot.fall(phase, why)
        ros.wait(lambda: node.phase == "inactive", what="the node to follow")
        device = told.newest(lambda state: state["phase"] == "inactive")["devices"]["pa10"]
        assert (device["phase"], device["reason"]) == (phase.value, why)
        ros.wait(lambda why=why: diagnosed(reports, "pa10").get("reason") == why, what="the report")
        assert diagnosed(reports, "pa10")["level"] == level
        assert node.failure is None and call(ros, "stop").success and call(ros, "reset").success
        assert transition(ros, "activate")
    fleet.robot.fall(Phase.CLOSED, "its cycle's process has died")
    ros.wait(lambda: node.phase == "unconfigured", what="the node to follow")
    assert transition(ros, "configure") and transition(ros, "activate")


def test_a_stop_is_answered_in_every_state_and_nothing_moves_until_a_reset(ros, fleet):
    node = hardware(ros, fleet, **ONE, autostart="unconfigured")
    assert call(ros, "stop").success
    assert transition(ros, "configure"), "reading is no motion"
    assert not transition(ros, "activate") and node.devices.latched
    assert call(ros, "reset").success
    robot = fleet.robot
    assert call(ros, "stop").success and robot.phase is Phase.STOPPED
    assert not transition(ros, "activate")
    robot.answers["reset"] = DeviceAlarm("the emergency stop is pressed; release it.")
    answer = call(ros, "reset")
    assert not answer.success and "release it" in answer.message
    assert node.devices.latched and robot.phase is Phase.STOPPED, "an alarm that stays keeps the stop"
    assert call(ros, "reset").success and robot.phase is Phase.INACTIVE
    assert transition(ros, "activate")
    resets = robot.calls.count("reset")
    assert not call(ros, "reset").success and robot.calls.count("reset") == resets, "not while it is driven"
    assert call(ros, "stop").success
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
    running = ask(ros, {"open": "configure", "close": "cleanup"}.get(busy, busy))
    ros.wait(lambda: fleet.made and busy in fleet.robot.calls, what="the transition to be under way")
    client = ros.tester.create_client(Trigger, "hardware_node/stop")
    ros.wait(client.service_is_ready, what="the service")
    answer = client.call_async(Trigger.Request())
    ros.wait(answer.done, what="the answer, with the executor of the node busy")
    assert answer.result().success
    door.set()
    ros.wait(running.done, what="the end of the transition")
    assert fleet.robot.phase in (Phase.STOPPED, Phase.CLOSED, Phase.INACTIVE)
    assert node.devices.latched and node.phase != "active"


@pytest.mark.parametrize("busy", ["activate", ""])
def test_a_node_that_ends_brings_its_robot_to_rest_while_its_executor_is_busy(ros, beside, fleet, busy):
    phase = "inactive" if busy else "active"
    node = hardware(beside, fleet, **ONE, autostart=phase, until=phase)
    if busy:
        fleet.shut(busy)
        ask(ros, busy)
        ros.wait(lambda: busy in fleet.robot.calls, what="the start to be under way")
    with beside.paused() if not busy else contextlib.nullcontext():
        node.halt()
        assert fleet.robot.calls[-1] == ("stop" if busy else "deactivate")
        assert not fleet.robot.phase.is_driven
    assert node.devices.latched


def test_a_robot_that_does_not_answer_a_stop_is_named_and_the_others_are_stopped(ros, fleet):
    hardware(ros, fleet, **TWO, until="active")
    left, right = fleet.made
    left.answers["stop"] = NoAnswer("it was left to its own watchdog.")
    answer = call(ros, "stop")
    assert not answer.success and answer.message == "left: it was left to its own watchdog."
    assert right.phase is Phase.STOPPED


def test_the_tool_speed_of_an_open_robot_can_be_lowered_only(ros, fleet):
    hardware(ros, fleet, **ONE, until="active")
    assert set_parameter(ros, "pa10.safety.tool_speed", 0.1).successful
    for name, value in (("tool_speed", 0.2), ("operating_mode", "automatic")):
        assert not set_parameter(ros, f"pa10.safety.{name}", value).successful
    assert [one for one in fleet.robot.calls if one.startswith("lower")] == ["lower_tool_speed 0.1"]
