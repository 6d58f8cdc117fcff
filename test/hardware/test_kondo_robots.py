# SPDX-License-Identifier: Apache-2.0
"""The KHR-1 and the KHR-3HV as programs hold them: under all rules of safety, judged by their emulators."""

import math
import random
import time

import numpy as np
import pytest
from patience import Patience

from ada_hardware.emulation.in_process import InProcessStream
from ada_hardware.kondo.rcb1.driver import Rcb1Driver
from ada_hardware.kondo.rcb1.emulator import Rcb1Emulator, Rcb1EmulatorSettings
from ada_hardware.kondo.rcb1.settings import Rcb1Settings
from ada_hardware.kondo.rcb4.driver import Rcb4Driver
from ada_hardware.kondo.rcb4.emulator import Rcb4Emulator, Rcb4EmulatorSettings
from ada_hardware.kondo.rcb4.settings import Rcb4Settings
from ada_hardware.robot import Robot
from ada_robot.contract import Mode
from ada_robot.errors import HardwareError
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings

DEADLINE = 20.0  # [s] for anything to happen; the machine may be busy


def made(name):
    """A robot in a thread, and its wire."""
    if name == "khr1":
        wire = InProcessStream(Rcb1Emulator(Rcb1EmulatorSettings()))
        driver = Rcb1Driver(Rcb1Settings(latency=0.0), wire=wire)
    else:
        wire = InProcessStream(Rcb4Emulator(Rcb4EmulatorSettings(com_speed=1_250_000)))
        driver = Rcb4Driver(Rcb4Settings(com_speed=1_250_000, latency=0.001), wire=wire)
    # a machine that is busy for a second must not stop these tests
    safety = SafetySettings(command_timeout=1.0, host_timeout=5.0, record_seconds=0.0, max_missed=50)
    return Robot.of(driver, safety), wire


def wait_until(condition):
    patience = Patience(DEADLINE)
    while not condition():
        assert not patience.is_over, "it did not happen"
        time.sleep(0.005)


def neck(robot, wire):
    wire.run()
    return wire.emulator.state()["angles"]["neck_yaw"]


@pytest.mark.parametrize("name", ["khr1", "khr3"])
def test_it_follows_commands_in_its_active_phase_only(name):
    robot, wire = made(name)
    with robot:
        assert robot.phase is Phase.INACTIVE
        before = wire.emulator.state()["targets"]
        robot.activate()
        q = np.array(robot.feedback.position)
        assert wire.emulator.state()["targets"] == before
        at, start = robot.joints.index("neck_yaw"), neck(robot, wire)
        q[at] += math.radians(10.0)

        def has_turned():
            robot.command(Mode.POSITION, q)
            return abs(neck(robot, wire) - start) > 9.9

        wait_until(has_turned)
        robot.deactivate()
        assert robot.phase is Phase.INACTIVE
        with pytest.raises(HardwareError, match="Activate it first"):
            robot.command(Mode.POSITION, q)
    assert wire.emulator.violations == []


@pytest.mark.parametrize("name", ["khr1", "khr3"])
def test_a_device_that_falls_silent_stops_it_until_it_is_reset(name):
    robot, wire = made(name)
    with robot:
        robot.activate()
        wire.fault("silence", 1)
        wait_until(lambda: robot.phase is Phase.STOPPED)
        with pytest.raises(HardwareError):
            robot.activate()
        wire.fault("silence", 0)

        def is_reset():
            try:
                robot.reset()
                robot.activate()
            except HardwareError:
                return False
            return True

        wait_until(is_reset)
    assert wire.emulator.violations == []


@pytest.mark.parametrize("name", ["khr1", "khr3"])
def test_no_restart_in_any_order_makes_a_servo_jump(name):
    robot, wire = made(name)
    rng, device = random.Random(4), wire.emulator
    targets = device.state()["targets"]
    for _ in range(12):
        robot.open()
        for step in rng.sample(("activate", "stop", "reset", "deactivate", "command"), k=5):
            try:
                if step == "command":
                    robot.command(Mode.POSITION, robot.feedback.position)
                else:
                    getattr(robot, step)()
            except HardwareError:
                pass  # a step that its phase does not allow is refused; that is the rule, and no motion
        robot.close()
    robot.open()
    robot.activate()
    assert robot.phase is Phase.ACTIVE
    robot.close()
    assert device.violations == []
    assert device.state()["targets"] == pytest.approx(targets, abs=0.51)  # whole degrees of the KHR-1
