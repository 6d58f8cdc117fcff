# SPDX-License-Identifier: Apache-2.0
"""`ada hw emulate`: run an emulated device for other programs."""

from __future__ import annotations

import argparse
from importlib import import_module

from ada_hardware.registry import DEVICES, find
from ada_tools.commands.hardware.arguments import add_fault_argument, add_setting_argument

NAME = "emulate"
SUMMARY = "run an emulated device for other programs, on a pseudo-terminal or UDP"
DETAILS = """\
Run an emulated device until Ctrl-C. It prints one line of JSON with its address. Lines of JSON on
its input inject faults and query its state; see `python -m ada_hardware.emulation --help`.

examples:
  ada hw emulate khr1 --listen pty:/tmp/khr1           then: ada hw monitor khr1 --url /tmp/khr1
  ada hw emulate pa10 --listen udp://127.0.0.1:41234 --fault drop=0.01
  ada hw emulate netft --setting force_unit=lb
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("device", metavar="DEVICE", help=f"one of {', '.join(DEVICES)}")
    parser.add_argument(
        "--listen", default="", metavar="ADDRESS", help='"pty:", "pty:PATH" (a symbolic link), or udp://HOST:PORT'
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of random faults (default %(default)s)")
    parser.add_argument(
        "--http", type=int, default=0, metavar="PORT", help="port of the device's web pages; 0: a free one"
    )
    parser.add_argument("--until-eof", action="store_true", help="end at the end of the input")
    add_setting_argument(parser, "setting of the emulator, without prefix")
    add_fault_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Run the device."""
    find(options.device)
    words = [options.device, f"--seed={options.seed}", f"--http={options.http}"]
    words += [f"--listen={options.listen}"] if options.listen else []
    words += ["--until-eof"] if options.until_eof else []
    words += [f"--{name}={one}" for name in ("setting", "fault") for one in getattr(options, name)]
    code: int = import_module("ada_hardware.emulation.__main__").main(words)
    return code
