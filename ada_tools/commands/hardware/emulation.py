# SPDX-License-Identifier: Apache-2.0
"""`ada hw emulate` and `ada hw fault`: run emulated devices, and inject faults into running ones."""

from __future__ import annotations

import argparse

from ada_dynamics.errors import InputError, unknown_name
from ada_hardware.emulation.__main__ import add_arguments, run
from ada_hardware.emulation.control_socket import ControlSocket, ask, control_sockets
from ada_hardware.emulation.emulated_link import BOTH_WAYS, base_name, fault_names
from ada_hardware.registry import DEVICES, find
from ada_robot.errors import NoAnswer
from ada_tools.commands import Command


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("device", metavar="DEVICE", nargs="?", default="", help=f"one of {', '.join(DEVICES)}")
    parser.add_argument("kind", metavar="KIND", nargs="?", default="", help="kind of the fault, as listed")
    parser.add_argument("value", metavar="VALUE", nargs="?", type=float, help="magnitude; 0: off (default 1)")
    parser.add_argument("--clear", action="store_true", help="clear the fault; without KIND all faults")
    parser.add_argument(
        "--process", type=int, default=0, metavar="PID", help="process id, if several such devices are running"
    )


def _run(options: argparse.Namespace) -> int:
    """List, inject or clear faults."""
    if options.device:
        find(options.device)
    if options.kind:
        known = fault_names(DEVICES[options.device].emulator_class())
        if options.kind not in known and base_name(options.kind) is None:
            raise unknown_name(f"fault of an emulated {options.device}", options.kind, known)
    if options.clear and (not options.device or options.value is not None):
        raise InputError("--clear requires DEVICE, optionally KIND, and no VALUE.")
    if not options.kind and not options.clear:
        _show(control_sockets(options.device, options.process))
        return 0
    socket = _fault_socket(options)
    if not options.kind:
        ask(socket, "clear")
    else:
        value = 1.0 if options.value is None else options.value
        ask(socket, "fault", options.kind, 0.0 if options.clear else value)
    _show([socket])
    return 0


def _fault_socket(options: argparse.Namespace) -> ControlSocket:
    found = control_sockets(options.device, options.process)
    if len(found) > 1:
        numbers = ", ".join(str(socket.pid) for socket in found)
        raise InputError(f"{len(found)} emulated {options.device} are running; give --process, one of {numbers}.")
    if not found:
        which = f" in process {options.process}" if options.process else ""
        raise NoAnswer(
            f"no emulated {options.device} of this user is running{which}: try `ada hw emulate {options.device}` "
            "or use the address emulator: for its driver."
        )
    return found[0]


def _show(running: list[ControlSocket]) -> None:
    for socket in running:
        try:
            faults = ask(socket, "faults")
            shown = ", ".join(f"{name}={value:g}" for name, value in faults.items()) or "no fault"
        except NoAnswer as problem:  # a device that does not reply must not hide the others
            shown = str(problem)
        print(f"{socket.device} in process {socket.pid}: {shown}")
    if not running:
        print("no emulated device of this user is running")


EMULATE = Command(
    """Run an emulated device for other programs, on a pseudo-terminal or UDP.

It runs until Ctrl-C, and prints one line of JSON with its address. `ada hw settings DEVICE` lists
settings and faults, `ada hw fault DEVICE` sets faults while it runs.

Examples:
  ada hw emulate khr1                                  then: ada hw monitor khr1 --url /dev/pts/5
  ada hw emulate pa10 --listen udp://127.0.0.1:41234 --fault drop=0.01
  ada hw emulate netft --setting force_scale=1e5
""",
    add_arguments,
    run,
)
FAULT = Command(
    f"""Inject a fault into a running emulated device, or list running ones.

Such devices are started by `ada hw emulate`, `ada hw monitor --emulator` or a
hardware_node with the address emulator:. The fault is active when the command returns, until --clear. Only the user
who started the device may do this. `ada hw settings DEVICE` lists the kinds. Devices with the address dry: are part
of their driver and not accessible.

Examples:
  ada hw fault                                 running devices with their faults
  ada hw fault pa10 emergency_stop             the button is pressed
  ada hw fault pa10 drop 0.1                   10 % of the frames are lost in both directions
  ada hw fault pa10 drop_answers 0.1           only replies of the device
  ada hw fault pa10 drop --clear               off again
  ada hw fault pa10 --clear                    all faults off

{", ".join(BOTH_WAYS)}: append _commands or _answers for one direction only.

exit code:
  0  done        2  wrong usage, an unknown device or kind, no such device is running
""",
    _add_arguments,
    _run,
)
