# SPDX-License-Identifier: Apache-2.0
"""A million commands that must not be followed: through the check, and a part of them through the wire."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_dynamics.errors import AdaError
from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.pa10.cyclic import ANGLE_COUNT
from ada_hardware.registry import DEVICES
from ada_robot.contract import Demand, Mode
from ada_robot.cycle.connection import CycleConnection
from ada_robot.cycle.runners import CycleProcess, made_driver
from ada_robot.safety.demand_guard import DemandGuard
from ada_robot.safety.joint_rules import JointRules
from ada_robot.safety.settings import SafetySettings
from benchmarks.hardware.scene import EMULATOR_PRIORITY, SpoiledError, unspoiled
from benchmarks.report import Report

THROUGH_WIRE = 0.02  # share of the commands
BATCH = 8  # commands per cycle through the wire: all of them are judged
PERIOD = 0.002  # [s]


def bad_commands(
    rules: JointRules, where: NDArray[np.float64], count: int, seed: int, clock: Clock = SYSTEM_CLOCK
) -> Iterator[Demand]:
    """Commands each of which breaks one rule, in one joint: not finite, over a limit, a jump, old, from the future."""
    random = np.random.default_rng(seed)
    joints = len(rules.names)
    modes = list(Mode)
    for kind, i, mode_index, sign, far in zip(
        random.integers(0, 6, count),
        random.integers(0, joints, count),
        random.integers(0, 3, count),
        random.choice([-1.0, 1.0], count),
        random.exponential(1.0, count),
        strict=True,
    ):
        mode, now = modes[mode_index], clock.now()
        values = where.copy() if mode is Mode.POSITION else np.zeros(joints)
        if kind == 0:
            values[i] = np.nan
        elif kind == 1:
            values[i] = sign * np.inf
        elif kind == 2:
            limit = {Mode.VELOCITY: rules.velocity, Mode.EFFORT: rules.effort}.get(mode)
            edge = (rules.upper if sign > 0.0 else -rules.lower)[i] if limit is None else limit[i]
            values[i] = sign * (edge + 1e-6 + far)
        elif kind == 3:
            mode = Mode.POSITION
            values = where.copy()
            values[i] += sign * (rules.step[i] + 1e-6 + far)
        elif kind == 4:
            now -= 0.1 + 1e-3 + far
        else:
            now += 0.02 + far
        yield Demand(mode, values, now)


def run(report: Report, count: int) -> None:
    """All of them.

    Args:
        report: gets the table and the targets.
        count: commands.
    """
    report.begin("commands", f"{count} commands that are not finite, over a limit, a jump, too old, from the future")
    safety = SafetySettings(record_seconds=0.0, hold_without_commands=True)
    driver = made_driver(DEVICES["pa10"].driver, {"url": "dry:"})
    rules = JointRules(driver.limits, safety)
    check = DemandGuard(rules, driver.modes, safety.command_timeout)
    where = np.array([0.0, 0.6, 0.0, 1.5, 0.0, 1.04, 0.0])
    begin = time.perf_counter()
    for command in bad_commands(rules, where, count, 1):
        check.judge(command, time.monotonic(), where)
    each = (time.perf_counter() - begin) / count
    rows: list[list[object]] = [
        ["through the check", count, check.accepted, dict(check.refused), f"{1e6 * each:.1f} us"]
    ]
    report.aim("bad commands that the check accepts", float(check.accepted), 0.0, "")
    sample = max(100, round(count * THROUGH_WIRE))
    seen = unspoiled(report, "through cycle and wire", partial(_through_wire, rules, sample, safety))
    if seen is None:
        raise AdaError("through cycle and wire: the machine stood still in each attempt.")
    accepted, refused, moved, unsafe = seen
    rows.append(["through cycle and wire", sample, accepted, refused, ""])
    report.table("bad commands", ["", "commands", "accepted", "refused", "each"], rows)
    report.aim("bad commands that the cycle accepts", float(accepted), 0.0, "")
    report.aim("bad commands that are not counted", float(sample - accepted - sum(refused.values())), 0.0, "")
    report.aim("what the arm moved meanwhile", moved, ANGLE_COUNT, "rad")
    report.aim("bad commands: unsafe ones on the wire", float(unsafe), 0.0, "")


def _through_wire(rules: JointRules, sample: int, safety: SafetySettings) -> tuple[int, dict[str, int], float, int]:
    """A robot that holds, and gets them with nothing before its cycle."""
    with EmulatorProcess("pa10", priority=EMULATOR_PRIORITY) as device:
        place = CycleProcess(DEVICES["pa10"].driver, {"url": device.url}, safety, -1)
        place.start(60.0)
        link = CycleConnection(place.fast, place.requests, safety.host_timeout)
        try:
            link.ask("open", 60.0)
            link.wait_newer(1.0)
            link.ask("activate", 10.0)
            seen = link.wait_newer(1.0)
            if seen is None:
                raise SpoiledError("nothing came from the cycle for 1 s.")
            start = seen.feedback.position.copy()
            for i, command in enumerate(bad_commands(rules, start, sample, 2)):
                link.command(command)
                if i % BATCH == BATCH - 1:
                    link.wait_newer(1.0)
            time.sleep(0.3)  # the next report
            seen, counts = link.newest, link.report
            assert seen is not None and counts is not None
            moved = float(np.abs(seen.feedback.position - start).max())
            link.ask("close", 10.0, why="done")
        finally:
            link.end()
            place.close()
            place.wait(5.0)
        return counts.accepted, dict(counts.refused), moved, len(device.violations())
