# SPDX-License-Identifier: Apache-2.0
"""Drivers of all robots with an emulated device in a process of its own: UDP packets and pseudo-terminals."""

import math

import numpy as np
import pytest
from waiting import until

from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.registry import find
from ada_robot.contract import Demand, Mode
from ada_robot.settings import checked

pytest.importorskip("serial")


def made(name, **settings):
    make = find(name).driver_class()
    return make(checked(make.SETTINGS, settings))


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
