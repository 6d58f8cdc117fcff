# SPDX-License-Identifier: Apache-2.0
"""KHR-1 and KHR-3HV on a pseudo-terminal, and in a dry run."""

import math

import pytest
from kondo_world import QUICK
from refused import refused
from waiting import until

from ada_dynamics import resources
from ada_dynamics.settings import checked
from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.kondo.rcb1.motions import StoredMotion
from ada_hardware.registry import find
from ada_robot.contract import Demand, Mode
from ada_robot.errors import TransportError

pytest.importorskip("serial")
BOTH = pytest.mark.parametrize("name", ["khr1", "khr3"])


def made(name, **settings):
    make = find(name).driver_class()
    return make(checked(make.SETTINGS, settings))


@BOTH
@pytest.mark.smoke
def test_it_drives_an_emulator_behind_a_pseudo_terminal(name):
    with EmulatorProcess(name) as device:
        driver = made(name, url=device.url)
        driver.open()
        driver.start()
        q = driver.idle().position
        q[list(driver.joints).index("neck_yaw")] += math.radians(10)
        target = 80 if name == "khr1" else 10

        def is_there():
            feedback = driver.cycle(Demand(Mode.POSITION, q))
            return feedback.is_fresh and device.state()["targets"]["neck_yaw"] == pytest.approx(target, abs=0.02)

        until(is_there, "the neck's target", poll=0.0)
        driver.stop()
        assert device.violations() == []
        device.fault("disconnect", 1)
        with refused(TransportError, field="state", value="gone"):
            for _ in range(100):
                driver.idle()
        driver.close()


@BOTH
def test_a_dry_run_exchanges_all_bytes_and_opens_no_port(name):
    driver = made(name, url="dry:", **QUICK[name])
    driver.open()
    driver.start()
    position = driver.idle().position
    until(lambda: driver.cycle(Demand(Mode.POSITION, position)).is_fresh, "fresh feedback", poll=0.0)
    driver.stop()
    driver.close()
    driver.close()


def test_a_motion_is_uploaded_and_played_through_a_pseudo_terminal():
    with EmulatorProcess("khr1") as device:
        driver = made("khr1", url=device.url)
        driver.open()
        walk = StoredMotion.read(resources.find("config", "khr1_walk.csv"), driver.map)
        driver.memory().upload(7, StoredMotion(walk.frames[:2]))
        driver.memory().play(7)
        until(lambda: device.state()["played"][0][:1] == [[7, 0]], "the motion")
        assert device.violations() == []
        driver.close()
