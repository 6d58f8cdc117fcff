# SPDX-License-Identifier: Apache-2.0
"""Cycles of a driver at its own period, in real time: for tests with a device in a process of its own."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from ada_robot.contract import Demand
from ada_robot.driver import Feedback, RobotDriver
from ada_robot.timing.deadlines import DeadlineLoop

DEADLINE = 60.0  # [s] for what takes a second


def cycles(driver: RobotDriver[Any], demands: Sequence[Demand | None]) -> list[Feedback]:
    """One exchange for each demand; None is an idle one."""
    told: list[Feedback] = []
    done = threading.Event()

    def tick(_: int) -> None:
        if len(told) < len(demands):
            demand = demands[len(told)]
            told.append(driver.idle() if demand is None else driver.cycle(demand))
        else:
            done.set()

    loop = DeadlineLoop(driver.period, tick, name="cycles")
    loop.start()
    ended = done.wait(DEADLINE)
    loop.stop()
    assert loop.failure is None, loop.failure
    assert ended
    return told
