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
from ada_tools.commands.common import table
from ada_tools.commands.hardware import addresses


def _list(options: argparse.Namespace) -> int:
    shown = [(one.name, one.kind, addresses(one.name)[0], one.summary) for one in DEVICES.values()]
    print("\n".join(table(("device", "kind", "address", "description"), shown)))
    return 0


def _add_settings_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("device", metavar="DEVICE", help="see `ada hw list`")


def _list_settings(options: argparse.Namespace) -> int:
    kind = find(options.device)
    emulator, is_robot = kind.emulator_class(), kind.kind == ROBOT
    groups = {
        "": fields_of(kind.driver_class().SETTINGS),
        SAFETY if is_robot else SENSOR_PREFIX: fields_of(SafetySettings if is_robot else ForceSensorSettings),
        EMULATOR_PREFIX: fields_of(emulator.SETTINGS),
    }
    print("--setting NAME=VALUE")
    for prefix, settings in groups.items():
        for one in settings:
            if prefix + one.name != "url":
                print(f"  {prefix}{one.name} = {_shown(one.default)}: {one.description}; {one.allowed}")
    print("\n--fault NAME=VALUE, with --emulator")
    for name, text in {**emulator.FAULTS, **WIRE_FAULTS}.items():
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
    lambda parser: None,
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
