# SPDX-License-Identifier: Apache-2.0
"""Faults of an emulated PA-10 that moves at some speed, driven by `Robot`."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.robot import Robot
from ada_robot.contract import Mode
from ada_robot.errors import HardwareError
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings
from trials.faults.case import ENDS, HOST, STOP, TRIES, WATCHED, Case, Outcome

SPEED = 0.1  # [rad/s]
STUCK = 4.0  # [s] in which an axis comes max_following_error, 0.2 rad, behind at SPEED, of which it may lose a quarter

Fault = Callable[[Robot, EmulatorProcess], object]


def driven(
    fault: Fault, *, borne: bool = False, goes_on: bool = True, make: Callable[..., Robot] = Robot
) -> Callable[[int], Outcome]:
    """An emulated PA-10 that moves at some speed, and a fault; `make` makes the robot."""

    def run(seed: int) -> Outcome:
        why = ""
        for _ in range(TRIES):
            with tempfile.TemporaryDirectory() as folder, EmulatorProcess("pa10", seed=seed) as device:
                robot = make("pa10", {"url": device.url}, SafetySettings(record_folder=folder))
                with robot:
                    robot.wait_feedback(5.0)
                    robot.activate()
                    _command(robot, 0.3)
                    if robot.phase is Phase.ACTIVE:
                        return faulted(robot, device)
                    why = robot.reason  # this machine was too busy for a robot before anything was wrong
        return Outcome("not moving", 0.0, [f"in {TRIES} tries the robot did not begin to move: {why}"])

    def faulted(robot: Robot, device: EmulatorProcess) -> Outcome:
        at = time.monotonic()
        fault(robot, device)
        end = at + (WATCHED if borne else ENDS)
        while time.monotonic() < end and robot.phase is Phase.ACTIVE:
            _command(robot, 0.0) if goes_on else time.sleep(0.001)
        while time.monotonic() < end and robot.phase in (Phase.STOPPING, Phase.STARTING):
            time.sleep(0.001)
        state, seconds, reason = robot.phase.value, time.monotonic() - at, robot.reason
        device.thaw()
        problems = [one.text for one in device.violations()] if device.is_alive else []
        if robot.phase is Phase.STOPPED:
            problems += _kept(robot)
        if robot.cycle_pid:
            os.kill(robot.cycle_pid, signal.SIGCONT)
        return Outcome(state, 0.0 if borne and state == "active" else seconds, problems, reason)

    return run


def _command(robot: Robot, seconds: float) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            robot.command(Mode.VELOCITY, [SPEED] * len(robot.joints))
        except HardwareError:
            return
        time.sleep(0.004)
        if time.monotonic() >= end:
            return


def _kept(robot: Robot) -> list[str]:
    """Problem of the flight record that a stop has written; empty without one."""
    end = time.monotonic() + ENDS
    while not Path(robot.status().flight_record or "-").exists():
        if time.monotonic() > end:
            return ["no flight record was written"]
        time.sleep(0.01)
    return []


def _device(**faults: float) -> Fault:
    def make(_: Robot, device: EmulatorProcess) -> None:
        for name, value in faults.items():
            device.fault(name, value)

    return make


CASES = (
    Case("device killed", ("stopped",), STOP, driven(lambda _, device: device.kill())),
    Case("device frozen", ("stopped",), STOP, driven(lambda _, device: device.freeze())),
    Case("cable out", ("stopped",), STOP, driven(_device(disconnect=1.0))),
    Case("device answers nothing", ("stopped",), STOP, driven(_device(silence=1.0))),
    Case("emergency stop", ("stopped",), STOP, driven(_device(emergency_stop=1.0))),
    Case("all packets lost", ("stopped",), STOP, driven(_device(drop=1.0))),
    Case("each packet doubled", ("active", "stopped"), WATCHED, driven(_device(duplicate=1.0), borne=True)),
    Case("a fifth out of order", ("active", "stopped"), WATCHED, driven(_device(reorder=0.2), borne=True)),
    Case("angles lie by noise", ("active", "stopped"), WATCHED, driven(_device(angle_noise=50.0), borne=True)),
    Case("angles lie by 0.3 rad", ("stopped",), STOP, driven(_device(angle_offset=0.3))),
    Case("angles lie by 0.05 rad", ("stopped",), STOP, driven(_device(angle_offset=0.05))),
    Case("angles lie by 0.002 rad", ("active", "stopped"), WATCHED, driven(_device(angle_offset=0.002), borne=True)),
    Case("an angle is stuck", ("stopped",), STUCK, driven(_device(angle_stuck=1.0))),
    Case("commands cease", ("inactive",), HOST, driven(lambda *_: None, goes_on=False)),
    Case("cycle killed", ("closed",), STOP, driven(lambda robot, _: os.kill(robot.cycle_pid, signal.SIGKILL))),
)
