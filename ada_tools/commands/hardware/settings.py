# SPDX-License-Identifier: Apache-2.0
"""`ada hw settings`: list the settings of a device."""

from __future__ import annotations

import argparse

from ada_hardware.emulation.emulated_link import WIRE_FAULTS
from ada_hardware.force_torque.pipeline import ForceSensorSettings
from ada_hardware.registry import ROBOT, find
from ada_hardware.self_test.device import EMULATOR_PREFIX, SAFETY, SENSOR_PREFIX
from ada_robot.safety.settings import SafetySettings
from ada_robot.settings import Setting, fields_of
from ada_tools.commands.common import print_json

NAME = "settings"
SUMMARY = "list the settings of a device, and the faults of its emulator"
DETAILS = """\
Names for --setting and --fault, with defaults and allowed values.

examples:
  ada hw settings pa10
  ada hw test pa10 --emulator --setting variant=7c --setting safety.velocity_scale=0.2
  ada hw test khr1 --emulator --setting emulator.second_id=5 --fault drop=0.1
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("device", metavar="DEVICE", help="see `ada hw list`")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """List the settings."""
    kind = find(options.device)
    emulator = kind.emulator_class()
    is_robot = kind.kind == ROBOT
    groups = {
        "": fields_of(kind.driver_class().SETTINGS),
        SAFETY if is_robot else SENSOR_PREFIX: fields_of(SafetySettings if is_robot else ForceSensorSettings),
        EMULATOR_PREFIX: fields_of(emulator.SETTINGS),
    }
    faults = {**emulator.FAULTS, **WIRE_FAULTS}
    if options.json:
        settings = [{**asdict_of(one), "name": prefix + one.name} for prefix, all_ in groups.items() for one in all_]
        print_json({"device": kind.name, "settings": settings, "faults": faults})
        return 0
    print("--setting NAME=VALUE")
    for prefix, all_ in groups.items():
        for one in all_:
            if prefix or one.name != "url":
                print(f"  {prefix}{one.name} = {_shown(one.default)}: {one.description}; {one.allowed}")
    print("\n--fault NAME=VALUE, with --emulator")
    for name, text in faults.items():
        print(f"  {name}: {text}")
    return 0


def asdict_of(one: Setting) -> dict[str, object]:
    """A setting as JSON data."""
    return {"default": one.default, "allowed": one.allowed, "unit": one.unit, "description": one.description}


def _shown(default: object) -> str:
    return str(list(default)) if isinstance(default, tuple) else repr(default) if default == "" else str(default)
