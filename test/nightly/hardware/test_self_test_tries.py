# SPDX-License-Identifier: Apache-2.0
"""Motions of the self-test of an emulated robot, on a machine that stands still for a while."""

import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.pa10.driver import Pa10Driver
from ada_hardware.pa10.settings import Pa10Settings
from ada_hardware.robot import Robot
from ada_hardware.self_test.checks import Check, Checks, Verdict
from ada_hardware.self_test.motion_checks import MotionChecks
from ada_robot.safety.joint_rules import JointRules
from ada_robot.safety.settings import SafetySettings

STANDSTILL = 0.6  # [s], more than the 0.4 s that the old arm forgives
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
def robot() -> Iterator[Robot]:
    """An emulated arm that forgives what a busy machine does."""
    with EmulatorProcess("pa10", {"variant": "7c", "max_acceleration": 200.0}) as device:
        settings = Pa10Settings(
            url=device.url, variant="7c", device_timeout=0.4, period=0.006, reply_timeout=0.0055, start_timeout=10.0
        )
        with Robot("pa10", settings, SAFETY) as robot:
            yield robot


def cycle() -> int:
    """The process of the robot's cycle."""
    children = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    pids = [int(pid) for file in children for pid in file.read_text().split()]
    (found,) = [pid for pid in pids if b"ada_robot.cycle" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    return found


def stand_still() -> None:
    """As seen by the cycle, in the midst of a motion."""
    time.sleep(0.2)
    os.kill(cycle(), signal.SIGSTOP)
    time.sleep(STANDSTILL)
    os.kill(cycle(), signal.SIGCONT)


@pytest.mark.slow
def test_a_motion_that_a_standstill_has_spoilt_is_tried_again_and_says_so(robot: Robot) -> None:
    standstill = threading.Thread(target=stand_still)

    def tell(check: Check) -> None:
        if check.name == "refusals while active":
            standstill.start()
        elif check.name == "motion of s1":
            raise Enough

    checks = Checks(tell)
    with pytest.raises(Enough):
        MotionChecks(
            robot, checks, JointRules(Pa10Driver(Pa10Settings(variant="7c")).limits, SAFETY), SAFETY, ("s1",), TRIES
        ).run()
    standstill.join()
    motion = checks.done[-1]
    assert motion.verdict is Verdict.OK, motion.text
    assert re.search(r"off back.* \(try \d+; the one before: the robot is stopped: ", motion.text), motion.text
