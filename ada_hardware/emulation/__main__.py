# SPDX-License-Identifier: Apache-2.0
"""`python -m ada_hardware.emulation DEVICE`: run an emulated device on a pseudo-terminal or UDP port."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from ada_dynamics.errors import AdaError
from ada_hardware.emulation.control_socket import ControlServer, LineReader
from ada_hardware.emulation.emulated_link import BOTH_WAYS, WIRE_FAULTS
from ada_hardware.emulation.emulator import Emulator, emulator_class, made_emulator
from ada_hardware.emulation.host import PRIORITY, EmulatorHost, PageServer
from ada_hardware.registry import DEVICES
from ada_robot.processes import restore_sigint
from ada_robot.settings import fields_of, option_numbers, option_values
from ada_robot.timing.deadlines import reduce_interpreter_jitter
from ada_robot.timing.realtime import raise_process_priority

_EXAMPLES = """\
examples:
  python -m ada_hardware.emulation --list                     devices
  python -m ada_hardware.emulation pa10 --list                settings and faults of one device
  python -m ada_hardware.emulation pa10 --listen udp://127.0.0.1:41234
  python -m ada_hardware.emulation khr1 --listen pty:/tmp/khr1 --fault drop=0.1

It prints one line, {"ready": true, "url": ...}; use this url for the driver. While it runs, `ada hw fault`
sets faults, through a control socket that only its owner can use.
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
    parser.add_argument("device", nargs="?", default="", help="device name, see --list, or module:class")
    parser.add_argument("--list", action="store_true", help="list devices, or settings and faults of one, and exit")
    parser.add_argument("--listen", default="", help='"pty:", "pty:PATH" (a symbolic link), or udp://HOST:PORT')
    for name, what in (("setting", "setting of the device"), ("fault", "fault that is active from the start")):
        parser.add_argument(
            f"--{name}", action="append", default=[], metavar="NAME=VALUE", help=f"{what}; can be repeated"
        )
    parser.add_argument("--seed", type=int, default=0, help="seed of random faults (default %(default)s)")
    parser.add_argument("--http", type=int, default=0, metavar="PORT", help="port of the web pages; 0: any free port")
    parser.add_argument(
        "--priority",
        type=int,
        default=PRIORITY,
        help="real-time priority 1 to 99 (SCHED_FIFO) if permitted; 0: none (default %(default)s)",
    )
    parser.add_argument("--until-eof", action="store_true", help="exit at the end of stdin")


def run(options: argparse.Namespace) -> int:
    """List devices, or run the device until Ctrl-C."""
    return _list(options.device) if options.list or not options.device else _serve(options)


def _serve(options: argparse.Namespace) -> int:
    emulator = made_emulator(options.device, option_values("setting", options.setting))
    faults = option_numbers("fault", options.fault)
    host = EmulatorHost(emulator, options.listen, faults=faults, seed=options.seed)
    pages: PageServer | None = None
    control: ControlServer | None = None
    try:
        ready: dict[str, object] = {"ready": True, "url": host.url}
        if hasattr(emulator, "http_pages"):
            pages = PageServer(emulator.http_pages, port=options.http)
            ready["http_url"] = pages.url
        try:
            host.add(control := ControlServer(host, emulator.NAME))
        except AdaError as problem:  # the device works without a control socket
            print(f"{options.device}: no `ada hw fault`: {problem}", file=sys.stderr)
        if options.until_eof:
            host.add(LineReader(sys.stdin.fileno(), lambda line: None, host.stop))
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        reduce_interpreter_jitter()
        raise_process_priority(options.priority)
        with suppress(OSError):  # stdout is closed
            print(json.dumps(ready), flush=True)
        host.run()
    except KeyboardInterrupt:
        pass
    finally:
        host.close()
        for one in (pages, control):
            if one is not None:
                one.close()
    return 0


def _list(device: str) -> int:
    if not device:
        for kind in DEVICES.values():
            print(f"{kind.name:10} {kind.kind:7} {kind.summary}")
        return 0
    emulator: type[Emulator[Any]] = emulator_class(device)
    print(f"{emulator.NAME}: {(emulator.__doc__ or '').partition(chr(10))[0]}\n\n--setting NAME=VALUE")
    for one in fields_of(emulator.SETTINGS):
        print(f"  {one.name} = {one.default}: {one.description}; {one.allowed}")
    print("\n--fault NAME=VALUE, of the device")
    _print_faults(emulator.FAULTS.items())
    print("\n--fault NAME=VALUE, of the line")
    _print_faults(WIRE_FAULTS.items())
    print(f"\n{', '.join(BOTH_WAYS)}: append _commands or _answers for one direction only.")
    return 0


def _print_faults(faults: Iterable[tuple[str, str]]) -> None:
    for name, text in faults:
        print(f"  {name}: {text}")


if __name__ == "__main__":
    sys.exit(main())
