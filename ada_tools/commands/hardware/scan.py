# SPDX-License-Identifier: Apache-2.0
"""`ada hw scan`: what is plugged into this machine."""

from __future__ import annotations

import argparse
import importlib.util

from ada_dynamics.extras import how_to_install
from ada_hardware.self_test.plugged_in import ArcnetFound, PortFound, arcnet, net_ft, serial_ports
from ada_robot.timing.realtime import set_realtime_priority
from ada_tools.commands.common import print_json

NAME = "scan"
SUMMARY = "what is plugged in, what may hang on it, and what it lacks"
DETAILS = """\
Serial ports with their converters, ARCNET interfaces, a Net F/T at an address; missing permissions with the command
that gives them. Nothing is opened or sent: a byte on a serial line may be a command. Which device hangs on a port is
guessed by its converter; `ada hw test DEVICE --url PORT` knows.

examples:
  ada hw scan
  ada hw scan --netft 192.168.1.1
  ada hw scan --json

exit code:
  0  nothing is in the way        1  something is, or nothing was found
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--netft", metavar="HOST", help="look for a Net F/T there, on its web page")
    parser.add_argument("--json", action="store_true", help="print it as JSON")


def run(options: argparse.Namespace) -> int:
    """Look, and say what was found."""
    ports, net = serial_ports(), arcnet()
    sensor = net_ft(options.netft) if options.netft else None
    notes = _notes()
    if options.json:
        print_json(
            {"serial": [one.to_dict() for one in ports], "arcnet": net.to_dict(), "netft": sensor, "notes": notes}
        )
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
        lines.append(f"    may be: {', '.join(one.may_be)}" + (f"; driver {one.driver}" if one.driver else ""))
        lines += [f"    stays the same as {one.by_id}"] if one.by_id else []
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
    """Parts that this machine lacks for all of them."""
    notes = []
    if importlib.util.find_spec("serial") is None:
        notes.append(f"serial lines need pyserial, which is not installed: {how_to_install('hardware')}")
    lacks = _lacks_priority()
    return [*notes, f"cycles of robots: {lacks}"] if lacks else notes


def _lacks_priority() -> str:
    """Why this user gets no real-time priority, which a PA-10 wants; tried in a thread that ends."""
    import threading

    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(set_realtime_priority(1)))
    thread.start()
    thread.join()
    return found[0]
