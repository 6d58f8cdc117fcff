# SPDX-License-Identifier: Apache-2.0
"""How the cycle of a PA-10 keeps its period: alone, and beside processes that want all processors."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.robot import Robot
from ada_robot.contract import Mode
from ada_robot.errors import Refused
from ada_robot.safety import flight_file
from ada_robot.safety.settings import SafetySettings
from benchmarks.hardware.scene import EMULATOR_PRIORITY, activated, records
from benchmarks.report import Report
from benchmarks.ros.figures import Rows, Window, is_explained, keeping, quantiles
from benchmarks.ros.world import cpus, stolen

PERIOD = 0.002  # [s]
DEVICE = 0.010  # [s]
BUSY = "while True: sum(range(1000))"
SETTLE = 2.0  # [s] before anything counts
HOST = 100.0  # [Hz] at which this commands


class Gaps(NamedTuple):
    """Times between exchanges with the device while its motors follow demands.

    Attributes:
        periods: median, 99 %, 99.9 %, longest [s].
        missed: periods in which there should have been an exchange, and was none.
        unexplained: of these, those while no bare process was as late.
        beyond: gaps longer than the device waits: it has braked by itself, the robot was stopped.
        beyond_unexplained: of these, likewise.
    """

    periods: NDArray[np.float64]
    missed: int
    unexplained: int
    beyond: int
    beyond_unexplained: int


class Measured(NamedTuple):
    """A cycle over some time."""

    gaps: Gaps
    bare: list[list[float]]  # of each CPU: periods as above, missed
    slowed: int  # cycles after which it slowed down, being late
    misses: int  # answers that did not come
    sent: int
    stops: int  # after which it was reset and activated again
    unsafe: int
    stolen: float  # share of one core


def run(report: Report, folder: Path, seconds: float, quick: bool) -> None:
    """Idle and busy.

    Args:
        report: gets tables and targets.
        folder: for raw data.
        seconds: of each.
        quick: beside busy siblings alone, and nothing is compared with targets.
    """
    report.begin("cycle", f"PA-10 at {PERIOD * 1e3:g} ms, commanded at {HOST:g} Hz, {seconds:g} s each")
    columns = ["period [ms]", "p50", "p99", "p99.9", "max", "missed", "unexplained", "> 10 ms", "unexplained"]
    columns += ["slowed", "stops", "answers missed", "of", "stolen", "unsafe"]
    rows: list[list[object]] = []
    found = {} if quick else {"idle machine": _measured(folder / "idle", seconds, [])}
    found["a busy sibling on each CPU"] = _measured(folder / "busy", seconds, cpus())
    for name, one in found.items():
        gaps = one.gaps
        counts = [gaps.missed, gaps.unexplained, gaps.beyond, gaps.beyond_unexplained, one.slowed, one.stops]
        rows.append([name, *(1e3 * gaps.periods).tolist(), *counts, one.misses, one.sent, one.stolen, one.unsafe])
        for cpu, bare in zip(cpus(), one.bare, strict=True):
            rows.append([f"  bare, CPU {cpu}", *bare[:4], round(bare[4]), *[""] * 9])
    report.table("exchanges while the arm follows commands", columns, rows)
    report.note("bare: processes of a lower real-time priority that only sleep; what delays them is the machine itself")
    if quick:
        report.note("quick: nothing is compared with targets")
        return
    for name, one in found.items():
        report.aim(
            f"{name}: gaps beyond the device's watchdog that nothing explains", one.gaps.beyond_unexplained, 0.0, ""
        )
        report.aim(f"{name}: missed cycles that nothing explains", one.gaps.unexplained, 0.0, "")
        report.aim(f"{name}: unsafe commands", float(one.unsafe), 0.0, "")


@contextmanager
def _bare(folder: Path, cpu: int) -> Iterator[None]:
    """A process that only sleeps, with a real-time priority below the cycle's where that is allowed."""
    arguments = [str(round(1e9 * PERIOD)), str(cpu), str(folder / f"bare{cpu}.npy")]
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
    """A process that wants a CPU for itself."""
    process = subprocess.Popen([sys.executable, "-c", f"import os; os.sched_setaffinity(0, {{{cpu}}})\n{BUSY}"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _measured(folder: Path, seconds: float, busy: list[int]) -> Measured:
    folder.mkdir(parents=True, exist_ok=True)
    for old in records(folder):
        old.unlink()
    safety = SafetySettings(record_folder=str(folder), record_seconds=min(3600.0, seconds + 60.0))
    with EmulatorProcess("pa10", priority=EMULATOR_PRIORITY) as device, ExitStack() as stack:
        with Robot("pa10", {"url": device.url}, safety) as robot:
            for cpu in cpus():
                stack.enter_context(_bare(folder, cpu))
            for cpu in busy:
                stack.enter_context(_sibling(cpu))
            activated(robot)
            _move(robot, min(SETTLE, seconds))
            begin, before, steal = time.monotonic_ns(), robot.status().counts, stolen()
            stops = _move(robot, seconds)
            window = Window(begin, time.monotonic_ns())
            share = (stolen() - steal) / window.seconds
            status = robot.status()
            path = robot.save_flight_record("benchmark", 600.0)
        unsafe = len(device.violations())
    bare: list[Rows] = [np.load(folder / f"bare{cpu}.npy") for cpu in cpus()]
    return Measured(
        gaps=_gaps(flight_file.read(Path(path)), window, bare),
        bare=[_bare_figures(one, window) for one in bare],
        slowed=status.late_cycles,
        misses=status.counts.missed - before.missed,
        sent=status.counts.sent - before.sent,
        stops=stops,
        unsafe=unsafe,
        stolen=share,
    )


def _gaps(record: flight_file.FlightRecord, window: Window, bare: list[Rows]) -> Gaps:
    """From one exchange to the next, where the first one was a demand."""
    times, is_driven = record.rows[:, 0], np.isfinite(record.vector(0)[:, 0])
    inside = is_driven[:-1] & (times[:-1] >= 1e-9 * window.begin) & (times[1:] < 1e-9 * window.end)
    gaps = np.diff(times)[inside]
    ends = times[1:][inside]
    missed = np.maximum(np.floor(gaps / PERIOD + 0.5).astype(int) - 1, 0)
    late = np.flatnonzero(missed)
    period = round(1e9 * PERIOD)
    explained = np.ones(len(gaps), dtype=bool)
    for i in late.tolist():
        end = round(1e9 * ends[i])
        explained[i] = is_explained(end - round(1e9 * gaps[i]) + period, end, period, bare)
    beyond = gaps > DEVICE
    return Gaps(
        periods=quantiles(gaps),
        missed=int(missed.sum()),
        unexplained=int(missed[~explained].sum()),
        beyond=int(beyond.sum()),
        beyond_unexplained=int((beyond & ~explained).sum()),
    )


def _bare_figures(rows: Rows, window: Window) -> list[float]:
    one = keeping(rows, window, round(1e9 * PERIOD), [])
    return [*(1e3 * one.periods).tolist(), float(one.missed)]


def _move(robot: Robot, seconds: float) -> int:
    """All joints to and fro, slowly; how often the robot was stopped, and had to be reset."""
    begin, stops = time.monotonic(), 0
    while (passed := time.monotonic() - begin) < seconds:
        try:
            robot.command(Mode.VELOCITY, [0.2 * float(np.sin(passed))] * len(robot.joints))
        except Refused:
            stops += 1
            print(f"    at {passed:.1f} s {robot.phase.value}: {robot.reason}", flush=True)
            activated(robot)
        time.sleep(1.0 / HOST)
    return stops
