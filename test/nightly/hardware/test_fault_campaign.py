# SPDX-License-Identifier: Apache-2.0
"""The campaign of faults: a quick part of it, a case that must fail, and self-tests on a busy machine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from device_world import DeviceWorld
from hw_command import started

from ada_hardware.pa10.cyclic import ANGLE_COUNT
from ada_hardware.robot import Robot
from ada_robot.driver import Feedback
from trials.faults import devices

pytest.importorskip("mcap")


def test_an_arm_reports_angles_with_an_offset_and_of_an_axis_that_is_stuck() -> None:
    world = DeviceWorld("pa10")
    world.driver.open()

    def measured() -> Feedback:
        for _ in range(3):  # a reply is of the cycle before
            feedback: Feedback = world.driver.idle()
            world.clock.sleep(world.driver.period)
        return feedback

    true = measured().position
    world.device.fault("angle_offset", 0.3)
    assert measured().position - true == pytest.approx(np.full(7, 0.3), abs=ANGLE_COUNT)
    world.device.fault("angle_offset", 0.0)
    world.device.fault("angle_stuck", 1.0)
    world.device.arm.q = world.device.arm.q + 0.2
    assert measured().position - true == pytest.approx([0.0, *[0.2] * 6], abs=ANGLE_COUNT)


def test_a_robot_that_stopped_before_its_fault_is_no_proof_of_anything() -> None:
    class Stopped(Robot):
        def command(self, *_: object) -> float:
            self.stop()
            return 0.0

    outcome = devices.driven(lambda *_: None, make=Stopped)(1)
    assert outcome.state == "not moving" and outcome.problems


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
