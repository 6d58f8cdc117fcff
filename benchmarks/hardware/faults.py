# SPDX-License-Identifier: Apache-2.0
"""What happens when programs, processes, wires and devices fail: how long until the robot is safe, what was sent."""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ada_hardware.emulation.process import EmulatorProcess
from ada_robot.safety.flight_file import FlightRecord
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings
from ada_robot.timing.realtime import set_realtime_priority
from benchmarks.hardware.scene import (
    EMULATOR_PRIORITY,
    Host,
    SpoiledError,
    first_rest,
    first_slower,
    is_alive,
    record_at,
    record_in,
    records,
    unspoiled,
    until,
)
from benchmarks.report import Report

PERIOD = 0.002  # [s] of the PA-10's cycle
SPEED = 0.25  # [rad/s]
SAFETY = SafetySettings()
DEVICE = 0.010  # [s] after which the controller of a PA10-7CE stops by itself
LATE = (0.001, 0.005, 0.010, 0.050, 0.400)  # [s]
LOSSES = (0.01, 0.10, 0.50)
LOSS_SECONDS = 10.0
QUICK = ("host killed", "cable pulled")  # of all faults
MEASURING = 30  # real-time priority of this process, below the cycle's
ASKING = 0.002  # [s] that a question to the emulator may take: what is seen of it is so much later
NOTHING = math.nan  # nothing was to be safe from


class Trial(NamedTuple):
    """What came of a fault.

    Attributes:
        safe: from the fault to the first demand that slows down, or to the device's own brakes [s].
        rest: from the fault to the demand to stand [s].
        unsafe: what came to the device that must not.
        after: what the robot did then.
    """

    safe: float
    rest: float
    unsafe: list[str]
    after: str


Scenario = Callable[[EmulatorProcess, Path, float], Trial]


def run(report: Report, folder: Path, repeats: int, quick: bool) -> None:
    """All faults, each several times.

    Args:
        report: gets the table and the targets.
        folder: for flight records.
        repeats: trials of each.
        quick: two of them.
    """
    with _hurried():
        _measure(report, folder, repeats, quick)


@contextmanager
def _hurried() -> Iterator[None]:
    """With a priority at which this process sees in time what the emulator says."""
    if not hasattr(os, "sched_getscheduler"):
        yield
        return
    policy, usual = os.sched_getscheduler(0), os.sched_getparam(0)
    set_realtime_priority(MEASURING)
    try:
        yield
    finally:
        os.sched_setscheduler(0, policy, usual)


def _measure(report: Report, folder: Path, repeats: int, quick: bool) -> None:
    report.begin("faults", f"PA-10 at {PERIOD * 1e3:g} ms, each {repeats} times, the slowest counts")
    rows: list[list[object]] = []
    for name, watchdog, scenario in _scenarios():
        if quick and name not in QUICK:
            continue
        places = [folder / f"{_plain(name)}_{i}" for i in range(repeats)]
        made = [unspoiled(report, at.name, partial(_trial, scenario, at, i)) for i, at in enumerate(places)]
        trials = [trial for trial in made if trial is not None]
        report.aim(f"{name}: trials that the machine let happen", float(len(trials)), float(repeats), "", at_least=True)
        if not trials:
            rows.append([name, _ms(watchdog), _ms(watchdog + PERIOD), "not seen", "not seen", "not seen", ""])
            continue
        limit = watchdog + PERIOD
        safe, rest = (_slowest([getattr(trial, what) for trial in trials]) for what in ("safe", "rest"))
        unsafe = [text for trial in trials for text in trial.unsafe]
        after = " / ".join(dict.fromkeys(trial.after for trial in trials))
        rows.append([name, _ms(watchdog), _ms(limit), _ms(safe), _ms(rest), len(unsafe), after])
        print("   ", *rows[-1], flush=True)
        if unsafe:
            report.note(f"{name}: {unsafe[0]}")
        report.aim(f"{name}: unsafe commands", float(len(unsafe)), 0.0, "")
        if not math.isnan(safe):
            report.aim(f"{name}: time to the safe state", 1e3 * safe, 1e3 * limit, "ms")
    report.table(
        "fault, and how long until the robot is safe",
        ["[ms]", "watchdog", "limit", "slows down", "told to stand", "unsafe", "afterwards"],
        rows,
    )
    report.note("limit: the watchdog that notices, and one period; 'nothing' where nothing was to be noticed")


def _slowest(times: Sequence[float]) -> float:
    """The longest of those that there are; a host that is hardly late is held in some trials, and not in others."""
    return max((time for time in times if not math.isnan(time)), default=NOTHING)


def _plain(name: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in name)


def _ms(seconds: float) -> object:
    if math.isnan(seconds):
        return "nothing"
    return round(1e3 * seconds, 2)


def _trial(scenario: Scenario, folder: Path, number: int) -> Trial:
    folder.mkdir(parents=True, exist_ok=True)
    for old in records(folder):
        old.unlink()
    with EmulatorProcess("pa10", priority=EMULATOR_PRIORITY) as device:
        return scenario(device, folder, SPEED if number % 2 == 0 else -SPEED)


def _scenarios() -> Sequence[tuple[str, float, Scenario]]:
    silence = (SAFETY.max_missed + 1) * PERIOD
    listed: list[tuple[str, float, Scenario]] = [
        (f"host late by {1e3 * late:g} ms", SAFETY.command_timeout, _late(late)) for late in LATE
    ]
    listed += [
        ("host killed", 0.0, _host_killed),
        ("host frozen", SAFETY.command_timeout, _host_frozen),
        ("cycle killed", DEVICE + ASKING, _cycle_killed),
        ("cycle frozen", DEVICE + ASKING, _cycle_frozen),
        ("device killed", silence, _device_gone(lambda device: device.kill())),
        ("device frozen", silence, _device_gone(lambda device: device.freeze())),
        ("cable pulled", silence, _device_gone(lambda device: device.fault("disconnect", 1.0))),
    ]
    listed += [(f"{100 * share:g} % of packets lost", silence, _loss(share, LOSS_SECONDS)) for share in LOSSES]
    return listed


# --- the commanding program ---------------------------------------------------------------------------------------
def _late(late: float) -> Scenario:
    def scenario(device: EmulatorProcess, folder: Path, speed: float) -> Trial:
        with Host(device.url, folder, speed) as host:
            host.tell(f"late {late}")
            last = float(host.heard("late")["last_command"])
            time.sleep(0.2)
            host.tell("save")
            record = record_at(host.heard("saved")["path"])
            host.tell("end")
            host.wait()
        # commands come again: what matters is what was told until then
        slower = first_slower(record, last, abs(speed))
        within = slower < last + late + PERIOD
        if not within:
            missed = math.inf if late > SAFETY.command_timeout + PERIOD else NOTHING
            return Trial(missed, missed, _violations(device), "went on")
        rest = first_rest(record, last)
        return Trial(slower - last, rest - last, _violations(device), "held, went on")

    return scenario


def _host_killed(device: EmulatorProcess, folder: Path, speed: float) -> Trial:
    with Host(device.url, folder, speed) as host:
        killed = host.send(signal.SIGKILL)
        died = host.wait_silence()
        until(lambda: not is_alive(host.cycle_pid), "the end of the cycle's process")
    # the system takes some time to end a process; only then its sockets are closed
    after = f"closed; the host's end took {1e3 * (died - killed):.3g} ms"
    return _of_record(record_in(folder), died - PERIOD, speed, device, after, PERIOD)


def _host_frozen(device: EmulatorProcess, folder: Path, speed: float) -> Trial:
    with Host(device.url, folder, speed) as host:
        froze = host.send(signal.SIGSTOP)
        until(lambda: _is_braked(device), "the brakes")
        host.send(signal.SIGCONT)
        record = record_at(host.heard("refused")["path"])
        host.wait()
    return _of_record(record, froze, speed, device, "inactive")


# --- the cycle ----------------------------------------------------------------------------------------------------
def _cycle_killed(device: EmulatorProcess, folder: Path, speed: float) -> Trial:
    with Host(device.url, folder, speed) as host:
        died = time.monotonic()
        os.kill(host.cycle_pid, signal.SIGKILL)
        braked = until(lambda: _is_braked(device), "the device's own brakes")
        host.wait()
    record = record_in(folder)
    return Trial(braked - died, braked - died, _violations(device), f"device braked, {len(record.rows)} rows kept")


def _cycle_frozen(device: EmulatorProcess, folder: Path, speed: float) -> Trial:
    with Host(device.url, folder, speed) as host:
        froze = time.monotonic()
        os.kill(host.cycle_pid, signal.SIGSTOP)
        braked = until(lambda: _is_braked(device), "the device's own brakes")
        time.sleep(0.05)
        os.kill(host.cycle_pid, signal.SIGCONT)
        record = record_at(host.heard("refused")["path"])
        host.wait()
    return Trial(braked - froze, braked - froze, _violations(device), f"device braked, then {_last_phase(record)}")


def _is_braked(device: EmulatorProcess) -> bool:
    return all(way == "braked" for way in device.state()["ways"])


# --- the device and its wire --------------------------------------------------------------------------------------
def _device_gone(fault: Callable[[EmulatorProcess], object]) -> Scenario:
    def scenario(device: EmulatorProcess, folder: Path, speed: float) -> Trial:
        with Host(device.url, folder, speed) as host:
            gone = time.monotonic()
            fault(device)
            record = record_at(host.heard("refused")["path"])
            host.wait()
        stopped = _stopped_at(record, gone)
        device.thaw()
        unsafe = _violations(device) if device.is_alive else []
        return Trial(stopped - gone, stopped - gone, unsafe, _last_phase(record))

    return scenario


def _loss(share: float, seconds: float) -> Scenario:
    """Some loss is borne; where it is too much, the time is counted from the last answer, or the device's alarm."""

    def scenario(device: EmulatorProcess, folder: Path, speed: float) -> Trial:
        with Host(device.url, folder, speed / 5.0) as host:
            device.fault("drop", share)
            end = time.monotonic() + seconds
            time.sleep(max(0.0, end - time.monotonic()))
            host.tell("save")
            said = host.heard("saved", "refused")
            after = "went on" if said["event"] == "saved" else ""
            record = record_at(said["path"])
            host.close()
        unsafe = _violations(device)
        if after:
            return Trial(NOTHING, NOTHING, unsafe, after)
        stopped = _stopped_at(record, 0.0)
        fresh = (record.rows[:, 0] < stopped) & (record.rows[:, 3].astype(int) & 1 == 1)
        last = float(record.rows[fresh, 0][-1])
        alarm = "alarm" if record.rows[record.rows[:, 0] >= stopped][0, 4] else "no answer"
        return Trial(stopped - last, stopped - last, unsafe, f"stopped: {alarm}")

    return scenario


# --- reading the record -------------------------------------------------------------------------------------------
def _of_record(
    record: FlightRecord, begin: float, speed: float, device: EmulatorProcess, after: str, sooner: float = 0.0
) -> Trial:
    """Times from `begin`, of which `sooner` does not count."""
    before = [phase for time, phase in zip(record.rows[:, 0], record.phases, strict=True) if time <= begin]
    if not before or before[-1] != Phase.ACTIVE.value:
        raise SpoiledError(f"the robot was {before[-1] if before else 'not there'} when it was to fail.")
    slower, rest = first_slower(record, begin, abs(speed)), first_rest(record, begin)
    return Trial(slower - begin - sooner, rest - begin - sooner, _violations(device), after)


def _stopped_at(record: FlightRecord, after: float) -> float:
    """When it first stood after a fault; inf: never.

    Raises:
        SpoiledError: it stood before, for another reason: the machine was late.
    """
    stopped = record.rows[np.array(record.phases) == "stopped", 0]
    if stopped.size and stopped[0] <= after:
        raise SpoiledError(f"it had stopped before the fault: {record.why}")
    return float(stopped[0]) if stopped.size else math.inf


def _last_phase(record: FlightRecord) -> str:
    return record.phases[-1] + (": " + record.why.split(";")[0][:40] if record.phases[-1] == "stopped" else "")


def _violations(device: EmulatorProcess) -> list[str]:
    return [violation.text for violation in device.violations()]
