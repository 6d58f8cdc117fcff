# SPDX-License-Identifier: Apache-2.0
"""Check a device and its communication.

Robots: opening, communication, identity, reply times, joint limits, alarms. With --move, and always with an emulated
robot, also activation without a jump, motion of each joint by a few degrees, loss of the host, stop, reset.
Sensors: identity, rate, losses, state, noise, zero.

Examples:
  ada hw test pa10 --emulator
  ada hw test khr1 --url /dev/ttyUSB0
  ada hw test pa10 --url arcnet:arc0 --move --joint w2 --emergency-stop-in-my-hand
  ada hw test netft --url udp://192.168.1.1:49152 --json

A real robot moves slowly (see --move); --setting safety.velocity_scale=... changes this. Each joint must be a few
degrees away from its limits.

exit code:
  0  all ok        1  a check failed        2  wrong usage        130  Ctrl-C: after stopping the robot
"""

from __future__ import annotations

import argparse

from ada_dynamics.errors import InputError
from ada_dynamics.execution import silence_logger
from ada_hardware.self_test.checks import Check, Checks, Verdict
from ada_hardware.self_test.device import Target
from ada_hardware.self_test.run import EMULATED_SCALE, REAL_SCALE, check_joints, test_device
from ada_robot.timing.deadlines import reduce_interpreter_jitter
from ada_tools.commands.common import print_json, seconds
from ada_tools.commands.hardware import add_device_arguments, chosen_target


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_device_arguments(parser)
    parser.add_argument(
        "--move",
        action="store_true",
        help=f"include motions, at {100 * REAL_SCALE:g} %% of the velocity limits, or {100 * EMULATED_SCALE:g} %% of "
        "those of an emulated robot",
    )
    parser.add_argument(
        "--emergency-stop-in-my-hand",
        action="store_true",
        help="required by --move with a real robot: a person holds the emergency stop, and the workspace is clear",
    )
    parser.add_argument(
        "--joint", action="append", default=[], metavar="NAME", help="move only this joint; may be repeated"
    )
    parser.add_argument(
        "--duration",
        type=seconds,
        default=2.0,
        metavar="S",
        help="duration of the communication check (default %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print a JSON summary at the end")


def run(options: argparse.Namespace) -> int:
    """Run the checks and print the results."""
    what = chosen_target(options)
    moves = what.is_robot and (options.move or not what.is_real)
    _check_move(options, what)

    def show(check: Check) -> None:
        if not options.json:
            print(check.line, flush=True)

    if not options.json:
        print(f"{what.kind.name}: {what.kind.summary}", flush=True)
    reduce_interpreter_jitter()  # sensor threads wake in time
    with silence_logger("ada_hardware"):  # provoked problems, such as loss of sensor data, are not logged
        checks = test_device(what, moves=moves, seconds=options.duration, joints=options.joint, report=show)
    if options.json:
        print_json(
            {
                "device": what.kind.name,
                "url": what.url or "emulator",
                "ok": checks.is_ok,
                "checks": [check.to_dict() for check in checks.done],
            }
        )
    else:
        print(_summary(what, checks))
    return 0 if checks.is_ok else 1


def _check_move(options: argparse.Namespace, what: Target) -> None:
    if not what.is_robot and (options.move or options.joint):
        raise InputError(f"{what.kind.name} is a sensor; --move and --joint apply to robots.")
    if options.move and what.is_real and not options.emergency_stop_in_my_hand:
        raise InputError(
            f"--move moves the robot at {what.url}: each joint by a few degrees. Read its page in docs/, suspend it or "
            "clear its workspace, hold the emergency stop, and give --emergency-stop-in-my-hand."
        )
    if options.joint and what.is_real and not options.move:
        raise InputError(f"--joint {options.joint[0]} requires --move.")
    if what.is_robot:
        check_joints(what, options.joint)


def _summary(what: Target, checks: Checks) -> str:
    count = sum(check.verdict is not Verdict.NOT_DONE for check in checks.done)
    if not checks.failed:
        return f"{what.kind.name}: {count} checks, all ok"
    names = ", ".join(check.name for check in checks.failed)
    return f"{what.kind.name}: {len(checks.failed)} of {count} checks failed: {names}"
