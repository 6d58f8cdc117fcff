# SPDX-License-Identifier: Apache-2.0
"""Stops in every phase: `Robot.stop` and the device's own emergency stop, and the cable of a KHR-1."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np

from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.robot import Robot
from ada_robot.contract import Mode
from ada_robot.errors import HardwareError, NoAnswer, Refused
from ada_robot.safety.flight_file import FlightRecord
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings
from benchmarks.hardware.scene import EMULATOR_PRIORITY, first_rest, first_slower, record_at, unspoiled, until
from benchmarks.report import Report

PERIOD = 0.002  # [s]
SPEED = 0.25  # [rad/s]
MOVING = "moving"
PHASES = ("inactive", "starting", "active, at rest", MOVING, "stopping", "stopped")


def run(report: Report, folder: Path, repeats: int, quick: bool) -> None:
    """Each kind of stop in each phase.

    Args:
        report: gets the table and the targets.
        folder: for flight records.
        repeats: trials of each.
        quick: in one phase.
    """
    report.begin("stops", f"PA-10 at {PERIOD * 1e3:g} ms, each {repeats} times, the slowest counts")
    rows: list[list[object]] = []
    for kind, stop in (("stop", _ask), ("emergency stop button", _press)):
        for phase in (MOVING,) if quick else PHASES:
            name = f"{kind}, {phase}"
            made = [unspoiled(report, name, partial(_trial, stop, phase, folder)) for _ in range(repeats)]
            trials = [trial for trial in made if trial is not None]
            report.aim(f"{name}: trials that the machine let happen", len(trials), repeats, "", at_least=True)
            if not trials:
                continue
            safe, rest, unsafe = (max(trial[i] for trial in trials) for i in range(3))
            limit = 1e3 * PERIOD * (2.0 if stop is _press else 1.0)
            rows.append([name, limit, 1e3 * safe, 1e3 * rest, unsafe])
            print("   ", *rows[-1], flush=True)
            report.aim(f"{name}: unsafe commands", unsafe, 0.0, "")
            report.aim(f"{name}: time to the safe state", 1e3 * safe, limit, "ms")
    report.table("stops", ["[ms]", "limit", "slows down", "told to stand", "unsafe"], rows)
    report.note("0: nothing was told to move after it. The button is seen with the answer to the next command")
    _unplug(report, folder)


def _ask(robot: Robot, device: EmulatorProcess) -> float:
    at = time.monotonic()
    robot.stop("benchmark")
    return at


def _press(robot: Robot, device: EmulatorProcess) -> float:
    at = time.monotonic()
    device.fault("emergency_stop", 1.0)
    return at


def _trial(stop: Callable[[Robot, EmulatorProcess], float], phase: str, folder: Path) -> tuple[float, float, float]:
    safety = SafetySettings(record_folder=str(folder), hold_without_commands=True)
    with EmulatorProcess("pa10", priority=EMULATOR_PRIORITY) as device:
        with Robot("pa10", {"url": device.url}, safety) as robot:
            robot.wait_feedback()
            speed = _brought_to(robot, phase)
            at = stop(robot, device)
            until(lambda: robot.phase is Phase.STOPPED, "the stop")
            with suppress(HardwareError):  # nothing may come of it
                robot.command(Mode.VELOCITY, [SPEED] * 7)
            time.sleep(0.05)
            record = record_at(robot.save_flight_record("benchmark"))
        return *_times(record, at, speed), float(len(device.violations()))


def _times(record: FlightRecord, at: float, speed: float) -> tuple[float, float]:
    """How long it was told to move as before, and to move at all."""
    times, told = record.rows[:, 0], record.vector(0)[:, 0]
    if not np.any((times > at) & (np.abs(told) > 0.0)):
        return 0.0, 0.0
    return first_slower(record, at, speed) - at, first_rest(record, at) - at


def _brought_to(robot: Robot, phase: str) -> float:
    """Bring a robot into a phase; the speed that it is told then."""
    if phase == "inactive":
        return 0.0
    if phase == "starting":
        threading.Thread(target=lambda: _tried(robot.activate), daemon=True).start()
        until(lambda: robot.phase is not Phase.INACTIVE, "the start")
        return 0.0
    robot.activate()
    if phase == "active, at rest":
        robot.wait_feedback()
        return math.inf  # a demand to rest is safe as it is
    end = time.monotonic() + 0.4
    while time.monotonic() < end:
        robot.command(Mode.VELOCITY, [SPEED] * 7)
        robot.wait_feedback()
    if phase == "stopping":
        threading.Thread(target=lambda: _tried(robot.deactivate), daemon=True).start()
        until(lambda: robot.phase is not Phase.ACTIVE, "the ramp")
    if phase == "stopped":
        robot.stop("before")
        until(lambda: robot.phase is Phase.STOPPED, "the stop before")
    return SPEED


def _tried(call: Callable[[], object]) -> None:
    with suppress(Refused, NoAnswer, HardwareError):
        call()


def _unplug(report: Report, folder: Path) -> None:
    """The serial line of a KHR-1 vanishes."""
    name = "KHR-1, serial line closed"
    seen = unspoiled(report, name, partial(_unplugged, folder))
    report.aim(f"{name}: trials that the machine let happen", float(seen is not None), 1.0, "", at_least=True)
    if seen is None:
        return
    stopped, period, unsafe, reason = seen
    report.note(f"KHR-1: {reason}")
    report.aim(f"{name}: unsafe commands", float(unsafe), 0.0, "")
    report.aim(f"{name}: time to STOPPED", 1e3 * stopped, 1e3 * (period + period), "ms")


def _unplugged(folder: Path) -> tuple[float, float, int, str]:
    """Time until it is STOPPED, its period, unsafe commands, and the reason that it gives."""
    safety = SafetySettings(record_folder=str(folder), hold_without_commands=True)
    with EmulatorProcess("khr1", priority=EMULATOR_PRIORITY) as device:
        with Robot("khr1", {"url": device.url}, safety) as robot:
            robot.wait_feedback(5.0)
            robot.activate()
            robot.wait_feedback(5.0)
            at = time.monotonic()
            device.fault("disconnect", 1.0)
            until(lambda: robot.phase is Phase.STOPPED, "the stop")
            until(lambda: robot.status().flight_record, "the flight record")
            record = record_at(robot.status().flight_record)
            period, reason = robot.period, robot.reason
        stopped = record.rows[np.array(record.phases) == "stopped", 0][0] - at
        return float(stopped), period, len(device.violations()), reason
