# SPDX-License-Identifier: Apache-2.0
"""The self-test on a busy machine: what makes it late is told apart from what makes the device late."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hw_command import started
from waiting import until

from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.pa10.driver import Pa10Driver
from ada_hardware.pa10.settings import Pa10Settings
from ada_hardware.robot import Robot
from ada_hardware.self_test.checks import Check, Checks, Verdict
from ada_hardware.self_test.motion_checks import MotionChecks
from ada_robot.safety.joint_rules import JointRules
from ada_robot.safety.settings import SafetySettings

DEVICES = ["pa10", "khr1", "khr3", "hexa", "dynpick", "netft", "onrobot", "ft300"]


@contextmanager
def load(count: int) -> Iterator[None]:
    busy = [subprocess.Popen([sys.executable, "-c", "while True: sum(range(1000))"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


@pytest.mark.soak
@pytest.mark.parametrize("device", DEVICES)
def test_an_emulated_device_passes_its_test_on_a_machine_with_twenty_busy_programs(device: str) -> None:
    with load(20):
        process = started("test", device, "--emulator")
        out, err = process.communicate(timeout=300.0)
    assert process.returncode == 0, out + err


TRIES = 10  # on a machine that is busy with other tests
SAFETY = SafetySettings(
    velocity_scale=0.25,
    record_seconds=0.0,
    max_missed=60,
    command_timeout=1.0,
    host_timeout=5.0,
    max_following_error=1.0,
    longest_gap=1.0,
)


class Enough(Exception):
    """What the test is about has been seen."""


@pytest.fixture
def device() -> Iterator[EmulatorProcess]:
    """An emulated arm that forgives what a busy machine does."""
    with EmulatorProcess("pa10", {"variant": "7c", "max_acceleration": 200.0}) as one:
        yield one


@pytest.fixture
def robot(device: EmulatorProcess) -> Iterator[Robot]:
    settings = Pa10Settings(
        url=device.url, variant="7c", device_timeout=0.4, period=0.006, reply_timeout=0.0055, start_timeout=10.0
    )
    with Robot("pa10", settings, SAFETY) as robot:
        yield robot


def freeze_in_motion(robot: Robot, device: EmulatorProcess) -> None:
    """Freeze the cycle of a moving robot until the arm's watchdog has braked it."""
    start = device.state()["position"][0]
    until(lambda: abs(device.state()["position"][0] - start) > 0.001, "the motion")
    os.kill(robot.cycle_pid, signal.SIGSTOP)
    until(lambda: set(device.state()["ways"]) == {"braked"}, "the arm's watchdog")
    os.kill(robot.cycle_pid, signal.SIGCONT)


@pytest.mark.slow
def test_a_motion_that_a_standstill_has_spoilt_is_tried_again(robot: Robot, device: EmulatorProcess) -> None:
    standstill = threading.Thread(target=freeze_in_motion, args=(robot, device))

    def tell(check: Check) -> None:
        if check.name == "activation":
            standstill.start()
        elif check.name == "motion of s1":
            raise Enough

    checks = Checks(tell)
    rules = JointRules(Pa10Driver(Pa10Settings(variant="7c")).limits, SAFETY)
    with pytest.raises(Enough):
        MotionChecks(robot, checks, rules, SAFETY, ("s1",), TRIES).run()
    standstill.join()
    motion = checks.done[-1]
    assert motion.verdict is Verdict.OK, motion.text
    assert re.search(r"\(try \d+; previous: the robot is stopped", motion.text), motion.text
