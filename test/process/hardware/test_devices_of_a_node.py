# SPDX-License-Identifier: Apache-2.0
"""Robots and sensors as one thing: a stop is never lost."""

import threading

import pytest
from robot_world import ARM, PATIENT
from waiting import until

from ada_hardware.node.devices import Devices
from ada_hardware.robot import Robot
from ada_robot.errors import Refused
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings


class SlowSensor:
    """Its reset waits, as a real one waits for its first readings."""

    def __init__(self):
        self.begun, self.goes_on = threading.Event(), threading.Event()

    def open(self):
        pass

    close = open

    def reset(self):
        self.begun.set()
        assert self.goes_on.wait(30.0)


def test_a_stop_that_comes_while_sensors_are_reset_stays(tmp_path):
    robot = Robot(ARM, PATIENT, SafetySettings(record_folder=str(tmp_path)), place="thread")
    devices, sensor, raised = Devices(), SlowSensor(), []
    devices.take({"arm": robot}, {"hand": sensor})

    def reset():
        try:
            devices.reset()
        except Refused as problem:
            raised.append(str(problem))

    devices.open()
    try:
        devices.stop("first")
        until(lambda: robot.phase is Phase.STOPPED, "the first stop")
        thread = threading.Thread(target=reset)
        thread.start()
        assert sensor.begun.wait(30.0)
        devices.stop("second")
        sensor.goes_on.set()
        thread.join(30.0)
        assert "a stop came meanwhile" in raised[0]
        assert devices.latched and robot.phase is Phase.STOPPED
        with pytest.raises(Refused, match="Reset it first"):
            devices.activate()
        devices.reset()
        assert not devices.latched and robot.phase is Phase.INACTIVE
    finally:
        devices.close()
