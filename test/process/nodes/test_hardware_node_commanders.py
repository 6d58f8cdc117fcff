# SPDX-License-Identifier: Apache-2.0
"""The hardware node on real DDS: two commanders, a frozen process, and failures that must not end the node."""

import os
import select
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("rclpy")

from diagnostic_msgs.msg import DiagnosticArray
from hardware_world import (
    ONE,
    PA10_7C_PATIENT,
    TWO,
    Commander,
    Rival,
    call,
    diagnosed,
    hardware,
    hardware_process,
    life,
    states,
    transition,
)
from sensor_msgs.msg import JointState

from ada_robot.safety.phases import Phase

pytestmark = pytest.mark.ros
STILL, TURN = [0.0] * 7, [0.15, *[0.0] * 6]


def test_the_second_commander_is_refused_by_name_until_the_first_is_gone(ros, fleet):
    node = hardware(ros, fleet, **ONE, pa10__safety__host_timeout=60.0, until="active")
    told, robot, commands = states(ros), fleet.robot, node.connection.robots["pa10"].commands
    rival = Rival(ros)
    first, second = Commander(rival).ready(), Commander(ros).ready()
    first.until(lambda: robot.told, velocity=[0.1] * 7)

    def both():
        first.send(velocity=[0.1] * 7)
        second.send(velocity=[-0.1] * 7)
        return commands.refused["another commander"] > 20

    ros.wait(both, what="refusals")
    assert {tuple(one.values) for one in robot.told} == {(0.1,) * 7}
    assert commands.last_refusal.startswith("/rival commands this robot, so that commands of /tester are refused")
    told.newest(lambda state: state["devices"]["pa10"]["commander"] == "/rival")
    ros.remove(rival.tester)
    second.until(lambda: robot.told[-1].values.tolist() == STILL, velocity=STILL)
    assert node.connection.robots["pa10"].lease.holder_name == "/tester"


def test_commands_that_waited_while_the_node_was_frozen_move_nothing(ros):
    given = {**PA10_7C_PATIENT, "pa10__safety__command_timeout": 0.1}  # a longer gap between looks is a standstill
    process = hardware_process(ros, **given, dry_run=True, autostart="commanded", require_stamps=False)
    sender, told, measured = Commander(ros).ready(), states(ros), ros.collect(JointState, "joint_states")

    def speed():
        return measured.newest().velocity[0]

    sender.until(lambda: speed() > 0.1, "a moving arm", stamp=0.0, velocity=TURN)

    def rests():
        """The last count of an angle may come after the last speed."""
        return abs(speed()) < 1e-6 and len({one.position[0] for one in measured[-50:]}) == 1

    sender.until(rests, "an arm at rest", stamp=0.0, velocity=STILL)
    before = list(measured.newest().position)

    def is_refused():
        """Freeze the node for 0.4 s; the middleware may drop all that is sent to a process that does not read."""
        process.signal(signal.SIGSTOP)
        try:
            end = time.monotonic() + 0.4
            sender.until(lambda: time.monotonic() > end, stamp=0.0, velocity=TURN)
        finally:
            process.signal(signal.SIGCONT)
        seen = len(measured)
        ros.wait(lambda: len(measured) > seen + 200, what="readings")
        return "was halted" in told.newest()["devices"]["pa10"]["last_refusal"]

    ros.wait(is_refused, what="the refusal of old commands")
    assert measured.newest().position == pytest.approx(before, abs=1e-6)
    sender.until(lambda: speed() > 0.1, "an arm that moves again", stamp=0.0, velocity=TURN)


def test_a_stop_is_answered_while_the_pipe_of_the_nodes_log_is_full(ros):
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    while select.select([], [writing], [], 0.0)[1]:
        os.write(writing, b"." * 4096)
    os.set_blocking(writing, True)
    words = ["-p", "device:=pa10", "-p", "dry_run:=true"]
    command = [sys.executable, "-m", "ada_hardware.node.hardware_node", "--ros-args", *words]
    process = subprocess.Popen(command, env=ros.environment, stderr=writing, stdout=writing)
    try:
        told = states(ros)
        told.newest(lambda state: state["phase"] == "inactive")
        assert call(ros, "stop").success
        told.newest(lambda state: state["stopped"])
        process.send_signal(signal.SIGINT)
        assert process.wait(60.0) == 0
    finally:
        process.kill()
        os.close(reading)
        os.close(writing)


def test_an_unexpected_error_in_a_cycle_ends_neither_the_node_nor_the_commands_of_other_robots(ros, fleet):
    reports = ros.collect(DiagnosticArray, "/diagnostics")
    node = hardware(ros, fleet, **TWO, until="active")
    left, right = fleet.made
    reading, left.feedback = left.feedback, None
    ros.wait(lambda: int(diagnosed(reports, "node").get("failed iterations", 0)) > 3, what="failures")
    Commander(ros, "right/joint_commands").ready().until(lambda: right.told, velocity=STILL)
    assert call(ros, "stop").success and left.phase is Phase.STOPPED and node.failure is None
    left.feedback = reading
    assert call(ros, "reset").success and node.loop.is_running


def test_a_transition_with_an_unexpected_error_fails_and_can_be_requested_again(ros, fleet):
    node = hardware(ros, fleet, **ONE, autostart="unconfigured")
    fleet.answers["open"] = ZeroDivisionError("a mistake")
    assert not transition(ros, "configure")
    fleet.answers.clear()
    assert transition(ros, "configure")
    fleet.robot.answers["activate"] = ZeroDivisionError("a mistake")
    assert not transition(ros, "activate") and life(ros) == "inactive"
    fleet.robot.phase = Phase.INACTIVE
    assert transition(ros, "activate")
    fleet.robot.answers["deactivate"] = ZeroDivisionError("a mistake")
    assert not transition(ros, "deactivate")
    assert call(ros, "stop").success and fleet.robot.phase is Phase.STOPPED and node.failure is None
