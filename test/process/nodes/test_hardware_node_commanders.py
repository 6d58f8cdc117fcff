# SPDX-License-Identifier: Apache-2.0
"""The hardware node on real DDS: two who command, old commands, and what must not end or freeze a node with a robot."""

import os
import select
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("rclpy")

from hardware_world import ONE, TWO, Commander, Rival, call, hardware, life, set_parameter, states, transition
from sensor_msgs.msg import JointState

from ada_robot.safety.phases import Phase

pytestmark = pytest.mark.ros
STILL = [0.0] * 7


# --- one commander at a time ------------------------------------------------------------------------------------------
def test_of_two_commanders_the_first_is_obeyed_and_the_second_refused_by_name(ros, fleet):
    node = hardware(ros, fleet, **ONE, until="active")
    told, robot, heard = states(ros), fleet.robot, node.connection.robots["pa10"].commands
    first, second = Commander(ros).ready(), Commander(Rival(ros)).ready()
    first.until(lambda: robot.told, velocity=[0.1] * 7)

    def both():
        first.send(velocity=[0.1] * 7)
        second.send(velocity=[-0.1] * 7)
        return heard.refused["another commander"] > 20

    ros.wait(both, what="refusals")
    assert {tuple(one.values) for one in robot.told} == {(0.1,) * 7}
    assert heard.last_refusal.startswith("/tester commands this robot, and /rival may not meanwhile")
    ros.wait(lambda: told[-1]["devices"]["pa10"]["commander"] == "/tester", what="the commander in ~/state")
    # the first is silent for host_timeout, 0.5 s
    second.until(lambda: tuple(robot.told[-1].values) == (-0.1,) * 7, velocity=[-0.1] * 7)
    assert node.connection.robots["pa10"].commander == "/rival"


def test_a_commander_that_leaves_makes_room(ros, fleet):
    hardware(ros, fleet, **ONE, pa10__safety__host_timeout=60.0, until="active")
    rival = Rival(ros)
    Commander(rival).ready().until(lambda: fleet.robot.told, velocity=[0.1] * 7)
    first = Commander(ros).ready()
    first.send(velocity=STILL)
    ros.remove(rival.tester)
    first.until(lambda: fleet.robot.told[-1].values.tolist() == STILL, velocity=STILL)


# --- ages -------------------------------------------------------------------------------------------------------------
def test_a_command_without_a_stamp_moves_a_robot_only_where_that_is_allowed(ros, fleet):
    node = hardware(ros, fleet, **ONE, until="active")
    heard, sender = node.connection.robots["pa10"].commands, Commander(ros).ready()
    sender.until(lambda: heard.refused["no stamp"] > 3, stamp=0.0, velocity=[0.1] * 7)
    assert not fleet.robot.told and "header.stamp is zero" in heard.last_refusal
    assert set_parameter(ros, "require_stamps", False).successful
    sender.until(lambda: fleet.robot.told, stamp=0.0, velocity=[0.1] * 7)


def test_a_command_moves_nothing_where_the_node_stands_still_while_it_is_fetched(ros, fleet, monkeypatch):
    node = hardware(ros, fleet, **ONE, until="active", require_stamps=False)
    topics = node.connection.robots["pa10"]
    inbox, stands_still = topics._inbox, []

    def fetch_and_stand():
        found = fetch()
        if stands_still and found:
            time.sleep(0.3)  # as a signal does it, or a busy machine
        return found

    fetch = inbox.fetch_sent
    monkeypatch.setattr(inbox, "fetch_sent", fetch_and_stand)
    sender, told = Commander(ros).ready(), fleet.robot.told
    for _ in range(3):  # a busy machine may have stood still by itself just before
        begin = time.monotonic()
        sender.until(lambda: told, stamp=0.0, velocity=[0.1] * 7)
        assert begin < told[-1].stamp < time.monotonic(), "its age counts from when it was fetched"
        stands_still.append(True)
        ros.wait(lambda: not inbox.fetch_sent(), what="an empty inbox")
        told.clear()
        topics.commands.last_refusal = ""
        sender.until(lambda: "stood still" in topics.commands.last_refusal, stamp=0.0, velocity=[0.1] * 7)
        assert not told
        stands_still.clear()


def test_what_waited_while_the_node_was_frozen_moves_nothing(ros):
    arm = {"variant": "7c", "device_timeout": 0.4, "period": 0.006, "reply_timeout": 0.0055}
    words = ["device:=pa10", "dry_run:=true", "autostart:=commanded", "require_stamps:=false", "tf_rate:=0.0"]
    words += [f"pa10.driver.{name}:={value}" for name, value in arm.items()]
    # a machine that is busy with other tests stops no arm here
    rules = {"host_timeout": 30.0, "max_missed": 1000, "longest_gap": 1.0, "max_following_error": 1.0}
    words += [f"pa10.safety.{name}:={value}" for name, value in rules.items()]
    parameters = [one for word in words for one in ("-p", word)]
    process = ros.start(sys.executable, "-m", "ada_hardware.node.hardware_node", "--ros-args", *parameters)
    sender, told, measured = Commander(ros).ready(), states(ros), ros.collect(JointState, "joint_states")

    def speed():
        return measured[-1].velocity[0] if measured else 0.0

    sender.until(lambda: speed() > 0.1, "a moving arm", stamp=0.0, velocity=[0.15, *STILL[1:]])

    def rests():
        """The last count of an angle may come after the last speed."""
        return abs(speed()) < 1e-6 and len({one.position[0] for one in measured[-50:]}) == 1

    sender.until(rests, "an arm at rest", stamp=0.0, velocity=STILL)
    before = list(measured[-1].position)

    def is_refused():
        """Freeze the node for 0.4 s; the middleware may drop all that is sent to a process that does not read."""
        process.signal(signal.SIGSTOP)
        try:
            end = time.monotonic() + 0.4
            sender.until(lambda: time.monotonic() > end, stamp=0.0, velocity=[0.15, *STILL[1:]])
        finally:
            process.signal(signal.SIGCONT)
        seen = len(measured)
        ros.wait(lambda: len(measured) > seen + 200, what="readings")
        return "stood still" in told[-1]["devices"]["pa10"]["last_refusal"]

    ros.wait(is_refused, what="the refusal of old commands")
    seen = len(measured)
    ros.wait(lambda: len(measured) > seen + 50, what="readings")
    assert max(abs(a - b) for a, b in zip(measured[-1].position, before, strict=True)) < 1e-6
    sender.until(lambda: speed() > 0.1, "an arm that moves again", stamp=0.0, velocity=[0.15, *STILL[1:]])


# --- what must not end, or freeze, a node that holds a robot ----------------------------------------------------------
def test_a_stop_is_answered_while_nobody_reads_what_the_node_logs(ros):
    """A full pipe; a terminal in which Ctrl-S was pressed is the same."""
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
        ros.wait(lambda: told and told[-1]["phase"] == "inactive", what="a node that reads its arm")
        assert call(ros, "stop").success
        ros.wait(lambda: told[-1]["stopped"], what="the stop")
        process.send_signal(signal.SIGINT)
        assert process.wait(30.0) == 0
    finally:
        process.kill()
        os.close(reading)
        os.close(writing)


def test_a_look_that_fails_ends_neither_the_node_nor_what_other_robots_get(ros, fleet):
    node = hardware(ros, fleet, **TWO, until="active")
    left, right = fleet.made
    reading, left.feedback = left.feedback, None  # nobody foresaw that
    ros.wait(lambda: node._troubles > 3, what="failures")
    Commander(ros, "right/joint_commands").ready().until(lambda: right.told, velocity=STILL)
    assert call(ros, "stop").success and left.phase is Phase.STOPPED and node.failure is None
    left.feedback = reading
    assert call(ros, "reset").success and node.loop.is_running


@pytest.mark.parametrize("what", ["open", "activate", "deactivate"])
def test_a_transition_that_fails_as_nobody_foresaw_is_refused_and_can_be_asked_for_again(ros, fleet, what):
    node = hardware(ros, fleet, **ONE, autostart="unconfigured")
    if what == "open":
        fleet.answers["open"] = ZeroDivisionError("a mistake")
        assert not transition(ros, "configure")
        fleet.answers.clear()
    assert transition(ros, "configure")
    if what == "activate":
        fleet.robot.answers["activate"] = ZeroDivisionError("a mistake")
        assert not transition(ros, "activate") and life(ros) == "inactive"
        fleet.robot.phase = Phase.INACTIVE
    assert transition(ros, "activate")
    if what == "deactivate":
        fleet.robot.answers["deactivate"] = ZeroDivisionError("a mistake")
        assert not transition(ros, "deactivate")
    assert call(ros, "stop").success and fleet.robot.phase is Phase.STOPPED
    assert node.failure is None
