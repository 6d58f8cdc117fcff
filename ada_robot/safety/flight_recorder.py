# SPDX-License-Identifier: Apache-2.0
"""Flight recorder: the last minutes of demands, states and phases, written to a file when a fault latches.

The cycle only fills rows of a shared memory. A separate process of low priority writes the file, so that the cycle is
not delayed, and the record survives the cycle process.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from ada_dynamics.arrays import Array
from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_robot.contract import Demand, Mode
from ada_robot.driver import Alarm, Feedback
from ada_robot.nonblocking_output import stderr_for_children
from ada_robot.ros.environment import child_environment
from ada_robot.safety.flight_memory import FIXED, VECTORS, FlightMemory
from ada_robot.safety.phases import Phase

PHASES, MODES = tuple(Phase), tuple(Mode)
FRESH, DRIVEN = 1, 2  # flags of a row
_PHASE_NUMBER = {phase: i for i, phase in enumerate(PHASES)}
_MODE_NUMBER = {mode: i for i, mode in enumerate(MODES)}
SUFFIX = ".mcap"


class FlightState(NamedTuple):
    """Content of a row written by `FlightRecorder.cycle`.

    Attributes:
        time: time of the cycle [s].
        phase: phase of the robot.
        demand: demand sent; None if no demand was sent.
        feedback: feedback, with the code of the first alarm only.
    """

    time: float
    phase: Phase
    demand: Demand | None
    feedback: Feedback


def flight_state(row: Array) -> FlightState:
    """Decode a row of the memory."""
    now, phase, mode, flags, alarm, reported_at = row[:FIXED].tolist()
    demanded, position, velocity, effort = row[FIXED:].reshape(VECTORS, -1)
    demand = None if mode < 0 else Demand(MODES[int(mode)], demanded)
    alarms = (Alarm(int(alarm), "see the program that drives the robot"),) if alarm else ()
    is_fresh, is_driven = bool(int(flags) & FRESH), bool(int(flags) & DRIVEN)
    feedback = Feedback(reported_at, position, velocity, effort, is_fresh, is_driven, alarms)
    return FlightState(now, PHASES[int(phase)], demand, feedback)


def record_folder(setting: str) -> Path:
    """Return the folder of flight records.

    Args:
        setting: `SafetySettings.record_folder`; empty for the state folder of the user.
    """
    if setting:
        return Path(setting).expanduser()
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "ada_dynamics" / "flights"


def sibling_environment() -> dict[str, str]:
    """Return an environment in which a child process finds the same Python modules."""
    folders = [entry or str(Path.cwd()) for entry in sys.path]
    return {**child_environment(), "PYTHONPATH": os.pathsep.join(folders)}


class FlightRecorder:
    """Fills the memory, and starts the process that writes it.

    Attributes:
        newest: path of the latest record; "" before the first.
    """

    def __init__(self, descriptor: int, folder: Path, keep: int, clock: Clock = SYSTEM_CLOCK) -> None:
        """Map the memory.

        Args:
            descriptor: descriptor of the memory, see `flight_memory.new_memory`.
            folder: folder of the records.
            keep: number of records to keep.
            clock: wall clock that names the records.
        """
        self._descriptor, self._folder, self._keep, self._clock = descriptor, folder, keep, clock
        self._environment = sibling_environment()  # computed here: too slow for a cycle
        self._memory = FlightMemory(descriptor)
        count = len(self._memory.flight.joints)
        self._vectors = [slice(FIXED + i * count, FIXED + (i + 1) * count) for i in range(4)]
        self._writers: list[subprocess.Popen[bytes]] = []
        self.newest = ""

    # --- called in each cycle -------------------------------------------------------------------------------------
    def cycle(self, now: float, phase: Phase, demand: Demand | None, feedback: Feedback) -> None:
        """Record one exchange."""
        row = self._memory.next_row()
        flags = FRESH * feedback.is_fresh | DRIVEN * feedback.is_driven
        mode = -1 if demand is None else _MODE_NUMBER[demand.mode]
        alarm = feedback.alarms[0].code if feedback.alarms else 0
        row[:FIXED] = now, _PHASE_NUMBER[phase], mode, flags, alarm, feedback.time
        demanded, position, velocity, effort = self._vectors
        row[demanded] = math.nan if demand is None else demand.values
        row[position] = feedback.position
        row[velocity] = feedback.velocity
        row[effort] = feedback.effort
        self._memory.written()

    def event(self, now: float, text: str) -> None:
        """Record an event."""
        self._memory.event(now, text)

    # --- file -----------------------------------------------------------------------------------------------------
    def save(self, why: str) -> subprocess.Popen[bytes]:
        """Start a process that writes the record, without waiting for it.

        Args:
            why: reason stored in the file.

        Raises:
            OSError: if the process cannot be started.
        """
        self._writers = [writer for writer in self._writers if writer.poll() is None]
        wall = self._clock.wall()
        stamp = time.strftime("%Y%m%d_%H%M%S", time.localtime(wall)) + f"_{int(wall * 1e3) % 1000:03d}"
        path = self._folder / f"flight_{self._memory.flight.device}_{stamp}{SUFFIX}"
        self.newest = str(path)
        arguments = [str(self._descriptor), str(path), str(self._keep), why]
        writer = subprocess.Popen(
            [sys.executable, "-m", "ada_robot.safety.flight_file", *arguments],
            pass_fds=[self._descriptor],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr_for_children(),
            start_new_session=True,
        )
        self._writers.append(writer)
        return writer
