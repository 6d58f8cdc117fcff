# SPDX-License-Identifier: Apache-2.0
"""`ada hw list` and `ada hw settings`: supported devices, and the settings and faults of one."""

from __future__ import annotations

import argparse

from ada_hardware.emulation.emulated_link import WIRE_FAULTS
from ada_hardware.force_torque.pipeline import ForceSensorSettings
from ada_hardware.registry import DEVICES, ROBOT, find
from ada_hardware.self_test.device import EMULATOR_PREFIX, SAFETY, SENSOR_PREFIX
from ada_robot.safety.settings import SafetySettings
from ada_robot.settings import fields_of
from ada_tools.commands import Command
from ada_tools.commands.common import print_json, table
from ada_tools.commands.hardware import addresses


def _add_list_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print a JSON list")


def _list(options: argparse.Namespace) -> int:
    if options.json:
        rows = [(one.name, one.kind, one.summary, addresses(one.name)) for one in DEVICES.values()]
        print_json([dict(zip(("name", "kind", "summary", "urls"), row, strict=True)) for row in rows])
        return 0
    shown = [(one.name, one.kind, addresses(one.name)[0], one.summary) for one in DEVICES.values()]
    print("\n".join(table(("device", "kind", "address", "description"), shown)))
    return 0


def _add_settings_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("device", metavar="DEVICE", help="see `ada hw list`")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _list_settings(options: argparse.Namespace) -> int:
    kind = find(options.device)
    emulator, is_robot = kind.emulator_class(), kind.kind == ROBOT
    groups = {
        "": fields_of(kind.driver_class().SETTINGS),
        SAFETY if is_robot else SENSOR_PREFIX: fields_of(SafetySettings if is_robot else ForceSensorSettings),
        EMULATOR_PREFIX: fields_of(emulator.SETTINGS),
    }
    faults = {**emulator.FAULTS, **WIRE_FAULTS}
    found = [
        {
            "name": prefix + one.name,
            "default": one.default,
            "allowed": one.allowed,
            "unit": one.unit,
            "description": one.description,
        }
        for prefix, settings in groups.items()
        for one in settings
    ]
    if options.json:
        print_json({"device": kind.name, "settings": found, "faults": faults})
        return 0
    print("--setting NAME=VALUE")
    for each in found:
        if each["name"] != "url":
            print(f"  {each['name']} = {_shown(each['default'])}: {each['description']}; {each['allowed']}")
    print("\n--fault NAME=VALUE, with --emulator")
    for name, text in faults.items():
        print(f"  {name}: {text}")
    return 0


def _shown(default: object) -> str:
    return str(list(default)) if isinstance(default, tuple) else repr(default) if default == "" else str(default)


LIST = Command(
    """List the supported devices and their address formats.

All have a driver and an emulator.

addresses:
  /dev/ttyUSB0                 a serial port; /dev/serial/by-id/... is persistent
  udp://HOST:PORT              over Ethernet; arcnet:arc0 is an ARCNET interface
  emulator:                    an emulated device in a separate process; ada hw fault sets its faults
  dry:                         an emulated device inside the driver; no port is opened
""",
    _add_list_arguments,
    _list,
)
SETTINGS = Command(
    """List the settings of a device, and the faults of its emulator.

Names for --setting and --fault, with defaults and allowed values.

Examples:
  ada hw settings pa10
  ada hw test pa10 --emulator --setting variant=7c --setting safety.velocity_scale=0.2
  ada hw test khr1 --emulator --setting emulator.second_id=5 --fault drop=0.1
""",
    _add_settings_arguments,
    _list_settings,
)
