# SPDX-License-Identifier: Apache-2.0
"""Periods of the cycle of a PA-10: on an idle machine, and with a busy process on each processor.

`python -m benchmarks.hardware [--minutes 10] [--json FOLDER]`. The emulated device, the cycle and the commanding
program are processes on a real socket; the emulator has the higher real-time priority, because a device has its own
processor. Times are those of the flight recorder.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.simulation.record.mcap_files import MCAP_MAGIC, TopicMessage, read_topics
from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.robot import Robot
from ada_robot.contract import Mode
from ada_robot.errors import HardwareError, Refused
from ada_robot.safety.flight_file import CYCLE
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings
from benchmarks.report import Report, describe_machine, require, run_sections
from benchmarks.ros.figures import Keeping, Rows, Window, is_explained, keeping, quantiles
from benchmarks.ros.world import cpus, stolen

PERIOD = 0.002  # [s]
PERIOD_NS = round(1e9 * PERIOD)
DEVICE = 0.010  # [s]
CYCLE_SIZE = 5 * 8  # [byte] of the numbers of a cycle in a flight record
EMULATOR_PRIORITY = 70  # real-time, above the cycle
TRIES, PAUSE = 30, 0.1  # of an activation, and time between two of them [s]
PATIENCE = 60.0  # [s]
LONGEST = 60.0  # [min]
BUSY = "while True: sum(range(1000))"
SETTLE = 2.0  # [s] before anything counts
HOST = 100.0  # [Hz] of commands
COLUMNS = [
    "period [ms]", "p50", "p99", "p99.9", "max", "missed", "unexplained", "> 10 ms", "unexplained", "slowed", "stops",
    "answers missed", "of", "stolen", "unsafe",
]  # fmt: skip


class Gaps(NamedTuple):
    """Times between exchanges with the device while its motors follow demands.

    Attributes:
        periods: median, 99 %, 99.9 %, longest [s].
        missed: periods without an exchange.
        unexplained: of these, those while no bare process was as late.
        beyond: gaps longer than the watchdog of the device, after which it has braked and the robot was stopped.
        beyond_unexplained: of these, likewise.
    """

    periods: NDArray[np.float64]
    missed: int
    unexplained: int
    beyond: int
    beyond_unexplained: int


def main(arguments: list[str] | None = None) -> int:
    """Measure; 1 if a target is missed, 2 if the measurement failed."""
    parser = argparse.ArgumentParser("python -m benchmarks.hardware", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="idle, and busy (default 10)")
    parser.add_argument("--quick", action="store_true", help="check that it runs; figures mean little")
    parser.add_argument(
        "--json", type=Path, metavar="FOLDER", default=Path("out/bench_hw"), help="for raw data and figures.json"
    )
    chosen = parser.parse_args(arguments)
    require(parser, "--minutes", chosen.minutes, LONGEST)
    seconds = 0.6 if chosen.quick else 60.0 * chosen.minutes
    report, folder = Report(describe_machine("not pinned")), chosen.json
    method = f"method: raw data and figures are in {folder}"
    sections = {"cycle": lambda: run(report, folder / "cycle", seconds, chosen.quick)}
    return run_sections(report, method, sections, folder / "figures.json")


def run(report: Report, folder: Path, seconds: float, quick: bool) -> None:
    """Measure idle and busy, some seconds each; a quick run measures busy only and has no targets."""
    report.begin("cycle", f"PA-10 at {PERIOD * 1e3:g} ms, commanded at {HOST:g} Hz, {seconds:g} s each")
    rows: list[list[object]] = []
    cases: dict[str, list[int]] = {} if quick else {"idle machine": []}
    cases["a busy sibling on each CPU"] = cpus()
    for name, busy in cases.items():
        gaps, counts, bare = _measured(folder / name.split()[1], seconds, busy)
        rows.append([name, *(1e3 * gaps.periods).tolist(), *gaps[1:], *counts])
        for cpu, one in zip(cpus(), bare, strict=True):
            rows.append([f"  bare, CPU {cpu}", *one.milliseconds[:4], one.missed, *[""] * 9])
        if not quick:
            report.aim(
                f"{name}: gaps beyond the device's watchdog that nothing explains", gaps.beyond_unexplained, 0.0, ""
            )
            report.aim(f"{name}: missed cycles that nothing explains", gaps.unexplained, 0.0, "")
            report.aim(f"{name}: unsafe commands", counts[-1], 0.0, "")
    report.table("exchanges while the arm follows commands", COLUMNS, rows)
    report.note("bare: processes of a lower real-time priority that only sleep; their delays are those of the machine")


@contextmanager
def _bare(folder: Path, cpu: int) -> Iterator[None]:
    """A process that only sleeps, with a real-time priority below the cycle's where that is allowed."""
    arguments = [str(PERIOD_NS), str(cpu), str(folder / f"bare{cpu}.npy")]
    command = [sys.executable, "-m", "benchmarks.ros.bare", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()  # ready
        try:
            os.sched_setscheduler(process.pid, os.SCHED_FIFO, os.sched_param(SafetySettings().realtime_priority - 1))
        except OSError:
            print("    note: no real-time priority here; the figures are those of an ordinary process")
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20.0)
        if process.stdout is not None:
            process.stdout.close()


@contextmanager
def _sibling(cpu: int) -> Iterator[None]:
    """A process that keeps a CPU busy."""
    process = subprocess.Popen([sys.executable, "-c", f"import os; os.sched_setaffinity(0, {{{cpu}}})\n{BUSY}"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _measured(folder: Path, seconds: float, busy: list[int]) -> tuple[Gaps, list[float], list[Keeping]]:
    """Gaps of the cycle; slowed, stops, answers missed and sent, stolen share, unsafe messages; the bare processes."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("flight_*"):
        old.unlink()
    safety = SafetySettings(record_folder=str(folder), record_seconds=min(3600.0, seconds + 60.0))
    with EmulatorProcess("pa10", priority=EMULATOR_PRIORITY) as device, ExitStack() as stack:
        with Robot("pa10", {"url": device.url}, safety) as robot:
            for cpu in cpus():
                stack.enter_context(_bare(folder, cpu))
            for cpu in busy:
                stack.enter_context(_sibling(cpu))
            _activate(robot)
            _move(robot, min(SETTLE, seconds))
            begin, before, steal = time.monotonic_ns(), robot.status().counts, stolen()
            stops = _move(robot, seconds)
            window = Window(begin, time.monotonic_ns())
            share = (stolen() - steal) / window.seconds
            status = robot.status()
            path = robot.save_flight_record("benchmark", 600.0)
        unsafe = len(device.violations())
    bare: list[Rows] = [np.load(folder / f"bare{cpu}.npy") for cpu in cpus()]
    missed, sent = status.counts.missed - before.missed, status.counts.sent - before.sent
    counts = [status.late_cycles, stops, missed, sent, share, unsafe]
    keepings = [keeping(one, window, PERIOD_NS, []) for one in bare]
    return _gaps(*_cycles(Path(path)), window, bare), counts, keepings


def _cycles(path: Path) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Steady times of the cycles of a flight record [s], and whether each had a demand."""
    offsets: list[int] = []
    rows: list[tuple[int, float]] = []

    def take(messages: Sequence[TopicMessage]) -> None:
        rows.extend((at, np.frombuffer(raw[-CYCLE_SIZE:])[1]) for _, at, raw in messages)

    with path.open("rb") as file:
        file.read(len(MCAP_MAGIC))
        problem = read_topics(file, [CYCLE], lambda _, texts: offsets.append(int(texts["wall_offset"])), take)
    if problem:
        raise RuntimeError(f"{path}: {problem}")
    return np.array([(at - offsets[0]) * 1e-9 for at, _ in rows]), np.array([mode >= 0.0 for _, mode in rows])


def _gaps(times: NDArray[np.float64], is_driven: NDArray[np.bool_], window: Window, bare: list[Rows]) -> Gaps:
    """From one exchange to the next, if the first one was a demand."""
    inside = is_driven[:-1] & (times[:-1] >= 1e-9 * window.begin) & (times[1:] < 1e-9 * window.end)
    gaps = np.diff(times)[inside]
    ends = times[1:][inside]
    missed = np.maximum(np.floor(gaps / PERIOD + 0.5).astype(int) - 1, 0)
    late = np.flatnonzero(missed)
    explained = np.ones(len(gaps), dtype=bool)
    for i in late.tolist():
        end = round(1e9 * ends[i])
        explained[i] = is_explained(end - round(1e9 * gaps[i]) + PERIOD_NS, end, PERIOD_NS, bare)
    beyond = gaps > DEVICE
    return Gaps(
        periods=quantiles(gaps),
        missed=int(missed.sum()),
        unexplained=int(missed[~explained].sum()),
        beyond=int(beyond.sum()),
        beyond_unexplained=int((beyond & ~explained).sum()),
    )


def _activate(robot: Robot) -> None:
    """Activate a robot from any phase, after a reset if a suspended machine has stopped it."""
    for attempt in range(1, TRIES + 1):
        try:
            if robot.phase is Phase.CLOSED:
                with suppress(HardwareError):
                    robot.close()
                robot.open(PATIENCE)
            end = time.monotonic() + PATIENCE
            while robot.phase not in (Phase.INACTIVE, Phase.STOPPED) and time.monotonic() < end:
                time.sleep(0.001)
            if robot.phase is Phase.STOPPED:
                robot.reset()
            robot.wait_feedback()
            robot.activate()
            return
        except HardwareError:
            if attempt == TRIES:
                raise
            time.sleep(PAUSE)


def _move(robot: Robot, seconds: float) -> int:
    """Move all joints back and forth; returns the number of stops, each with a reset."""
    begin, stops = time.monotonic(), 0
    while (passed := time.monotonic() - begin) < seconds:
        try:
            robot.command(Mode.VELOCITY, [0.2 * float(np.sin(passed))] * len(robot.joints))
        except Refused:
            stops += 1
            print(f"    at {passed:.1f} s {robot.phase.value}: {robot.reason}", flush=True)
            _activate(robot)
        time.sleep(1.0 / HOST)
    return stops


if __name__ == "__main__":
    sys.exit(main())
