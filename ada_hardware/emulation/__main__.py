# SPDX-License-Identifier: Apache-2.0
"""`python -m ada_hardware.emulation DEVICE`: an emulated device on a real wire, until Ctrl+C; see its --help."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from ada_dynamics.errors import AdaError
from ada_hardware.emulation.catalogue import emulator_class, made_emulator
from ada_hardware.emulation.door import Door
from ada_hardware.emulation.emulator import Emulator
from ada_hardware.emulation.faults import BOTH_WAYS, WIRE_FAULTS
from ada_hardware.emulation.host import PRIORITY, EmulatorHost
from ada_hardware.emulation.pages import PageServer
from ada_hardware.emulation.talk import Lines, answer, as_line
from ada_hardware.registry import DEVICES
from ada_robot.interrupts import restore_sigint
from ada_robot.settings import fields_of, option_numbers, option_values
from ada_robot.timing.deadlines import reduce_interpreter_jitter
from ada_robot.timing.realtime import raise_process_priority

_EXAMPLES = """\
examples:
  python -m ada_hardware.emulation --list                     devices
  python -m ada_hardware.emulation pa10 --list                settings and faults of one
  python -m ada_hardware.emulation pa10 --listen udp://127.0.0.1:41234
  python -m ada_hardware.emulation khr1 --listen pty:/tmp/khr1 --fault drop=0.1

It prints one line, {"ready": true, "url": ...}: give this url to the device's driver. While it runs it takes lines of
JSON and answers each with one:
  {"fault": "drop", "value": 0.1}     a tenth of the frames gets lost, both ways; 0 switches it off
  {"fault": "drop_answers", "value": 0.1}     of the device's answers only; drop_commands: of commands to it
  {"clear": true}                     switches all faults off
  {"ask": "state"}    {"ask": "violations"}    {"ask": "url"}    {"ask": "faults"}
The same lines go through its door, a socket of its owner's alone; `ada hw fault` writes them.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; the exit status: 0, or 2 for wrong arguments."""
    if arguments is None:
        restore_sigint()
    options = _parser().parse_args(arguments)
    try:
        if options.list or not options.device:
            return _list(options.device)
        return _serve(options)
    except AdaError as problem:
        print(f"{options.device}: {problem}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ada_hardware.emulation",
        description="An emulated robot or sensor that drivers reach by a pseudo-terminal or UDP as if it were real.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("device", nargs="?", default="", help="name, see --list, or module:class of your own")
    parser.add_argument("--list", action="store_true", help="say what there is, and end")
    parser.add_argument("--listen", default="", help='"pty:", "pty:PATH" (a link that stays), or udp://HOST:PORT')
    for name, what in (("setting", "of the device"), ("fault", "switched on from the start")):
        parser.add_argument(
            f"--{name}", action="append", default=[], metavar="NAME=VALUE", help=f"{what}; again for more"
        )
    parser.add_argument("--seed", type=int, default=0, help="of random faults (default %(default)s)")
    parser.add_argument("--http", type=int, default=0, metavar="PORT", help="of the device's web pages; 0: a free one")
    parser.add_argument(
        "--priority",
        type=int,
        default=PRIORITY,
        help="1 to 99 of the class SCHED_FIFO, where that is allowed; 0: none (default %(default)s)",
    )
    parser.add_argument("--until-eof", action="store_true", help="end with the input, so with who started it")
    return parser


def _serve(options: argparse.Namespace) -> int:
    emulator = made_emulator(options.device, option_values("setting", options.setting))
    faults = option_numbers("fault", options.fault)
    host = EmulatorHost(emulator, options.listen, faults=faults, seed=options.seed)
    pages: PageServer | None = None
    door: Door | None = None
    try:
        ready: dict[str, object] = {"ready": True, "url": host.url}
        if hasattr(emulator, "http_pages"):
            pages = PageServer(emulator.http_pages, port=options.http)
            ready["http_url"] = pages.url
        if hasattr(os, "getuid"):  # elsewhere faults come by stdin alone
            try:
                host.add(door := Door(host, emulator.NAME))
            except AdaError as problem:  # the device works without it
                print(f"{options.device}: no `ada hw fault`: {problem}", file=sys.stderr)
        host.add(Lines(sys.stdin.fileno(), lambda line: _say(answer(host, line)), _at_end(host, options.until_eof)))
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        reduce_interpreter_jitter()
        raise_process_priority(options.priority)
        _say(ready)
        host.run()
    except KeyboardInterrupt:
        pass
    finally:
        host.close()
        for one in (pages, door):
            if one is not None:
                one.close()
    return 0


def _at_end(host: EmulatorHost, until_eof: bool) -> Any:
    return host.stop if until_eof else lambda: None


def _say(what: dict[str, object]) -> None:
    try:
        os.write(sys.stdout.fileno(), as_line(what))
    except OSError:  # the reader is gone
        return


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
    print("\n--fault NAME=VALUE, of the wire")
    _print_faults(WIRE_FAULTS.items())
    print(f"\n{', '.join(BOTH_WAYS)}: with _commands or _answers behind the name for one way only.")
    return 0


def _print_faults(faults: Iterable[tuple[str, str]]) -> None:
    for name, text in faults:
        print(f"  {name}: {text}")


if __name__ == "__main__":
    sys.exit(main())
