# SPDX-License-Identifier: Apache-2.0
"""Motions of the self-test of an emulated robot, on a machine that stands still for a while."""

import os
import re
import signal
import threading
from collections.abc import Iterator

import pytest
from waiting import until

from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.pa10.driver import Pa10Driver
from ada_hardware.pa10.settings import Pa10Settings
from ada_hardware.robot import Robot
from ada_hardware.self_test.checks import Check, Checks, Verdict
from ada_hardware.self_test.motion_checks import MotionChecks
from ada_robot.safety.joint_rules import JointRules
from ada_robot.safety.settings import SafetySettings

TRIES = 10  # on a machine that is busy with other tests
SAFETY = SafetySettings(
    velocity_scale=0.25,
    record_seconds=0.0,
    max_missed=60,
    command_timeout=1.0,
    host_timeout=5.0,
    max_following_error=1.0,
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
        if check.name == "refusals while active":
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
    assert re.search(r"\(try \d+; the one before: the robot is stopped", motion.text), motion.text
