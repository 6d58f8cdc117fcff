# SPDX-License-Identifier: Apache-2.0
"""`ada hw list`: list the supported devices."""

from __future__ import annotations

import argparse

from ada_hardware.registry import DEVICES
from ada_tools.commands.common import print_json, table
from ada_tools.commands.hardware.arguments import addresses

NAME = "list"
SUMMARY = "list the supported devices and their address formats"
DETAILS = """\
Devices with a driver and an emulator.

addresses:
  /dev/ttyUSB0                 a serial port; /dev/serial/by-id/... is persistent
  udp://HOST:PORT              over Ethernet; arcnet:arc0 is an ARCNET interface
  emulator:                    an emulated device in a separate process; with faults: emulator:drop=0.1
  dry:                         an emulated device inside the driver; no port is opened
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="print a JSON list")


def run(options: argparse.Namespace) -> int:
    """List the devices."""
    if options.json:
        print_json(
            [
                {"name": one.name, "kind": one.kind, "summary": one.summary, "urls": addresses(one.name)}
                for one in DEVICES.values()
            ]
        )
        return 0
    rows = [(one.name, one.kind, addresses(one.name)[0], one.summary) for one in DEVICES.values()]
    print("\n".join(table(("device", "kind", "address", "description"), rows)))
    return 0
