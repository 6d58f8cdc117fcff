# SPDX-License-Identifier: Apache-2.0
"""A thousand restarts in random order: whether the robot always comes back, and whether it moves when it does."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.pa10.cyclic import ANGLE_COUNT
from ada_hardware.robot import Robot
from ada_robot.contract import Mode
from ada_robot.errors import HardwareError
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings
from benchmarks.hardware.scene import EMULATOR_PRIORITY, activated, until
from benchmarks.report import Report

WATCHED = 0.05  # [s] after each activation, in which nothing may move
SPEED = 0.3  # [rad/s]
ATTEMPTS = 10  # a machine that stood still lets the device's watchdog trip once more: reset, and activated again


def run(report: Report, folder: Path, count: int) -> None:
    """All restarts.

    Args:
        report: gets the table and the targets.
        folder: for flight records.
        count: activations.
    """
    report.begin("restarts", f"PA-10, {count} activations after interruptions in random order")
    folder.mkdir(parents=True, exist_ok=True)
    safety = SafetySettings(record_folder=str(folder), record_seconds=10.0, record_files=5, hold_without_commands=True)
    done: Counter[str] = Counter()
    recovered, at_once, motions, slowest = 0, 0, [0.0], 0.0
    lost: list[str] = []
    choose = random.Random(1)
    weights = [weight for weight, _ in _INTERRUPTIONS.values()]
    with EmulatorProcess("pa10", priority=EMULATOR_PRIORITY) as device:
        robot = Robot("pa10", {"url": device.url}, safety)
        try:
            for i in range(count):
                begin = time.monotonic()
                try:
                    attempts, before = activated(robot, ATTEMPTS)
                    motions.append(_moved(robot, before))
                    recovered += 1
                    at_once += attempts == 1
                except HardwareError as problem:
                    lost.append(f"{i}: {problem}")
                    print(f"    not recovered, {lost[-1]}", flush=True)
                slowest = max(slowest, time.monotonic() - begin)
                (interruption,) = choose.choices(list(_INTERRUPTIONS), weights)
                done[interruption] += 1
                _move(robot, SPEED * choose.choice((-1.0, 1.0)), choose.uniform(0.0, 0.15))
                with suppress(HardwareError):
                    _INTERRUPTIONS[interruption][1](robot)
                if i % 100 == 99:
                    print(f"    {i + 1}: {recovered} recovered, largest motion {max(motions):.3g} rad", flush=True)
        finally:
            with suppress(HardwareError):
                robot.close()
        unsafe = len(device.violations())
    report.table("interruptions", ["what", "times"], [[name, times] for name, times in sorted(done.items())])
    for text in lost[:5]:
        report.note(f"not recovered, {text}")
    report.note(f"{at_once} of {recovered} came back at the first attempt; the slowest way to ACTIVE: {slowest:.3g} s")
    report.aim("restarts from which the robot came back", 100.0 * recovered / count, 100.0, "%", at_least=True)
    report.aim("largest motion at an activation", max(motions), ANGLE_COUNT, "rad")
    report.aim("restarts: unsafe commands", float(unsafe), 0.0, "")


def _moved(robot: Robot, before: NDArray[np.float64]) -> float:
    """How far a joint moves from where it was before, in the first moments [rad]."""
    end, moved = time.monotonic() + WATCHED, 0.0
    while time.monotonic() < end and robot.phase is Phase.ACTIVE:
        with suppress(HardwareError):
            moved = max(moved, float(np.abs(robot.wait_feedback(0.1).position - before).max()))
    return moved


def _move(robot: Robot, speed: float, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with suppress(HardwareError):
            position = robot.feedback.position
            middle = np.array([0.0, 0.6, 0.0, 1.5, 0.0, 1.04, 0.0])
            robot.command(Mode.VELOCITY, np.clip(middle - position + speed, -SPEED, SPEED).tolist())
        time.sleep(0.005)


def _kill(robot: Robot) -> None:
    os.kill(robot.cycle_pid, signal.SIGKILL)
    until(lambda: robot.phase is Phase.CLOSED, "the loss of the cycle")


def _freeze(robot: Robot) -> None:
    pid = robot.cycle_pid
    os.kill(pid, signal.SIGSTOP)
    time.sleep(0.03)
    os.kill(pid, signal.SIGCONT)
    until(lambda: robot.phase in (Phase.STOPPED, Phase.CLOSED), "the stop")


def _stop(robot: Robot) -> None:
    robot.stop("benchmark")


def _deactivate_and_stop(robot: Robot) -> None:
    robot.deactivate()
    robot.stop("benchmark")


def _reset_and_deactivate(robot: Robot) -> None:
    with suppress(HardwareError):
        robot.reset()
    robot.deactivate()


_INTERRUPTIONS: dict[str, tuple[float, Callable[[Robot], None]]] = {
    "deactivate": (6.0, Robot.deactivate),
    "stop": (6.0, _stop),
    "deactivate, stop": (2.0, _deactivate_and_stop),
    "refused reset, deactivate": (1.0, _reset_and_deactivate),
    "close": (2.0, Robot.close),
    "cycle killed": (1.0, _kill),
    "cycle frozen": (2.0, _freeze),
}
