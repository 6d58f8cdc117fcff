# SPDX-License-Identifier: Apache-2.0
"""`ada hw test`: is a device well, and is it driven safely."""

from __future__ import annotations

import argparse

from ada_dynamics.errors import InputError
from ada_dynamics.execution import silence_logger
from ada_hardware.self_test.checks import Check, Checks, Verdict
from ada_hardware.self_test.device import Target
from ada_hardware.self_test.run import EMULATED_SCALE, REAL_SCALE, check_joints, test_device
from ada_robot.timing.deadlines import reduce_interpreter_jitter
from ada_tools.commands.common import print_json
from ada_tools.commands.hardware.arguments import add_device_arguments, chosen_target, seconds

NAME = "test"
SUMMARY = "check a device and its wire, one thing after another"
DETAILS = f"""\
Robots: does the address open, does the device answer, what does it say to be, are its answers in time, is its pose
within limits, has it alarms, is what must not be sent refused. With --move, and always with an emulated one, also:
activation without a jump, each joint some degrees there and back, silence of the host, stop, reset.
Sensors: identity, rate, losses, noise, zero; with an emulated one also units, saturation, silence.

examples:
  ada hw test pa10 --emulator
  ada hw test khr1 --url /dev/ttyUSB0
  ada hw test pa10 --url arcnet:arc0 --move --joint w2 --emergency-stop-in-my-hand
  ada hw test netft --url udp://192.168.1.1:49152 --json

A real robot moves at {100 * REAL_SCALE:g} % of its velocity limits (an emulated one at {100 * EMULATED_SCALE:g} %);
--setting safety.velocity_scale=... has another share. The pose it stands in must leave each joint some degrees of room.

exit code:
  0  all ok        1  a check failed        2  wrong usage        130  Ctrl-C: the robot is brought to rest first
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_device_arguments(parser)
    parser.add_argument("--move", action="store_true", help="move the robot, too")
    parser.add_argument(
        "--emergency-stop-in-my-hand",
        action="store_true",
        help="said with --move of a real robot: somebody holds its emergency stop, and nobody is within its reach",
    )
    parser.add_argument("--joint", action="append", default=[], metavar="NAME", help="move this one alone; repeatable")
    parser.add_argument(
        "--duration", type=seconds, default=2.0, metavar="S", help="watch the wire so long (default %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print it as JSON in the end")


def run(options: argparse.Namespace) -> int:
    """Test, and say what came of it."""
    what = chosen_target(options)
    moves = what.is_robot and (options.move or not what.is_real)
    _check_move(options, what)

    def show(check: Check) -> None:
        if not options.json:
            print(check.line, flush=True)

    if not options.json:
        print(f"{what.kind.name}: {what.kind.summary}", flush=True)
    reduce_interpreter_jitter()  # threads that read sensors wake in time
    with silence_logger("ada_hardware"):  # provoked problems, such as a silent sensor, are not logged as well
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
        raise InputError(f"{what.kind.name} is a sensor; --move and --joint are of robots.")
    if options.move and what.is_real and not options.emergency_stop_in_my_hand:
        raise InputError(
            f"--move moves the robot at {what.url}: each joint by some degrees. Read its page in docs/, hang it up or "
            "clear its reach, have somebody hold the emergency stop, and say so: --emergency-stop-in-my-hand."
        )
    if options.joint and what.is_real and not options.move:
        raise InputError(f"--joint {options.joint[0]} is for --move.")
    if what.is_robot:
        check_joints(what, options.joint)


def _summary(what: Target, checks: Checks) -> str:
    count = sum(check.verdict is not Verdict.NOT_DONE for check in checks.done)
    if not checks.failed:
        return f"{what.kind.name}: {count} checks, all ok"
    names = ", ".join(check.name for check in checks.failed)
    return f"{what.kind.name}: {len(checks.failed)} of {count} checks failed: {names}"
