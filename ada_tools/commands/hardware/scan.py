# SPDX-License-Identifier: Apache-2.0
"""`ada hw scan`: find connected devices."""

from __future__ import annotations

import argparse
import importlib.util
from dataclasses import asdict

from ada_dynamics.resources import how_to_install
from ada_hardware.self_test.connected_devices import ArcnetFound, PortFound, arcnet, net_ft, serial_ports
from ada_robot.timing.realtime import priority_limit
from ada_tools.commands.common import print_json

NAME = "scan"
SUMMARY = "find connected devices and missing permissions"
DETAILS = """\
Lists serial ports with their converters, ARCNET interfaces, a Net F/T at an address, and missing permissions with the
command that grants them. No port is opened, since a byte on a serial line may be a command. The device on a port is
guessed from its converter; verify it with `ada hw test DEVICE --url PORT`.

examples:
  ada hw scan
  ada hw scan --netft 192.168.1.1
  ada hw scan --json

exit code:
  0  no problems        1  a problem, or no device found
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--netft", metavar="HOST", help="query the web page of a Net F/T at this address")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Search and print the results."""
    ports, net = serial_ports(), arcnet()
    sensor = net_ft(options.netft) if options.netft else None
    notes = _notes()
    if options.json:
        print_json({"serial": [asdict(one) for one in ports], "arcnet": asdict(net), "netft": sensor, "notes": notes})
    else:
        lines = [*_port_lines(ports), *_arcnet_lines(net), *(_sensor_lines(sensor) if sensor else ()), *notes]
        print("\n".join(lines))
    problems = [*(text for one in ports for text in one.problems), *net.problems]
    is_found = bool(ports or net.interfaces or (sensor and not sensor["problem"]))
    return 0 if is_found and not problems and not (sensor and sensor["problem"]) else 1


def _port_lines(ports: list[PortFound]) -> list[str]:
    lines = ["serial ports:"] if ports else ["serial ports: none; is the cable plugged in?"]
    for one in ports:
        lines.append(f"  {one.device}  {one.usb or '-'}  {one.converter}; {one.description}".rstrip("; "))
        lines.append(f"    may be: {', '.join(one.may_be)}")
        lines += [f"    persistent name {one.by_id}"] if one.by_id else []
        lines += [f"    ! {text}" for text in one.problems]
    return lines


def _arcnet_lines(found: ArcnetFound) -> list[str]:
    if not found.interfaces:
        return ["ARCNET: no interface; how to set one up for a PA-10: docs/bringup_pa10.md"]
    states = (f"{name} ({'up' if is_up else 'down'})" for name, is_up in found.interfaces.items())
    return [f"ARCNET: {', '.join(states)}; may be: pa10", *(f"    ! {text}" for text in found.problems)]


def _sensor_lines(found: dict[str, object]) -> list[str]:
    if found["problem"]:
        return [f"Net F/T: ! {found['problem']}"]
    return [f"Net F/T: {found['product']}, calibration {found['calibration']}, {found['rate_hz']:g} Hz: {found['url']}"]


def _notes() -> list[str]:
    """Problems that concern all devices of a kind."""
    notes = []
    if importlib.util.find_spec("serial") is None:
        notes.append(f"serial lines need pyserial, which is not installed: {how_to_install('hardware')}")
    lacks = priority_limit()
    return [*notes, f"cycles of robots: {lacks}"] if lacks else notes
