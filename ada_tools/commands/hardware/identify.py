# SPDX-License-Identifier: Apache-2.0
"""`ada hw identify`: identify mass, centre of mass and zero offset of a force/torque sensor with a tool."""

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
from ada_hardware.force_torque.pipeline import steady_mean
from ada_hardware.force_torque.sensor import ForceSensor
from ada_hardware.force_torque.sensor_emulator import AXES
from ada_hardware.force_torque.tool import IdentifiedTool, SensorGravity, identify_tool
from ada_hardware.self_test.device import Plugged, plugged
from ada_robot.errors import NoAnswer, Refused
from ada_tools.commands.hardware.arguments import add_device_arguments, chosen_target

NAME = "identify"
SUMMARY = "mass and centre of mass of a tool, and the sensor zero"
DETAILS = """\
Turn the sensor with its tool to six orientations as prompted, hold it still and press Enter. The readings give
the mass and centre of mass of the tool and the zero offset of the sensor by least squares; the residual measures
the fit. Pass the printed settings to the node or to `ada hw monitor` to compensate the weight of the tool.
With --emulator the emulated sensor carries 1 kg at (10, -20, 60) mm, and is turned automatically.

examples:
  ada hw identify netft --url udp://192.168.1.1:49152
  ada hw identify dynpick --emulator --json
"""
GRAVITY = 9.81  # [m/s^2]
POSES = {
    f"{sign}{axis}": factor * np.eye(3)[i] for i, axis in enumerate("xyz") for sign, factor in (("+", 1), ("-", -1))
}
_MASS, _COM = 1.0, np.array([0.010, -0.020, 0.060])  # of the emulated tool [kg, m]
_LONGEST = 5.0  # [s] timeout for a reading, and for a steady sensor


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_device_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(options: argparse.Namespace) -> int:
    """Collect the readings in all orientations and print the identified tool."""
    what = chosen_target(options)
    if what.is_robot:
        raise InputError(f"{what.kind.name} is a robot; choose a force/torque sensor, see `ada hw list`.")
    with silence_logger("ada_hardware"), plugged(what) as plug:
        found = _identified(plug)
    if options.json:
        print(json.dumps({name: np.asarray(value).tolist() for name, value in found._asdict().items()}))
    else:
        print("\n".join(_lines(found)))
    return 0


def _identified(plug: Plugged) -> IdentifiedTool:
    with ForceSensor(plug.target.kind.name, plug.settings, plug.target.sensing()) as sensor:
        turn = _asked if plug.emulator is None else _emulated_loads(plug.emulator, sensor)
        samples = []
        for number, (name, down) in enumerate(POSES.items(), start=1):
            turn(number, name, down)
            samples.append((_mean(sensor), SensorGravity(0.0, GRAVITY * down)))
    return identify_tool(samples)


def _asked(number: int, name: str, down: Array) -> None:
    """Prompt the user to turn the sensor."""
    print(
        f"{number} of {len(POSES)}: turn it so that its {name} axis points down, hold still, press Enter",
        file=sys.stderr,
    )
    if not sys.stdin.readline():
        raise InputError("end of input while waiting for Enter: run the command in a terminal.")


def _emulated_loads(emulator: EmulatorProcess, sensor: ForceSensor) -> Callable[[int, str, Array], None]:
    """Apply the load of a tool to an emulated sensor, and wait until the sensor reports it."""

    def turn(number: int, name: str, down: Array) -> None:
        force = _MASS * GRAVITY * down
        for axis, value in zip(AXES, [*force, *np.cross(_COM, force)], strict=True):
            emulator.fault(axis, float(value))
        readings = _readings(sensor)
        while np.linalg.norm(next(readings)[:3] - force) > 0.5 * _MASS * GRAVITY:
            pass

    return turn


def _mean(sensor: ForceSensor) -> Array:
    """Mean raw wrench of a steady sensor.

    Raises:
        NoAnswer: no readings.
        Refused: the readings are not steady.
    """
    use, readings = sensor.settings, _readings(sensor)
    until = time.monotonic() + _LONGEST
    while True:
        wrenches = [next(readings) for _ in range(use.bias_samples)]
        try:
            return steady_mean(wrenches, use.steady_force, use.steady_moment)
        except Refused:
            if time.monotonic() > until:
                raise


def _readings(sensor: ForceSensor) -> Iterator[Array]:
    """Raw wrenches from now on, skipping the next one, which may be averaged over the previous orientation."""
    newest = sensor.newest
    number = (newest.number if newest is not None else 0) + 1
    while True:
        reading = sensor.newer_than(number, _LONGEST)
        if reading is None:
            raise NoAnswer(f"{sensor.name}: no reading within {_LONGEST:g} s; {sensor.status().problems}")
        number = reading.number
        yield reading.raw


def _lines(found: IdentifiedTool) -> list[str]:
    com = [round(value, 5) for value in found.com]
    zero = ", ".join(f"{axis} {value:.4g}" for axis, value in zip(AXES, found.bias, strict=True))
    return [
        f"mass              {found.mass:.4f} kg",
        f"centre of mass    {', '.join(f'{1e3 * value:.2f}' for value in found.com)} mm, from the sensor in its axes",
        f"zero              {zero} (N, N m)",
        f"residual          {found.force_residual:.3g} N, {found.moment_residual:.3g} N m (root mean square)",
        "",
        "settings:",
        f"  --setting sensor.tool_mass={found.mass:.5g} --setting 'sensor.tool_com={com}'",
    ]
