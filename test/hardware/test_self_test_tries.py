# SPDX-License-Identifier: Apache-2.0
"""The self-test of an emulated robot on a machine that stands still for a while."""

import os
import re
import signal
import threading
import time
from pathlib import Path

import pytest

from ada_hardware.self_test.checks import Check, Verdict
from ada_hardware.self_test.device import target
from ada_hardware.self_test.run import test_device as device_tested

STANDSTILL = 0.6  # [s], more than the 0.4 s that the old arm forgives and other tests seldom take
OLD_ARM = {"variant": "7c", "device_timeout": 0.4, "start_timeout": 10.0}


def cycle() -> int:
    """The process of the robot's cycle."""
    children = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    pids = [int(pid) for file in children for pid in file.read_text().split()]
    (found,) = [pid for pid in pids if b"ada_hardware.cycle" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    return found


def stand_still() -> None:
    """As seen by the cycle."""
    time.sleep(0.2)  # into the motion
    os.kill(cycle(), signal.SIGSTOP)
    time.sleep(STANDSTILL)
    os.kill(cycle(), signal.SIGCONT)


@pytest.mark.slow
def test_a_motion_in_which_the_machine_stood_still_is_tried_again_and_says_so() -> None:
    standstills: list[threading.Thread] = []

    def tell(check: Check) -> None:
        if check.name == "refusals while active":
            standstills.append(threading.Thread(target=stand_still))
            standstills[-1].start()

    checks = device_tested(target("pa10", settings=OLD_ARM), moves=True, seconds=0.3, joints=("s1",), tell=tell)
    (standstill,) = standstills
    standstill.join()
    (motion,) = [check for check in checks.done if check.name == "motion of s1"]
    assert motion.verdict is Verdict.OK, motion.text
    assert re.search(r"\(try \d; the one before: the robot is stopped: ", motion.text), motion.text
    assert "this cycle came " in motion.text or "no packet came from the PC in time" in motion.text
