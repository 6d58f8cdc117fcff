# SPDX-License-Identifier: Apache-2.0
"""The KHR-1 and the KHR-3HV under all rules of safety, in lock step, judged by their emulators."""

import random

import numpy as np
import pytest
from kondo_world import QUICK, KondoWorld

from ada_robot.contract import Demand, Mode
from ada_robot.errors import HardwareError
from ada_robot.safety.phases import Phase
from ada_robot.safety.safe_cycle import SafeCycle
from ada_robot.safety.settings import SafetySettings

BOTH = pytest.mark.parametrize("name", list(QUICK))


class Robot(KondoWorld):
    """A robot and its cycle."""

    def __init__(self, name):
        super().__init__(name, **QUICK[name])
        self.cycle = SafeCycle(self.driver, SafetySettings(record_seconds=0.0))
        self.device.advance(0.0)

    def steps(self, count, position=None):
        """Cycles, with a command in each where there is a position."""
        for _ in range(count):
            self.clock.sleep(self.driver.period - self.clock.now() % self.driver.period)
            now = self.clock.now()
            self.cycle.step(now, [] if position is None else [Demand(Mode.POSITION, position, now)])
        self.wire.run()

    def do(self, call, *arguments):
        getattr(self.cycle, call)(self.clock.now(), *arguments)
        if self.cycle.phase is not Phase.CLOSED:
            self.steps(2)

    def active(self):
        self.do("open")
        self.steps(10)
        self.do("activate")
        assert self.cycle.phase is Phase.ACTIVE
        return self


@BOTH
def test_it_follows_commands_in_its_active_phase_only(name):
    robot = Robot(name)
    robot.do("open")
    before = robot.angles
    home = robot.cycle.feedback.position
    q = home.copy()
    q[robot.driver.joints.index("neck_yaw")] += np.radians(10.0)
    for call, target, is_turned in (("", q, False), ("activate", q, True), ("deactivate", home, True)):
        if call:
            robot.do(call)
        robot.steps(40, target)
        assert (abs(robot.angles["neck_yaw"] - before["neck_yaw"]) > 9.9) is is_turned
    assert robot.cycle.phase is Phase.INACTIVE
    assert robot.device.violations == []


@BOTH
def test_a_device_that_falls_silent_stops_it_until_it_is_reset(name):
    robot = Robot(name).active()
    robot.wire.fault("silence", 1)
    robot.steps(100)
    assert robot.cycle.phase is Phase.STOPPED
    with pytest.raises(HardwareError):
        robot.do("activate")
    robot.wire.fault("silence", 0)
    robot.steps(5)
    robot.do("reset")
    robot.do("activate")
    assert robot.cycle.phase is Phase.ACTIVE
    assert robot.device.violations == []


@BOTH
def test_no_restart_in_any_order_makes_a_servo_jump(name):
    robot, rng = Robot(name), random.Random(4)
    targets = robot.device.state()["targets"]
    for _ in range(12):
        robot.do("open")
        for step in rng.sample(("activate", "stop", "reset", "deactivate", "command"), k=5):
            try:
                if step == "command":
                    robot.steps(1, robot.cycle.feedback.position)
                else:
                    robot.do(step, *(["enough"] if step == "stop" else []))
            except HardwareError:
                pass  # a step that its phase does not allow is refused; that is the rule, and no motion
        robot.do("close")
    robot.do("open")
    if robot.cycle.phase is Phase.STOPPED:
        robot.do("reset")
    robot.do("activate")
    assert robot.cycle.phase is Phase.ACTIVE
    robot.do("close")
    assert robot.device.violations == []
    assert robot.device.state()["targets"] == pytest.approx(targets, abs=0.51)  # whole degrees of the KHR-1
