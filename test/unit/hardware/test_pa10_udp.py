# SPDX-License-Identifier: Apache-2.0
"""The PA-10's driver and an emulated arm in a process of its own: real UDP packets, real time, real troubles."""

from __future__ import annotations

import time

import numpy as np
import pytest
from paced_cycles import cycles

from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.pa10.cyclic import ANGLE_COUNT
from ada_hardware.pa10.driver import Pa10Driver
from ada_hardware.pa10.settings import Pa10Settings
from ada_robot.contract import Demand, Mode
from ada_robot.driver import Feedback
from ada_robot.errors import NoAnswer

# The watchdog is the subject of other tests: here a busy machine may hold either process up for longer than 10 ms.
PATIENT = {"watchdog": 1.0}
SLOW = {"period": 0.005, "reply_timeout": 0.0045, "start_timeout": 10.0}
DEADLINE = 30.0  # [s] for what takes fractions of a second


def newest(told: list[Feedback]) -> Feedback:
    """The newest that came in its cycle: on a busy machine not each answer does."""
    fresh = [one for one in told if one.is_fresh]
    assert fresh
    return fresh[-1]


@pytest.mark.parametrize("variant", ["ce", "7c"])
def test_the_arm_is_opened_started_moved_and_stopped_over_udp(variant):
    with EmulatorProcess("pa10", settings={"variant": variant, **PATIENT}) as device:
        driver = Pa10Driver(Pa10Settings(url=device.url, variant=variant, **SLOW))
        driver.open()
        try:
            first = newest(cycles(driver, [None] * 20))
            driver.start()
            ramp = [0.002 * k for k in range(50)] + [0.1] * 50 + [0.1 - 0.002 * k for k in range(51)]
            cycles(driver, [Demand(Mode.VELOCITY, np.full(7, speed)) for speed in ramp])
            driver.stop()
            last = newest(cycles(driver, [None] * 20))
            state = device.state()
            assert last.position == pytest.approx(state["position"], abs=0.51 * ANGLE_COUNT)
            assert np.all(last.position - first.position > 0.01)
            assert [one.text for one in device.violations()] == []
        finally:
            driver.close()


def test_an_arm_that_hangs_or_loses_its_power_is_seen_and_the_driver_ends_without_it():
    with EmulatorProcess("pa10", settings=PATIENT) as device:
        driver = Pa10Driver(Pa10Settings(url=device.url, **SLOW))
        driver.open()
        driver.start()
        device.freeze()
        told = cycles(driver, [Demand(Mode.VELOCITY, np.zeros(7))] * 10)
        assert not told[-1].is_fresh
        device.thaw()
        newest(cycles(driver, [Demand(Mode.VELOCITY, np.zeros(7))] * 100))
        device.kill()
        began = time.monotonic()
        driver.stop()
        driver.close()
        assert time.monotonic() < began + DEADLINE


def test_nobody_at_the_address_is_told():
    with EmulatorProcess("pa10", settings=PATIENT) as device:
        url = device.url
    with pytest.raises(NoAnswer, match=url.rsplit(":", 1)[1]):
        Pa10Driver(Pa10Settings(url=url, start_timeout=0.2)).open()
