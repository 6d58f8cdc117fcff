# SPDX-License-Identifier: Apache-2.0
"""`ada hw service`: what a robot is asked by hand: brakes, sleep, IDs, motions in the memory of its boards."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.execution import silence_logger
from ada_hardware.kondo.rcb1.motions import StoredMotion
from ada_hardware.self_test.device import plugged
from ada_hardware.transport.waiting import is_readable
from ada_tools.commands.hardware.arguments import add_device_arguments, chosen_target

NAME = "service"
SUMMARY = "what a robot is asked by hand: brakes, sleep, IDs, motions in its boards"


class _Service(NamedTuple):
    values: tuple[str, ...]  # that it takes
    text: str
    do: Callable[..., object]  # with the open driver and the values
    needs: str = ""  # what must be so, which --yes says
    opens: bool = True  # whether the driver is opened first, which needs all boards on the line


def _lead(driver: Any) -> None:
    """Let people lead the arm until Enter."""
    driver.release_brakes(arm_is_held=True)
    print("its brakes are open; press Enter to close them", file=sys.stderr)
    try:
        while not is_readable(sys.stdin.fileno(), driver.period):
            driver.idle()
    finally:
        driver.end_teaching()


def _upload(driver: Any, number: str, path: str) -> None:
    driver.memory().upload(_whole("NUMBER", number), StoredMotion.read(path, driver.map))


def _whole(name: str, text: str) -> int:
    if not text.isdecimal():
        raise InputError(f"{name} is {text!r}; it must be a whole number.")
    return int(text)


_HELD, _CLEAR = "somebody holds the robot", "the robot may move: nobody and nothing is in its reach"
_FREE = _Service((), "let all servos go", lambda driver: driver.release(confirm=True), _HELD)
SERVICES = {
    "pa10": {"release-brakes": _Service((), "teach mode until Enter: people lead the arm", _lead, _HELD)},
    "khr1": {
        "release": _FREE,
        "sleep": _Service((), "let boards sleep: all servos are free", lambda d: d.sleep(confirm=True), _HELD),
        "wake": _Service((), "end the sleep; servos may jump", lambda d: d.wake(confirm=True), _HELD),
        "set-id": _Service(
            ("ID",),
            "give a board an ID",
            lambda d, number: d.set_id(_whole("ID", number), alone=True),
            "one board alone is on the line",
            opens=False,
        ),
        "upload": _Service(("NUMBER", "FILE"), "store a motion of Heart To Heart (CSV) in both boards", _upload),
        "play": _Service(
            ("NUMBER",), "play a stored motion", lambda d, number: d.memory().play(_whole("NUMBER", number)), _CLEAR
        ),
    },
    "khr3": {
        "release": _FREE,
        "play": _Service(
            ("NUMBER",), "play a stored motion", lambda d, number: d.play_motion(_whole("NUMBER", number)), _CLEAR
        ),
        "halt": _Service((), "stop the board's own program, and a motion of it", lambda d: d.run_program(False)),
        "run": _Service((), "let the board's own program run", lambda d: d.run_program(True), _CLEAR),
    },
}
_LIST = "\n".join(
    f"  {device} {' '.join((name, *one.values)):20} {one.text}{f'; --yes: {one.needs}' if one.needs else ''}"
    for device, services in SERVICES.items()
    for name, one in services.items()
)
DETAILS = f"""\
No rule of safety watches what is done here: read the robot's page first, and have the emergency stop at hand.

{_LIST}

examples:
  ada hw service khr1 wake --url /dev/ttyUSB0 --yes
  ada hw service khr1 upload 3 config/khr1_walk.csv --emulator
  ada hw service pa10 release-brakes --url arcnet:arc0 --yes
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_device_arguments(parser)
    parser.add_argument("service", metavar="SERVICE", help="one of those above")
    parser.add_argument("values", metavar="VALUE", nargs="*", help="of the service")
    parser.add_argument("--yes", action="store_true", help="what the service needs is so")


def run(options: argparse.Namespace) -> int:
    """Open the robot, do it, close."""
    what = chosen_target(options)
    services = SERVICES.get(what.kind.name, {})
    if options.service not in services:
        raise unknown_name(f"service of {what.kind.name}", options.service, services)
    service = services[options.service]
    if len(options.values) != len(service.values):
        raise InputError(f"{options.service} takes {' '.join(service.values) or 'no value'}, not {options.values}.")
    if service.needs and not options.yes:
        raise InputError(f"{options.service}: {service.text}. See that {service.needs}, then give --yes.")
    with silence_logger("ada_hardware"), plugged(what) as plug:
        driver = what.kind.driver_class()(plug.settings)
        if service.opens:
            driver.open()
        try:
            service.do(driver, *options.values)
        finally:
            driver.close()
    return 0
