# SPDX-License-Identifier: Apache-2.0
"""A Kondo humanoid on its emulator, on a clock that the test holds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from device_world import DeviceWorld

from ada_hardware.kondo.rcb4.codec import COUNTS_PER_DEGREE
from ada_robot.contract import Demand, Mode
from ada_robot.driver import Feedback

QUICK: dict[str, dict[str, Any]] = {"khr1": {}, "khr3": {"com_speed": 1_250_000, "latency": 0.001}}
DEGREE = {"khr1": 1.0, "khr3": COUNTS_PER_DEGREE}  # counts


class KondoWorld(DeviceWorld):
    """Driver, emulator, wire and clock."""

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        self.name = name

    def started(self) -> KondoWorld:
        self.driver.open()
        self.driver.start()
        return self

    def run(self, positions: Any, cycles: int = 1) -> Feedback:
        """The same command again and again; the last feedback."""
        for _ in range(cycles):
            begin = self.clock.now()
            feedback: Feedback = self.driver.cycle(Demand(Mode.POSITION, np.asarray(positions)))
            self.clock.sleep(self.driver.period - (self.clock.now() - begin))
        self.wire.run()
        return feedback

    def turned(self, **degrees: float) -> Any:
        q = self.driver.idle().position.copy()
        for joint, angle in degrees.items():
            q[self.driver.joints.index(joint)] += math.radians(angle)
        return q

    @property
    def angles(self) -> Any:
        self.wire.run()
        return self.device.state()["angles"]

    @property
    def knee(self) -> Any:
        return self.device.boards[1].servos[2] if self.name == "khr1" else self.device.servos[16]
