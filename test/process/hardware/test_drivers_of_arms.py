# SPDX-License-Identifier: Apache-2.0
"""Drivers of robots in real time: devices in processes of their own, devices that hang, dry runs, cycles."""

import math

import numpy as np
import pytest
from refused import refused
from waiting import LIMIT, until

from ada_dynamics.clock import SYSTEM_CLOCK
from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.registry import find
from ada_hardware.robot import Robot
from ada_robot.contract import Demand, Mode
from ada_robot.errors import NoAnswer, Refused
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings
from ada_robot.safety.watchdogs import SuspendDetector
from ada_robot.settings import checked


def made(name, **settings):
    make = find(name).driver_class()
    return make(checked(make.SETTINGS, settings))


@pytest.mark.parametrize(
    ("name", "watchdog", "wait"), [("pa10", 60.0, "start_timeout"), ("hexa", 10.0, "connect_timeout")]
)
def test_a_device_that_hangs_or_is_killed_is_missed_and_the_driver_ends_without_it(name, watchdog, wait):
    with EmulatorProcess(name, {"watchdog": watchdog}) as device:
        driver = made(name, url=device.url, **{wait: 60.0})
        driver.open()
        driver.start()
        still = Demand(Mode.EFFORT, np.zeros(6)) if name == "hexa" else Demand(Mode.VELOCITY, np.zeros(7))
        device.freeze()
        until(lambda: not driver.cycle(still).is_fresh, "a missed answer", poll=0.0)
        device.thaw()
        until(lambda: driver.cycle(still).is_fresh, "an answer", poll=0.0)
        device.kill()
        until(lambda: not driver.cycle(still).is_fresh, "a missed answer", poll=0.0)
        driver.stop()
        driver.close()
        with pytest.raises(NoAnswer):
            made(name, url=device.url, **{wait: 0.2}).open()


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("name", "device_settings", "settings", "turn"),
    [
        # watchdogs that a busy machine meets
        ("pa10", {"watchdog": 60.0}, {"start_timeout": 60.0}, None),
        ("hexa", {"watchdog": 10.0}, {"connect_timeout": 60.0, "reply_timeout": 0.1}, 2e-3),
        ("khr1", {}, {}, math.radians(10.0)),
        ("khr3", {}, {}, math.radians(10.0)),
    ],
)
def test_a_robot_is_opened_moved_and_stopped_on_its_real_wire(name, device_settings, settings, turn):
    pytest.importorskip("serial")
    with EmulatorProcess(name, device_settings) as device:
        driver = made(name, url=device.url, **settings)
        driver.open()
        try:
            start = until(lambda: one if (one := driver.idle()).is_fresh else None, "the joint positions", poll=0.0)
            driver.start()
            goal = start.position.copy()
            joint = list(driver.joints).index("neck_yaw") if name.startswith("khr") else 0
            goal[joint] += turn or 0.0
            demand = Demand(Mode.VELOCITY, np.full(len(goal), 0.02)) if turn is None else Demand(Mode.POSITION, goal)

            def is_there():
                found = driver.cycle(demand)
                moved = found.position - start.position
                # half a degree of the KHR-1; the PA-10 is driven by a speed
                is_near = moved[0] > 0.002 if turn is None else abs(moved[joint] - turn) < max(0.1 * turn, 1e-4)
                return found.is_fresh and found.is_driven and is_near

            until(is_there, "the motion", poll=0.0)
            driver.stop()
        finally:
            driver.close()
        assert device.violations() == []


@pytest.mark.parametrize(
    ("name", "settings", "axes"),
    [("pa10", {}, 7), ("pa10", {"variant": "7c", "device_timeout": 0.4}, 7), ("pa10", {"axes": 6}, 6), ("hexa", {}, 6)],
)
def test_a_dry_run_has_a_device_of_the_same_kind(name, settings, axes):
    driver = made(name, url="dry:", **settings)
    driver.open()
    assert driver.idle().position.shape == (axes,)
    driver.close()


@pytest.mark.parametrize(
    ("device", "settings"),
    [
        ("pa10", {"url": "dry:", "variant": "7c", "device_timeout": 0.4}),  # as patient as a busy machine needs it
        ("ada_robot.simulated.driver:SimulatedDriver", {"robot": "pa10"}),
    ],
)
def test_a_robot_moves_with_its_cycle_in_a_process_of_its_own(device, settings, tmp_path):
    patient = {"host_timeout": LIMIT, "command_timeout": 9.0, "longest_gap": 0.4}
    safety = SafetySettings(record_folder=str(tmp_path), hold_without_commands=True, **patient)
    with Robot(device, settings, safety) as arm:
        start = arm.wait_feedback(LIMIT).position
        with refused(Refused, value="not active"):
            arm.command(Mode.POSITION, start)
        arm.activate(LIMIT)

        def is_there():
            arm.command(Mode.POSITION, start + 0.02)
            return arm.wait_feedback(LIMIT).position[0] > start[0] + 0.019

        until(is_there, "the goal", poll=0.0)
        arm.stop("enough", LIMIT)
        until(lambda: arm.phase is Phase.STOPPED, "rest")
        arm.reset(LIMIT)
        assert arm.phase is Phase.INACTIVE


def test_the_clocks_of_this_machine_show_no_suspend_while_there_is_none():
    suspends = SuspendDetector(SYSTEM_CLOCK)
    assert sum(suspends.look() for _ in range(1000)) == 0.0
