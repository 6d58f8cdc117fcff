# SPDX-License-Identifier: Apache-2.0
"""`ada hw monitor`: show the state of a device in the terminal."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable
from typing import Any

from ada_dynamics.execution import silence_logger
from ada_hardware.flight_monitor import MonitoredRobot
from ada_hardware.force_torque.sensor import ForceSensor
from ada_hardware.robot import Robot
from ada_hardware.self_test.device import Plugged, plugged
from ada_hardware.transport.wires import packets_holder
from ada_robot.cycle.runners import made_driver
from ada_robot.timing.deadlines import reduce_interpreter_jitter
from ada_tools.commands.common import seconds
from ada_tools.commands.hardware.arguments import add_device_arguments, chosen_target
from ada_tools.commands.hardware.pictures import robot_lines, robot_words, sensor_lines, sensor_words

NAME = "monitor"
SUMMARY = "show joint positions or wrench, alarms and communication of a device"
DETAILS = """\
Robots: joint positions, alarms, period and message counts. Sensors: wrench as bars, rate and losses. A
robot remains inactive with its brakes on. A device has one host. If another program of this machine drives a robot
over UDP or ARCNET, its state is read from the flight recorder of that program, and nothing is sent; in all
other cases (serial lines, sensors, other users) a device in use is refused, with the name of the program.
Ctrl-C ends it.

examples:
  ada hw monitor pa10 --emulator
  ada hw monitor khr1 --url /dev/ttyUSB0
  ada hw monitor netft --url udp://192.168.1.1:49152 --json --every 0.01 > wrench.jsonl
  ada hw monitor dynpick --emulator --fault fz=-20 --duration 5
"""
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
    elsewhere = _other_driver(plug)
    if elsewhere is not None:
        where = f"{plug.where} (driven by another program: nothing is sent)"
        _look(options, lambda: robot_words(elsewhere), lambda: robot_lines(elsewhere, where))
        return
    robot = Robot(plug.target.kind.name, plug.settings, plug.target.safety())
    try:
        robot.open(_LONGEST_START)
        _look(options, lambda: robot_words(robot), lambda: robot_lines(robot, plug.where))
    finally:
        robot.close()


def _other_driver(plug: Plugged) -> MonitoredRobot | None:
    """Robot state recorded by another program of this machine; None if no other program drives it."""
    kind = plug.target.kind
    holder = packets_holder(str(plug.settings.url))
    return None if holder is None else MonitoredRobot(made_driver(kind.driver, plug.settings), holder)


def _watch_sensor(plug: Plugged, options: argparse.Namespace) -> None:
    sensor = ForceSensor(plug.target.kind.name, plug.settings, plug.target.sensing())
    most = [1e-3, 1e-4]  # full scale of forces and moments so far
    try:
        sensor.open()
        _look(options, lambda: sensor_words(sensor), lambda: sensor_lines(sensor, plug.where, most))
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
            print(json.dumps(words(), ensure_ascii=False, allow_nan=False), flush=True)
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
