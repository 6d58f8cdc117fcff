# SPDX-License-Identifier: Apache-2.0
"""`ada hw identify`: mass and centre of mass of what hangs on a force/torque sensor, and the sensor's zero."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.execution import silence_logger
from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.force_torque.sensed_load import AXES
from ada_hardware.force_torque.sensor import ForceSensor
from ada_hardware.force_torque.tool_identification import IdentifiedTool, identify_tool
from ada_hardware.force_torque.tool_motion import ToolMotion
from ada_hardware.force_torque.zero import ZeroTaking
from ada_hardware.self_test.device import Plugged, plugged
from ada_robot.errors import NoAnswer, Refused
from ada_tools.commands.hardware.arguments import add_device_arguments, chosen_target

NAME = "identify"
SUMMARY = "mass and centre of mass of a sensor's tool, and the sensor's zero"
DETAILS = """\
Turn the sensor, with its tool, six times as the command says, hold it still and press Enter. From the readings follow
the tool's mass and centre of mass and the sensor's own zero, by least squares; what is left over tells how well they
explain the readings. Give the printed settings to the node or to `ada hw monitor`: they take the tool's weight off.
With --emulator the emulated sensor carries 1 kg at (10, -20, 60) mm, and turns by itself.

examples:
  ada hw identify netft --url udp://192.168.1.1:49152
  ada hw identify dynpick --emulator --json
"""
GRAVITY = 9.81  # [m/s^2]
POSES = {
    f"{sign}{axis}": factor * np.eye(3)[i] for i, axis in enumerate("xyz") for sign, factor in (("+", 1), ("-", -1))
}
_MASS, _COM = 1.0, np.array([0.010, -0.020, 0.060])  # of the rehearsal [kg, m]
_LONGEST = 5.0  # [s] without a reading, or until it is still


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_device_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")


def run(options: argparse.Namespace) -> int:
    """Ask for the poses, and print what follows from them."""
    what = chosen_target(options)
    if what.is_robot:
        raise InputError(
            f"{what.kind.name} is a robot; a tool is identified by a force/torque sensor, see `ada hw list`."
        )
    with silence_logger("ada_hardware"), plugged(what) as plug:
        found = _identified(plug)
    if options.json:
        print(json.dumps({name: np.asarray(value).tolist() for name, value in found._asdict().items()}))
    else:
        print("\n".join(_lines(found)))
    return 0


def _identified(plug: Plugged) -> IdentifiedTool:
    with ForceSensor(plug.target.kind.name, plug.settings, plug.target.sensing()) as sensor:
        turn = _asked if plug.emulator is None else _rehearsed(plug.emulator, sensor)
        samples = []
        for number, (name, down) in enumerate(POSES.items(), start=1):
            turn(number, name, down)
            still = np.zeros(3)
            samples.append((_mean(sensor), ToolMotion(0.0, -GRAVITY * down, still, still)))
    return identify_tool(samples)


def _asked(number: int, name: str, down: Array) -> None:
    """Let a person turn the sensor."""
    print(
        f"{number} of {len(POSES)}: turn it so that its {name} axis points down, hold still, press Enter",
        file=sys.stderr,
    )
    if not sys.stdin.readline():
        raise InputError("nobody presses Enter: the input has ended. Run it in a terminal.")


def _rehearsed(emulator: EmulatorProcess, sensor: ForceSensor) -> Callable[[int, str, Array], None]:
    """Put the load of a tool on an emulated sensor, and wait until the sensor reports it."""

    def turn(number: int, name: str, down: Array) -> None:
        force = _MASS * GRAVITY * down
        for axis, value in zip(AXES, [*force, *np.cross(_COM, force)], strict=True):
            emulator.fault(axis, float(value))
        readings = _readings(sensor)
        while np.linalg.norm(next(readings)[:3] - force) > 0.5 * _MASS * GRAVITY:
            pass

    return turn


def _mean(sensor: ForceSensor) -> Array:
    """Raw wrench of a sensor that is held still.

    Raises:
        NoAnswer: it says nothing.
        Refused: it does not come to rest.
    """
    use, readings = sensor.settings, _readings(sensor)
    until = time.monotonic() + _LONGEST
    while True:
        taking = ZeroTaking(use.bias_samples, use.steady_force, use.steady_moment)
        while not taking.add(next(readings)):
            pass
        try:
            return taking.mean()
        except Refused:
            if time.monotonic() > until:
                raise


def _readings(sensor: ForceSensor) -> Iterator[Array]:
    """Raw wrenches from now on, without the next one, half of which may be of the pose before."""
    newest = sensor.newest
    number = (newest.number if newest is not None else 0) + 1
    while True:
        reading = sensor.newer_than(number, _LONGEST)
        if reading is None:
            raise NoAnswer(f"{sensor.name}: no reading came within {_LONGEST:g} s; {sensor.status().problems}")
        number = reading.number
        yield reading.raw


def _lines(found: IdentifiedTool) -> list[str]:
    com = [round(value, 5) for value in found.com]
    zero = ", ".join(f"{axis} {value:.4g}" for axis, value in zip(AXES, found.bias, strict=True))
    return [
        f"mass              {found.mass:.4f} kg",
        f"centre of mass    {', '.join(f'{1e3 * value:.2f}' for value in found.com)} mm, from the sensor in its axes",
        f"zero              {zero} (N, N m)",
        f"left over         {found.force_residual:.3g} N, {found.moment_residual:.3g} N m (root mean square)",
        "",
        "settings:",
        f"  --setting sensor.tool_mass={found.mass:.5g} --setting 'sensor.tool_com={com}'",
    ]
