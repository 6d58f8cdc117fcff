# SPDX-License-Identifier: Apache-2.0
"""A device, a program that commands it, and what the flight recorder and the emulator say about it afterwards."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError
from ada_hardware.robot import Robot
from ada_robot.errors import HardwareError
from ada_robot.safety import flight_file
from ada_robot.safety.flight_file import FlightRecord
from ada_robot.safety.flight_recorder import sibling_environment
from ada_robot.safety.phases import Phase
from benchmarks.report import Report

EMULATOR_PRIORITY = 70  # real-time, above the cycle: a device has a processor of its own
ATTEMPTS = 20  # of a trial that a machine which stands still has spoiled
TRIES, PAUSE = 30, 0.1  # of an activation, and between two of them [s]
T = TypeVar("T")
_PATIENCE = 60.0  # [s] for anything to happen
_SAME = 1e-9  # [rad/s] to which two demands are the same


class SpoiledError(AdaError):
    """Something else came between: as a rule the machine stood still, and the robot was stopped for that."""


def unspoiled(report: Report, name: str, trial: Callable[[], T]) -> T | None:
    """What a trial gives in the first attempt that nothing spoiled; None where all were, which the report says."""
    problem: Exception | None = None
    for attempt in range(1, ATTEMPTS + 1):
        try:
            found = trial()
        except (SpoiledError, HardwareError, ProcessLookupError) as spoiled:
            problem = spoiled  # the robot was stopped, or its cycle had ended, before anything was to fail
            continue
        if problem is not None:
            report.note(f"{name}: attempt {attempt} counts; the one before was spoiled, for {problem}")
        return found
    report.note(f"{name}: {ATTEMPTS} attempts were spoiled, the last one, for {problem}")
    return None


class Host:
    """The program that commands, in a process of its own.

    Attributes:
        cycle_pid: number of the cycle's process.
    """

    def __init__(self, url: str, folder: Path, speed: float, *, hold: bool = False) -> None:
        """Start it, and wait until the robot is active and at its speed."""
        arguments = [url, str(folder), repr(speed), *(["--hold"] if hold else [])]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.hardware.host", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env=sibling_environment(),
        )
        self.cycle_pid = int(self.heard("active")["cycle"])
        time.sleep(0.5)  # the ramp, and some motion

    def heard(self, *events: str) -> dict[str, Any]:
        """The next thing that it says, which must be one of these."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        said: dict[str, Any] = json.loads(line) if line else {}
        if said.get("event") not in events:
            raise SpoiledError(f"the commanding program should have said {' or '.join(events)}, and said {line!r}.")
        return said

    def tell(self, line: str) -> None:
        """Tell it something; it may have ended."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write((line + "\n").encode())

    def send(self, number: int) -> float:
        """Send it a signal; when that was [s]."""
        self._process.send_signal(number)
        return time.monotonic()

    def wait(self) -> None:
        """Wait for its end."""
        self._process.wait(_PATIENCE)

    def wait_silence(self) -> float:
        """Wait until the system has closed its files, as it does at its death; when that was [s]."""
        assert self._process.stdout is not None
        while self._process.stdout.readline():
            pass
        return time.monotonic()

    def close(self) -> None:
        """Make sure that it is gone."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)
            self._process.kill()
        self._process.wait(_PATIENCE)
        for end in (self._process.stdin, self._process.stdout):
            if end is not None:
                end.close()

    def __enter__(self) -> Host:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def activated(robot: Robot, tries: int = TRIES) -> tuple[int, Array]:
    """Activate a robot, from whatever phase; a machine that stands still meanwhile may stop it before, and it is reset.

    Returns:
        The attempts that this took, and where the robot stood before the last one [rad].

    Raises:
        HardwareError: that helps not.
    """
    attempt = 0
    while True:
        attempt += 1
        try:
            if robot.phase is Phase.CLOSED:
                with suppress(HardwareError):
                    robot.close()
                robot.open(_PATIENCE)
            until(lambda: robot.phase in (Phase.INACTIVE, Phase.STOPPED), "rest")
            if robot.phase is Phase.STOPPED:
                robot.reset()
            before = robot.wait_feedback().position
            robot.activate()
            return attempt, before
        except HardwareError:
            if attempt >= tries:
                raise
            time.sleep(PAUSE)


def is_alive(pid: int) -> bool:
    """True if a process is there, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def until(condition: Callable[[], object], what: str) -> float:
    """Wait for something; when it was so [s].

    Raises:
        AdaError: it was not in a minute.
    """
    deadline = time.monotonic() + _PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise AdaError(f"{what}: not within {_PATIENCE:g} s.")
        time.sleep(0.0005)
    return time.monotonic()


# --- what a flight record says ------------------------------------------------------------------------------------
def records(folder: Path) -> list[Path]:
    """The flight records in a folder."""
    return sorted(folder.glob("flight_*"))


def record_in(folder: Path) -> FlightRecord:
    """A record of a folder that had none, once it is there."""
    until(lambda: records(folder), f"a flight record in {folder}")
    return flight_file.read(records(folder)[0])


def record_at(path: str) -> FlightRecord:
    """A record, once it is there."""
    until(Path(path).exists, f"the flight record {path}")
    return flight_file.read(Path(path))


def speeds(record: FlightRecord) -> Array:
    """Speed that the first joint was told in each cycle [rad/s]; NaN where nothing is driven."""
    return np.abs(record.vector(0)[:, 0])


def first_slower(record: FlightRecord, after: float, speed: float) -> float:
    """When the robot was first told less than a speed, or nothing that moves, after a time [s]; inf: never."""
    times, told = record.rows[:, 0], speeds(record)
    slower = (times > after) & ~(told >= speed - _SAME)
    return float(times[slower][0]) if slower.any() else float("inf")


def first_rest(record: FlightRecord, after: float) -> float:
    """When it was first told to stand, or nothing that moves, after a time [s]; inf: never."""
    times, told = record.rows[:, 0], speeds(record)
    rest = (times > after) & ~(told > 0.0)
    return float(times[rest][0]) if rest.any() else float("inf")
