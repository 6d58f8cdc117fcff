# SPDX-License-Identifier: Apache-2.0
"""`python -m ada_hardware.emulation DEVICE`: run an emulated device on a pseudo-terminal or UDP port."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress

from ada_dynamics.errors import AdaError
from ada_hardware.emulation.control_socket import ControlServer
from ada_hardware.emulation.emulator import made_emulator
from ada_hardware.emulation.host import PRIORITY, EmulatorHost
from ada_robot.processes import restore_sigint
from ada_robot.settings import option_numbers, option_values
from ada_robot.timing.deadlines import reduce_interpreter_jitter
from ada_robot.timing.realtime import raise_process_priority

_EXAMPLES = """\
examples:
  python -m ada_hardware.emulation pa10 --listen udp://127.0.0.1:41234
  python -m ada_hardware.emulation khr1 --fault drop=0.1

It prints one line, {"ready": true, "url": ...}; use this url for the driver. `ada hw settings DEVICE` lists settings
and faults. While it runs, `ada hw fault` sets faults, through a control socket that only its owner can use.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the emulator; return the exit status: 0, or 2 for invalid arguments."""
    if arguments is None:
        restore_sigint()
    parser = argparse.ArgumentParser(
        prog="python -m ada_hardware.emulation",
        description="Emulated robot or sensor on a pseudo-terminal or UDP port, for the driver of the real one.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_arguments(parser)
    options = parser.parse_args(arguments)
    try:
        return run(options)
    except AdaError as problem:
        print(f"{options.device}: {problem}", file=sys.stderr)
        return 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments, also for `ada hw emulate`."""
    parser.add_argument("device", help="device name, see `ada hw list`, or module:class")
    parser.add_argument("--listen", default="", help="udp://HOST:PORT; serial devices get a pseudo-terminal")
    for name, what in (("setting", "setting of the device"), ("fault", "fault that is active from the start")):
        parser.add_argument(
            f"--{name}", action="append", default=[], metavar="NAME=VALUE", help=f"{what}; can be repeated"
        )
    parser.add_argument("--seed", type=int, default=0, help="seed of random faults (default %(default)s)")
    parser.add_argument(
        "--priority",
        type=int,
        default=PRIORITY,
        help="real-time priority 1 to 99 (SCHED_FIFO) if permitted; 0: none (default %(default)s)",
    )
    parser.add_argument("--until-eof", action="store_true", help="exit at the end of stdin")


def run(options: argparse.Namespace) -> int:
    """Run the device until Ctrl-C."""
    emulator = made_emulator(options.device, option_values("setting", options.setting))
    faults = option_numbers("fault", options.fault)
    host = EmulatorHost(emulator, options.listen, faults=faults, seed=options.seed)
    control: ControlServer | None = None
    try:
        try:
            control = ControlServer(host, emulator.NAME)
        except AdaError as problem:  # the device works without a control socket
            print(f"{options.device}: no `ada hw fault`: {problem}", file=sys.stderr)
        if options.until_eof:
            host.watch(sys.stdin.fileno(), lambda: _skip_input(host))
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        reduce_interpreter_jitter()
        raise_process_priority(options.priority)
        with suppress(OSError):  # stdout is closed
            print(json.dumps({"ready": True, "url": host.url}), flush=True)
        host.run()
    except KeyboardInterrupt:
        pass
    finally:
        host.close()
        if control is not None:
            control.close()
    return 0


def _skip_input(host: EmulatorHost) -> bool:
    """Skip input of stdin; stop the host and return False at its end."""
    if os.read(sys.stdin.fileno(), 4096):
        return True
    host.stop()
    return False


if __name__ == "__main__":
    sys.exit(main())
