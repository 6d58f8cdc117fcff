# SPDX-License-Identifier: Apache-2.0
"""A whole robot in a dry run: process, cycle, driver, codec and an emulator behind it, and no port is opened."""

import numpy as np
import pytest
from waiting import until

from ada_hardware.robot import Robot
from ada_robot.contract import Mode
from ada_robot.errors import Refused
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings

# an old 7C bears silence of 0.4 s: as patient as a busy machine of tests needs it
PATIENT = {"url": "dry:", "variant": "7c", "device_timeout": 0.4}


def test_a_pa10_moves_in_a_dry_run(tmp_path):
    safety = SafetySettings(record_folder=str(tmp_path), hold_without_commands=True, host_timeout=30.0)
    with Robot("pa10", PATIENT, safety) as arm:
        start = arm.wait_feedback(10.0).position
        with pytest.raises(Refused, match="Activate it first"):
            arm.command(Mode.POSITION, start)
        arm.activate()
        assert np.abs(arm.wait_feedback(10.0).position - start).max() < 1e-5  # a count of the angle is 7.7e-6
        goal = start + 0.02
        until(lambda: _led(arm, goal), "arrival")
        arm.stop("enough")
        until(lambda: arm.phase is Phase.STOPPED, "rest")
        assert set(arm.status().refused) == {"not active"}  # above, and perhaps one that the stop overtook
        arm.reset()
        assert arm.phase is Phase.INACTIVE


def _led(arm, goal):
    arm.command(Mode.POSITION, goal)
    return np.abs(arm.wait_feedback(10.0).position - goal).max() < 1e-3
