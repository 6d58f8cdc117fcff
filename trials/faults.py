# SPDX-License-Identifier: Apache-2.0
"""Faults in a robot that moves, and in recordings: `python -m trials.faults [--only TEXT] [--seed 1] [--json FILE]`.

Device, cycle and recording program are processes of their own. Each case begins anew and must end in its state within
its time, counted from the fault until the state is seen; the exit status is 1 where one does not.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from ada_dynamics.errors import RecordingCutShortWarning
from ada_dynamics.simulation.log import Log
from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.robot import Robot
from ada_robot.contract import Mode
from ada_robot.errors import HardwareError
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings

SPEED = 0.1  # [rad/s]
STOP = 0.5  # [s]: ten missed answers or the following error, the ramp, and what it takes to see it
HOST = 1.5  # [s]: host_timeout, the ramp, and what it takes to see it
WATCHED = 2.0  # [s] that a fault must be borne
ENDS = 20.0  # [s] after which a case has failed
ROWS = """
import sys, numpy as np, ada_dynamics as ada
from ada_dynamics.errors import RecordingError
from ada_dynamics.simulation.record.recorder import McapRecorder
model, rows = ada.load("pa10"), 0
with McapRecorder(sys.argv[1], model) as recorder:
    try:
        while True:
            x = np.zeros((1000, model.nv))
            recorder.append((rows + np.arange(1000)) * 1e-3, x, x, x, x)
            rows += 1000
            print(rows, flush=True)
    except RecordingError as problem:
        sys.exit(7)
"""
CHUNK = 2**20  # [byte], and a thousand rows, may be open
ROW = 8 * (1 + 4 * 7)  # [byte]


class Outcome(NamedTuple):
    """Result of a case: the state that it ended in, after how long [s], and what was unsafe or lost."""

    state: str
    seconds: float
    problems: list[str]


class Case(NamedTuple):
    """A fault, the states that it may end in, and the time that it has [s]."""

    name: str
    states: tuple[str, ...]
    limit: float
    run: Callable[[int], Outcome]


Fault = Callable[[Robot, EmulatorProcess], object]


def _driven(fault: Fault, *, borne: bool = False, goes_on: bool = True) -> Callable[[int], Outcome]:
    """An emulated PA-10 at some speed, and a fault."""

    def run(seed: int) -> Outcome:
        with tempfile.TemporaryDirectory() as folder, EmulatorProcess("pa10", seed=seed) as device:
            robot = Robot("pa10", {"url": device.url}, SafetySettings(record_folder=folder))
            with robot:
                robot.wait_feedback(5.0)
                robot.activate()
                _command(robot, 0.3)
                at = time.monotonic()
                fault(robot, device)
                end = at + (WATCHED if borne else ENDS)
                while time.monotonic() < end and robot.phase is Phase.ACTIVE:
                    _command(robot, 0.0) if goes_on else time.sleep(0.001)
                while time.monotonic() < end and robot.phase in (Phase.STOPPING, Phase.STARTING):
                    time.sleep(0.001)
                state, seconds = robot.phase.value, time.monotonic() - at
                device.thaw()
                problems = [one.text for one in device.violations()] if device.is_alive else []
                if robot.phase is Phase.STOPPED:
                    problems += _kept(robot)
                if robot.cycle_pid:
                    os.kill(robot.cycle_pid, signal.SIGCONT)
            return Outcome(state, 0.0 if borne and state == "active" else seconds, problems)

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
    """What is wrong with the flight record, which a stop writes by itself."""
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


def _recording(fault: Callable[[subprocess.Popen[str], Path], object], code: int) -> Callable[[int], Outcome]:
    """A program that records, and a fault: of what it had handed over, no more than the open chunk may be lost."""

    def run(_: int) -> Outcome:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "run.mcap")
            with subprocess.Popen(
                [sys.executable, "-c", ROWS, str(path)], stdout=subprocess.PIPE, text=True
            ) as program:
                assert program.stdout is not None
                rows = 0
                while rows < 20_000:
                    rows = int(program.stdout.readline())
                at = time.monotonic()
                fault(program, path)
                rows = max([rows, *(int(line) for line in program.stdout.read().split())])
                ended = program.wait(ENDS)
                seconds = time.monotonic() - at
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RecordingCutShortWarning)
                kept = len(Log.load(path))
        lost = rows - kept
        problems = [] if lost <= CHUNK // ROW + 1000 else [f"{lost} rows are lost"]
        return Outcome("readable" if ended == code else f"exit code {ended}", seconds, problems)

    return run


def _fill_disk(program: subprocess.Popen[str], path: Path) -> None:
    size = path.stat().st_size + 100_000
    resource.prlimit(program.pid, resource.RLIMIT_FSIZE, (size, size))


CASES = (
    Case("device killed", ("stopped",), STOP, _driven(lambda _, device: device.kill())),
    Case("device frozen", ("stopped",), STOP, _driven(lambda _, device: device.freeze())),
    Case("cable out", ("stopped",), STOP, _driven(_device(disconnect=1.0))),
    Case("device answers nothing", ("stopped",), STOP, _driven(_device(silence=1.0))),
    Case("emergency stop", ("stopped",), STOP, _driven(_device(emergency_stop=1.0))),
    Case("all packets lost", ("stopped",), STOP, _driven(_device(drop=1.0))),
    Case("each packet doubled", ("active", "stopped"), WATCHED, _driven(_device(duplicate=1.0), borne=True)),
    Case("a fifth out of order", ("active", "stopped"), WATCHED, _driven(_device(reorder=0.2), borne=True)),
    Case("angles lie by noise", ("active", "stopped"), WATCHED, _driven(_device(angle_noise=50.0), borne=True)),
    Case("commands cease", ("inactive",), HOST, _driven(lambda *_: None, goes_on=False)),
    Case("cycle killed", ("closed",), STOP, _driven(lambda robot, _: os.kill(robot.cycle_pid, signal.SIGKILL))),
    Case("recording program killed", ("readable",), STOP, _recording(lambda program, _: program.kill(), -9)),
    Case("disk full while recording", ("readable",), 5.0, _recording(_fill_disk, 7)),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign; 1 where a case did not end as it must."""
    parser = argparse.ArgumentParser("python -m trials.faults", description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose names have it")
    parser.add_argument("--seed", type=int, default=1, help="of what is random (default 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="gets a line per case")
    chosen = parser.parse_args(arguments)
    rows = []
    print(f"{'case':28} {'ended':10} {'after [s]':>10} {'limit [s]':>10}")
    for case in CASES:
        if chosen.only not in case.name:
            continue
        try:
            state, seconds, problems = case.run(chosen.seed)
        except HardwareError as problem:
            state, seconds, problems = "not tried", 0.0, [str(problem)]
        holds = state in case.states and seconds <= case.limit and not problems
        print(f"{case.name:28} {state:10} {seconds:10.3f} {case.limit:10.3f}  {'' if holds else 'FAILED'}", flush=True)
        for text in problems[:3]:
            print(f"    {text}")
        found = {"case": case.name, "state": state, "seconds": seconds, "limit": case.limit}
        rows.append({**found, "holds": holds, "problems": problems, "seed": chosen.seed})
    if chosen.json is not None:
        chosen.json.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return int(not all(row["holds"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
