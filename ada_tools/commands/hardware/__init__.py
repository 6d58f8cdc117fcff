# SPDX-License-Identifier: Apache-2.0
"""Actions of `ada hw`, one module each, and their common arguments: device, address, settings and faults."""

from __future__ import annotations

import argparse
from typing import Any

from ada_dynamics.errors import InputError
from ada_hardware.opening import DRY, EMULATOR, open_device_wire
from ada_hardware.registry import DEVICES, find
from ada_hardware.self_test.device import Target, target
from ada_robot.settings import option_numbers, option_values


def add_device_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare DEVICE, --url or --emulator, --setting, --fault."""
    parser.add_argument("device", metavar="DEVICE", help=f"one of {', '.join(DEVICES)}")
    parser.add_argument(
        "--url", metavar="ADDRESS", help="address of the device, such as /dev/ttyUSB0; see `ada hw list`"
    )
    parser.add_argument("--emulator", action="store_true", help="use an emulated device for the time of this command")
    repeated: dict[str, Any] = {"action": "append", "default": [], "metavar": "NAME=VALUE"}
    parser.add_argument(
        "--setting",
        help="setting of the driver, or safety.NAME, sensor.NAME, emulator.NAME; see `ada hw settings DEVICE`; may be "
        "repeated",
        **repeated,
    )
    parser.add_argument(
        "--fault", help="fault of the emulated device or its wire, such as drop=0.1; may be repeated", **repeated
    )


def chosen_target(options: argparse.Namespace) -> Target:
    """Device selected by --url or --emulator.

    Raises:
        UnknownDevice: unknown device name.
        InputError: both are given, or invalid settings or faults.
        TransportError: neither is given.
    """
    device = options.device
    found = target(
        device,
        "" if options.emulator or options.url is None else options.url,
        settings=option_values("setting", options.setting),
        faults=option_numbers("fault", options.fault),
    )
    if options.emulator and options.url is not None:
        raise InputError(f"--emulator and --url {options.url}: give one of them.")
    if not options.emulator and not options.url:
        open_device_wire(device, "")  # raises the error of a driver without address, which shows examples
    return found


def addresses(device: str) -> tuple[str, ...]:
    """Address formats of a device."""
    return (*find(device).addresses, EMULATOR, DRY)
