# SPDX-License-Identifier: Apache-2.0
"""`ada hw fault`: faults in emulated devices while they run."""

from __future__ import annotations

import argparse

from ada_dynamics.errors import InputError, unknown_name
from ada_hardware.emulation.door import DoorOf, ask, doors
from ada_hardware.emulation.faults import BOTH_WAYS, WIRE_FAULTS, base_name
from ada_hardware.emulation.line import fault_names
from ada_hardware.registry import DEVICES, find
from ada_robot.errors import NoAnswer
from ada_tools.commands.common import print_json

NAME = "fault"
SUMMARY = "make a fault in an emulated device that runs; alone: the devices and kinds"
DETAILS = f"""\
Makes a fault in an emulated device that runs, whoever started it: `ada hw emulate`, `ada hw monitor --emulator`, a
hardware_node with the address emulator:. It is in force when the command ends, and stays until --clear. Only the user
who started the device can. Devices of the address dry: live inside their driver, and have no door.

examples:
  ada hw fault                                 what runs, and all devices and kinds, a line each
  ada hw fault pa10                            those of one device
  ada hw fault pa10 emergency_stop             the button is pressed
  ada hw fault pa10 drop 0.1                   a tenth of the frames gets lost, both ways
  ada hw fault pa10 drop_answers 0.1           only what the device says
  ada hw fault pa10 drop --clear               off again
  ada hw fault pa10 --clear                    all faults off

{", ".join(BOTH_WAYS)}: with _commands or _answers behind the name for one way only.

exit code:
  0  done        2  wrong usage, an unknown device or kind, no such device runs
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("device", metavar="DEVICE", nargs="?", default="", help=f"one of {', '.join(DEVICES)}")
    parser.add_argument("kind", metavar="KIND", nargs="?", default="", help="of the fault, as listed")
    parser.add_argument("value", metavar="VALUE", nargs="?", type=float, help="how much; 0: off (default 1)")
    parser.add_argument("--clear", action="store_true", help="switch the fault off; without KIND all of them")
    parser.add_argument("--process", type=int, default=0, metavar="PID", help="where several such devices run")
    parser.add_argument("--json", action="store_true", help="print it as JSON")


def run(options: argparse.Namespace) -> int:
    """List, make or clear."""
    if options.device:
        find(options.device)
    if options.kind:
        known = fault_names(DEVICES[options.device].emulator_class())
        if options.kind not in known and base_name(options.kind) is None:
            raise unknown_name(f"fault of an emulated {options.device}", options.kind, known)
    if options.clear and (not options.device or options.value is not None):
        raise InputError("--clear takes DEVICE, or DEVICE and KIND, and no VALUE.")
    if not options.kind and not options.clear:
        _list(options)
        return 0
    door = _one_door(options)
    if not options.kind:
        ask(door, {"clear": True})
    else:
        value = 1.0 if options.value is None else options.value
        ask(door, {"fault": options.kind, "value": 0.0 if options.clear else value})
    _show([door], as_json=options.json)
    return 0


def _one_door(options: argparse.Namespace) -> DoorOf:
    found = doors(options.device, options.process)
    if len(found) > 1:
        numbers = ", ".join(str(door.pid) for door in found)
        raise InputError(f"{len(found)} emulated {options.device} run; give --process, one of {numbers}.")
    if not found:
        which = f" in process {options.process}" if options.process else ""
        raise NoAnswer(
            f"no emulated {options.device} of yours runs{which}. Start one, such as `ada hw emulate {options.device}`, "
            "or give its driver the address emulator:."
        )
    return found[0]


def _list(options: argparse.Namespace) -> None:
    chosen = [options.device] if options.device else list(DEVICES)
    running = doors(options.device, options.process)
    own = {name: dict(DEVICES[name].emulator_class().FAULTS) for name in chosen}
    if options.json:
        print_json({"running": [_facts(door) for door in running], "wire": dict(WIRE_FAULTS), "devices": own})
        return
    _show(running, as_json=False)
    for title, faults in {**own, "every wire": dict(WIRE_FAULTS)}.items():
        print(f"\n{title}")
        for name, text in faults.items():
            print(f"  {name:20} {text}")


def _show(running: list[DoorOf], *, as_json: bool) -> None:
    facts = [_facts(door) for door in running]
    if as_json:
        print_json(facts)
        return
    for one in facts:
        on = one["faults"]
        shown = ", ".join(f"{name}={value:g}" for name, value in on.items()) if isinstance(on, dict) else on
        print(f"{one['device']} in process {one['process']}: {shown or 'no fault'}")
    if not facts:
        print("no emulated device of yours runs")


def _facts(door: DoorOf) -> dict[str, object]:
    try:
        faults = ask(door, {"ask": "faults"})["faults"]
    except NoAnswer as problem:  # one that is frozen does not hide the others
        faults = str(problem)
    return {"device": door.device, "process": door.pid, "faults": faults}
