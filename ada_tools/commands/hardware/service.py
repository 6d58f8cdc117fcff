# SPDX-License-Identifier: Apache-2.0
"""Manual service functions: brakes, sleep mode, IDs.

No safety function is active here: read the page of the robot first, and keep the emergency stop at hand.

Examples:
  ada hw service khr1 wake --url /dev/ttyUSB0 --yes
  ada hw service pa10 release-brakes --url arcnet:arc0 --yes
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.execution import silence_logger
from ada_hardware.self_test.device import plugged
from ada_hardware.transport.wires import is_readable
from ada_tools.commands.hardware import add_device_arguments, chosen_target


class _Service(NamedTuple):
    values: tuple[str, ...]  # names of the arguments
    text: str
    do: Callable[..., object]  # called with the open driver and the arguments
    needs: str = ""  # precondition confirmed by --yes
    opens: bool = True  # whether to open the driver first, which requires all boards on the line


def _lead(driver: Any) -> None:
    """Lead-through teaching until Enter is pressed."""
    driver.release_brakes(arm_is_held=True)
    print("brakes are open; press Enter to close them", file=sys.stderr)
    try:
        while not is_readable(sys.stdin.fileno(), driver.period):
            driver.idle()
    finally:
        driver.end_teaching()


def _whole(name: str, text: str) -> int:
    if not text.isdecimal():
        raise InputError(f"{name} is {text!r}; it must be a whole number.")
    return int(text)


_HELD = "the robot is held by a person"
_FREE = _Service((), "release all servos", lambda driver: driver.release(confirm=True), _HELD)
SERVICES = {
    "pa10": {"release-brakes": _Service((), "lead-through teaching until Enter", _lead, _HELD)},
    "khr1": {
        "release": _FREE,
        "wake": _Service((), "wake the boards; servos may jump", lambda d: d.wake(confirm=True), _HELD),
        "set-id": _Service(
            ("ID",),
            "give a board an ID",
            lambda d, number: d.set_id(_whole("ID", number), alone=True),
            "only one board is on the line",
            opens=False,
        ),
    },
    "khr3": {"release": _FREE},
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_device_arguments(parser)
    parser.add_argument("service", metavar="SERVICE", help="see below")
    parser.add_argument("values", metavar="VALUE", nargs="*", help="argument of the service")
    parser.add_argument("--yes", action="store_true", help="confirm the precondition of the service")
    parser.epilog = "services:\n" + "\n".join(
        f"  {device} {' '.join((name, *one.values)):20} {one.text}{f'; --yes: {one.needs}' if one.needs else ''}"
        for device, services in SERVICES.items()
        for name, one in services.items()
    )


def run(options: argparse.Namespace) -> int:
    """Open the robot, run the service, close the robot."""
    what = chosen_target(options)
    services = SERVICES.get(what.kind.name, {})
    if options.service not in services:
        raise unknown_name(f"service of {what.kind.name}", options.service, services)
    service = services[options.service]
    if len(options.values) != len(service.values):
        raise InputError(f"{options.service} takes {' '.join(service.values) or 'no value'}, not {options.values}.")
    if service.needs and not options.yes:
        raise InputError(f"{options.service}: {service.text}. Make sure that {service.needs}, then give --yes.")
    with silence_logger("ada_hardware"), plugged(what) as plug:
        driver = what.kind.driver_class()(plug.settings)
        if service.opens:
            driver.open()
        try:
            service.do(driver, *options.values)
        finally:
            driver.close()
    return 0
