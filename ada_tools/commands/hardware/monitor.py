# SPDX-License-Identifier: Apache-2.0
"""Show joint positions or wrench, alarms and communication of a device.

Robots: joint positions, alarms, period and message counts. Sensors: wrench, rate and losses. A robot remains inactive
with its brakes on. A device has one host: a device that another program uses is refused, with the name of that
program. Ctrl-C ends the display.

Examples:
  ada hw monitor pa10 --emulator
  ada hw monitor khr1 --url /dev/ttyUSB0
  ada hw monitor netft --url udp://192.168.1.1:49152 --json --every 0.01 > wrench.jsonl
  ada hw monitor dynpick --emulator --fault fz=-20 --duration 5
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from ada_dynamics.execution import silence_logger
from ada_dynamics.structured_text.files import to_json
from ada_hardware.force_torque.pipeline import AXES
from ada_hardware.force_torque.sensor import ForceSensor
from ada_hardware.robot import Robot
from ada_hardware.self_test.device import Plugged, plugged
from ada_robot.driver import LinkCounts
from ada_robot.timing.deadlines import reduce_interpreter_jitter
from ada_tools.commands.common import seconds, table
from ada_tools.commands.hardware import add_device_arguments, chosen_target

_EVERY = {True: 0.2, False: 1.0}  # [s] display period, by whether the output is a terminal
_LONGEST_START = 90.0  # [s]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_device_arguments(parser)
    parser.add_argument("--duration", type=seconds, default=math.inf, metavar="S", help="end after S seconds")
    parser.add_argument(
        "--every", type=seconds, metavar="S", help="display period (default: 0.2, or 1 without a terminal)"
    )
    parser.add_argument("--json", action="store_true", help="print a line of JSON per period")


def run(options: argparse.Namespace) -> int:
    """Show the device until the end of the duration, or Ctrl-C."""
    what = chosen_target(options)
    if what.is_robot:
        what = what.with_defaults({} if what.is_real else {"record_seconds": 0.0})
    reduce_interpreter_jitter()  # sensor threads wake in time
    try:
        with silence_logger("ada_hardware"), plugged(what) as plug:  # the display replaces the log
            (_watch_robot if what.is_robot else _watch_sensor)(plug, options)
    except KeyboardInterrupt:
        print(file=sys.stderr)
    return 0


def _watch_robot(plug: Plugged, options: argparse.Namespace) -> None:
    robot = Robot(plug.target.kind.name, plug.settings, plug.target.safety())
    try:
        robot.open(_LONGEST_START)
        _look(options, lambda: robot_words(robot), lambda: robot_lines(robot, plug.where))
    finally:
        robot.close()


def _watch_sensor(plug: Plugged, options: argparse.Namespace) -> None:
    sensor = ForceSensor(plug.target.kind.name, plug.settings, plug.target.sensing())
    try:
        sensor.open()
        _look(options, lambda: sensor_words(sensor), lambda: sensor_lines(sensor, plug.where))
    finally:
        sensor.close()


def _look(options: argparse.Namespace, words: Callable[[], dict[str, Any]], lines: Callable[[], list[str]]) -> None:
    """Show the device periodically."""
    is_terminal = sys.stdout.isatty() and not options.json
    every = options.every or _EVERY[is_terminal]
    end, height = time.monotonic() + options.duration, 0
    due = time.monotonic()
    while True:
        due += every
        time.sleep(max(min(due, end) - time.monotonic(), 0.0))
        if options.json:
            print(to_json(words()), flush=True)  # NaN becomes null
        else:
            height = _show(lines(), height if is_terminal else 0)
        if time.monotonic() >= end:
            return


def _show(lines: list[str], height: int) -> int:
    """Print over the previous lines on a terminal; return the number of lines."""
    if height:
        sys.stdout.write(f"\x1b[{height}A\x1b[J")
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
    return len(lines)


def robot_words(robot: Robot) -> dict[str, Any]:
    """JSON data of a robot."""
    feedback, status = robot.feedback, robot.status()
    periods = status.periods
    return {
        "time": time.time(),
        "phase": status.phase.value,
        "reason": status.reason,
        "is_fresh": feedback.is_fresh,
        "joints": list(robot.joints),
        "position": feedback.position,
        "velocity": feedback.velocity,
        "effort": feedback.effort,
        "alarms": [{"code": one.code, "text": one.text, "joint": one.joint} for one in status.alarms],
        "values": dict(status.values),
        "counts": asdict(status.counts),
        "missed_cycles": status.missed_cycles,
        "period_median_s": None if periods is None else periods.period_p50,
        "period_p99_s": None if periods is None else periods.period_p99,
    }


def robot_lines(robot: Robot, where: str) -> list[str]:
    """Text display of a robot."""
    feedback, status = robot.feedback, robot.status()
    lines = [f"{robot.device} at {where}: {status.phase.value}, {status.reason}"]
    rows = [
        (
            *(limit.name, f"{q:.4f}", f"{math.degrees(q):.2f}", f"{v:.4f}", f"{e:.3f}"),
            *(f"{limit.lower:.4f}", f"{limit.upper:.4f}"),
        )
        for limit, q, v, e in zip(
            robot.limits, feedback.position.tolist(), feedback.velocity.tolist(), feedback.effort.tolist(), strict=True
        )
    ]
    head = ("joint", "rad", "deg", "rad/s", "N m", "lower [rad]", "upper [rad]")
    lines += table(head, [[cell.replace("nan", "-") for cell in row] for row in rows])
    is_old = "" if feedback.is_fresh else f"no data for {status.feedback_age:.1f} s; "
    if status.counts.sent or is_old:  # counts of another program are not available
        lines.append(f"wire: {is_old}{_counts(status.counts)}")
    if status.periods is not None:
        p = status.periods
        lines.append(
            f"period: {1e3 * robot.period:.3g} ms set, median {1e3 * p.period_p50:.3g}, 99 % {1e3 * p.period_p99:.3g}, "
            f"longest {1e3 * p.period_max:.3g} ms; {status.missed_cycles} cycles without a reply"
        )
    if status.values:
        lines.append("; ".join(f"{name} {value:.4g}" for name, value in status.values.items()))
    for alarm in status.alarms:
        lines.append(f"ALARM {alarm.code:03X} {alarm.joint + ': ' if alarm.joint else ''}{alarm.text}")
    return lines


def sensor_words(sensor: ForceSensor) -> dict[str, Any]:
    """JSON data of a sensor."""
    status, newest = sensor.status(), sensor.newest
    return {
        "time": time.time(),
        "state": status.state.value,
        "level": status.level.name.lower(),
        "problems": list(status.problems),
        "wrench": None if newest is None else newest.wrench,
        "raw": None if newest is None else newest.raw,
        "is_valid": newest is not None and newest.is_valid,
        "is_saturated": newest is not None and newest.is_saturated,
        "age_s": status.age,
        "rate_hz": status.rate or None,  # null until known, or without readings
        "readings": status.readings,
        "counts": asdict(status.counts),
        "sequence": asdict(status.sequence),
    }


def sensor_lines(sensor: ForceSensor, where: str) -> list[str]:
    """Text display of a sensor."""
    status, newest = sensor.status(), sensor.newest
    words = "; ".join(status.problems) or "ok"
    lines = [f"{sensor.name} at {where}: {status.state.value}, {status.level.name.lower()}: {words}"]
    if newest is not None:
        units = ("N",) * 3 + ("N m",) * 3
        lines += [f"{axis} {x:10.3f} {unit}" for axis, x, unit in zip(AXES, newest.wrench, units, strict=True)]
    sequence, rate = status.sequence, f"{status.rate:.0f}" if status.rate else "?"
    lines.append(
        f"{rate} samples per second, {status.readings} total; {sequence.lost} lost, {sequence.late} "
        f"late or repeated, {status.saturated} saturated, {status.errors} marked as invalid"
    )
    lines.append(f"wire: {_counts(status.counts)}")
    return lines


def _counts(counts: LinkCounts) -> str:
    text = f"{counts.sent} sent, {counts.received} answered, {counts.missed} missing, {counts.refused} invalid"
    return f"{text}; last problem: {counts.last_problem}" if counts.last_problem else text
