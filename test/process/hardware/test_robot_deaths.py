# SPDX-License-Identifier: Apache-2.0
"""Cycles and programs that are killed, frozen, told to end: real processes, real signals."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from flight_records import flight_record
from processes import is_alive
from refused import refused
from robot_world import ARM, PATIENT, assert_ended_along_a_ramp, calls, moving, names, patient, speeds, violations
from waiting import LIMIT, until

from ada_hardware.robot import Robot
from ada_robot.contract import Mode
from ada_robot.errors import NoAnswer, Refused
from ada_robot.safety.flight_recorder import sibling_environment
from ada_robot.safety.phases import Phase


@pytest.fixture
def trace(tmp_path):
    return tmp_path / "trace.jsonl"


@pytest.fixture
def apart(tmp_path, trace):
    made = Robot(ARM, {"trace": str(trace), **PATIENT}, patient(tmp_path))
    yield made
    made.close()


def test_a_cycle_that_is_killed_is_seen_and_its_flight_kept(apart, tmp_path):
    moving(apart)
    os.kill(apart.cycle_pid, signal.SIGKILL)
    until(lambda: apart.phase is Phase.CLOSED, "the loss")
    until(lambda: "signal 9" in apart.reason, "the reason")
    assert not apart.feedback.is_fresh
    with refused(Refused, field="command", value="not active"):
        apart.command(Mode.VELOCITY, [0.0, 0.0, 0.0])
    with refused(Refused, field="phase", value="closed"):
        apart.activate()
    apart.stop("nothing to stop")
    (path,) = until(lambda: list((tmp_path / "flights").glob("flight_*")), "the flight record")
    apart.open(LIMIT)
    assert apart.phase is Phase.INACTIVE
    np.testing.assert_allclose(flight_record(path).numbers["/commanded", "velocity"][-1], [0.5, -0.5, 0.0])


def freeze(pid):
    os.kill(pid, signal.SIGSTOP)
    threads = lambda: Path(f"/proc/{pid}/task").glob("*/stat")  # noqa: E731
    until(lambda: all(state_of(thread) == "T" for thread in threads()), "the freeze")


def state_of(stat):
    return stat.read_text(encoding="ascii").rsplit(")", 1)[1].split()[0]


def test_a_cycle_that_is_frozen_gives_errors_in_time_and_can_be_closed(apart):
    moving(apart)
    freeze(apart.cycle_pid)
    with refused(NoAnswer, field="request", value="stop"):
        apart.stop("now", timeout=0.3)
    until(lambda: not apart.feedback.is_fresh, "the age of the feedback")
    with refused(NoAnswer, field="feedback"):
        apart.wait_feedback(0.2)
    with refused(NoAnswer, field="request", value="close"):
        apart.close(timeout=0.3)
    assert apart.phase is Phase.CLOSED
    apart.open(LIMIT)
    assert apart.phase is Phase.INACTIVE


def test_a_cycle_that_gets_sigterm_brings_the_robot_to_rest(apart, trace):
    moving(apart)
    os.kill(apart.cycle_pid, signal.SIGTERM)
    until(lambda: apart.phase is Phase.CLOSED, "the end")
    assert names(trace)[-3:] == ["stop", "idle", "close"]
    assert speeds(trace)[-1].tolist() == [0.0, 0.0, 0.0]
    assert not violations(trace)


HOST = """
from pathlib import Path
from robot_world import patient
from ada_robot.contract import Mode
from ada_hardware.robot import Robot
robot = Robot("arm_driver:ArmDriver", {{"trace": {trace!r}, "device_timeout": 0.0}}, patient(
    Path({folder!r}), host_timeout={timeout}))
robot.open(60.0)
robot.wait_feedback(60.0)
robot.activate(60.0)
count = 0
while True:
    robot.command(Mode.VELOCITY, [0.5, -0.5, 0.0])
    robot.wait_feedback(60.0)
    count += 1
    if count == 100:
        print(robot.cycle_pid, flush=True)
"""


@pytest.fixture
def host(request, trace, tmp_path):
    """A program that commands, in a process of its own."""
    timeout = getattr(request, "param", 30.0)  # patient, too, but where that is what a test is about
    program = HOST.format(trace=str(trace), folder=str(tmp_path), timeout=timeout)
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=sibling_environment())
    cycle = int(process.stdout.readline())
    yield process, cycle
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_program_that_is_killed_leaves_a_robot_at_rest_and_a_flight_record(host, trace, tmp_path):
    process, cycle = host
    os.kill(cycle, signal.SIGINT)  # Ctrl-C in the terminal of the program, or its end
    os.kill(cycle, signal.SIGHUP)
    before = len(calls(trace))
    until(lambda: len(calls(trace)) > before + 20, "further cycles")
    assert is_alive(cycle) and os.getpgid(cycle) != os.getpgid(process.pid)
    process.kill()
    until(lambda: not is_alive(cycle), "the end of the cycle's process")
    assert names(trace)[-3:] == ["stop", "idle", "close"]
    assert_ended_along_a_ramp(trace)
    assert not violations(trace)
    until(lambda: list((tmp_path / "flights").glob("flight_*")), "the flight record")


@pytest.mark.parametrize("host", [0.5], indirect=True)
def test_a_program_that_is_frozen_leaves_a_robot_at_rest(host, trace):
    process, cycle = host
    process.send_signal(signal.SIGSTOP)
    until(lambda: names(trace)[-1:] == ["idle"], "deactivation")
    assert speeds(trace)[-1].tolist() == [0.0, 0.0, 0.0]
    assert not violations(trace)
    process.send_signal(signal.SIGCONT)
    assert process.wait(LIMIT) == 1  # its next command was refused: the robot is inactive
    until(lambda: not is_alive(cycle), "the end of the cycle's process")
