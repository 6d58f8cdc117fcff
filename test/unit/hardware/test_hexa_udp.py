# SPDX-License-Identifier: Apache-2.0
"""The HEXA's driver and an emulated table in a process of its own: real UDP packets, real time."""

import numpy as np
import pytest
from hexa_world import joint_path
from paced_cycles import cycles

from ada_dynamics.spatial.orientation import pose_of
from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.hexa.driver import HexaDriver
from ada_hardware.hexa.kinematics import HexaKinematics
from ada_hardware.hexa.settings import HexaSettings
from ada_robot.contract import Demand, Mode
from ada_robot.errors import NoAnswer

# The watchdog is the subject of other tests: here a busy machine may hold either process up for longer than 20 ms.
PATIENT = {"watchdog": 2.0}
SLOW = {"reply_timeout": 0.02, "connect_timeout": 20.0}


def test_the_table_is_opened_moved_and_stopped_over_udp():
    with EmulatorProcess("hexa", settings={"probe": (0.0, 0.0, -0.5602), **PATIENT}) as device:
        driver = HexaDriver(HexaSettings(url=device.url, **SLOW))
        driver.open()
        try:
            driver.start()
            path = joint_path(lambda t: pose_of((0.0, 0.0, -0.55 - 2e-3 * min(t, 0.2)), (0.0, 0.0, 0.0)), 0.5)
            told = cycles(driver, [Demand(Mode.POSITION, angles) for angles in path])
            assert sum(one.is_fresh for one in told) > 0.8 * len(told)
            assert told[-1].is_driven
            # 0.4 mm down, 0.2 mm of it into the probe, which is 15 times stiffer than the table
            state = device.state()
            assert state["plate_wrench"][2] > 2.0
            np.testing.assert_allclose(state["target"], path[-1], rtol=0, atol=1e-15)
        finally:
            driver.close()
        assert device.state()["state"] == "BRAKED"
        assert device.violations() == []


def test_a_table_that_is_killed_is_missed_and_is_no_error_until_it_is_opened_anew():
    with EmulatorProcess("hexa", settings=PATIENT) as device:
        driver = HexaDriver(HexaSettings(url=device.url, reply_timeout=0.005, connect_timeout=20.0))
        driver.open()
        driver.start()
        device.kill()
        home = HexaKinematics().inverse(pose_of((0, 0, -0.55), (0, 0, 0)))
        told = cycles(driver, [Demand(Mode.POSITION, home)] * 5)
        assert not any(one.is_fresh for one in told)
        assert driver.counts.missed >= 5
        driver.close()
        again = HexaDriver(HexaSettings(url=device.url, connect_timeout=0.2))
        with pytest.raises(NoAnswer, match="no table answers"):
            again.open()
