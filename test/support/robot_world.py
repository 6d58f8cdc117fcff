# SPDX-License-Identifier: Apache-2.0
"""Robots in threads and processes: active, moving, and the commands that their arm received."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from waiting import LIMIT, until

from ada_hardware.robot import Robot
from ada_robot.contract import Mode
from ada_robot.errors import Refused
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings

ARM = "arm_driver:ArmDriver"
# The machine of a test may stand still for longer than any watchdog of a real device: these tests are about what
# happens, `benchmarks.hardware` measures when.
PATIENT = {"device_timeout": 0.0}


def patient(folder: Path, **more: Any) -> SafetySettings:
    """Rules that hold on a machine which delays cycles and commands; flight records go below a folder."""
    # the arm moves by a period in each cycle, however late that is
    late = {"host_timeout": LIMIT, "longest_gap": 1.0, "max_following_error": 100.0}
    rules = {"hold_without_commands": True, **late, **more}
    return SafetySettings(record_folder=str(folder / "flights"), **rules)


def calls(path: Path) -> list[list[Any]]:
    """What the arm was called, from its trace: time, name, content."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.endswith("]")]


def names(path: Path) -> list[str]:
    return [call for _, call, _ in calls(path)]


def speeds(path: Path) -> np.ndarray:
    """Velocities that the arm was told, a row per cycle."""
    return np.array([content[1:] for _, call, content in calls(path) if call == "cycle" and content[0] == "velocity"])


def violations(path: Path) -> list[str]:
    return [content for _, call, content in calls(path) if call == "violation"]


def active(robot: Robot) -> Robot:
    if robot.phase is Phase.CLOSED:
        robot.open(LIMIT)
        robot.wait_feedback(LIMIT)

    def is_active() -> bool:
        with suppress(Refused):  # while the machine delays the cycles by which the pose is known
            robot.activate(LIMIT)
        return robot.phase is Phase.ACTIVE

    until(is_active, "the active robot")
    return robot


def moving(robot: Robot, speed: float = 0.5, seconds: float = 0.1) -> Robot:
    active(robot)
    end = time.monotonic() + seconds
    while time.monotonic() < end or abs(robot.feedback.velocity[0] - speed) > 1e-9:
        robot.command(Mode.VELOCITY, [speed, -speed, 0.0])
        robot.wait_feedback(LIMIT)
    return robot


def assert_ended_along_a_ramp(path: Path) -> None:
    """The speed of 0.5 fell by 0.02 in each of its last cycles, to nothing."""
    told = speeds(path)[:, 0]
    assert told[-1] == 0.0
    np.testing.assert_allclose(np.diff(told[np.flatnonzero(told)[-1] - 23 :][:25]), -0.02)
