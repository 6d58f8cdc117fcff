# SPDX-License-Identifier: Apache-2.0
"""Setups that may use a device instead of a simulation: backend, address, activation, sensor.

With backend:=sim, dynamics_node simulates the robot; with emulator or real, hardware_node drives an emulated or real
device. Controllers, view and RViz are the same in all cases.
"""

from __future__ import annotations

from collections.abc import Mapping

from ada_dynamics.errors import InputError
from ada_hardware.opening import EMULATOR as EMULATOR_URL
from ada_hardware.opening import is_emulated
from ada_hardware.registry import DEVICES, SENSOR, find
from ada_tools.bringup.arguments import BOOLEANS, Argument
from ada_tools.bringup.nodes import SIM, Parameter, SetupValues

EMULATOR, REAL = "emulator", "real"
AUTO, NONE = "auto", "none"
_FIRST = "netft"  # default sensor
SENSORS = (_FIRST, *(name for name, kind in DEVICES.items() if kind.kind == SENSOR and name != _FIRST))
ACTIVATE = Argument(
    "activate",
    AUTO,
    "whether the robot moves as soon as it is commanded; false: only after hardware_node is activated; "
    "auto: true for an emulated robot only",
    (AUTO, *BOOLEANS),
)
_BACKENDS = {
    REAL: "real: the device at its address",
    EMULATOR: "emulator: a byte-exact emulated device on a virtual wire",
    SIM: "sim: a simulation",
}
_ARM_WITHIN = 10.0  # [s]
# Arguments of simulations only, and of devices only.
_OF_SIMULATIONS = ("idle", "real_time_factor", "record", "use_sim_time")
_OF_DEVICES = ("url", "port", "activate", "angle_map", "sensor", "sensor_url")


def backend(*choices: str) -> Argument:
    """Argument that selects simulation, emulator or device; the first choice is the default."""
    return Argument("backend", choices[0], "; ".join(_BACKENDS[one] for one in choices), choices)


def address(name: str, example: str) -> Argument:
    """Argument with the address of the device."""
    text = (
        f"address of the device, such as {example}, or dry: (no port is opened); with backend:=emulator empty, or "
        "injected faults, such as emulator:drop=0.1"
    )
    return Argument(name, "", text)


def refuse_unsupported(values: SetupValues) -> None:
    """Reject given arguments that have no effect with the selected backend.

    Raises:
        InputError: names the argument and the backend that supports it.
    """
    chosen = values.get("backend", SIM)
    for name in _OF_SIMULATIONS if values.is_driven else _OF_DEVICES:
        if not values.is_changed(name):
            continue
        needs = "a simulation" if values.is_driven else "a device"
        if not values.is_driven:
            fix = f"omit it or use backend:={EMULATOR} or {REAL}"
        elif name == "use_sim_time":
            fix = "omit it: devices use the system clock"
        elif name == "record":
            fix = "omit it and record topics by ros2 bag record"
        else:
            fix = f"omit it or use backend:={SIM}"
        text = f"{name}:={values[name]} requires {needs}, but the backend is {chosen}: {fix}."
        raise InputError(text, field=name, value=values[name])


def device_parameters(values: SetupValues, devices: Mapping[str, str], frame: str = "") -> dict[str, Parameter]:
    """Parameters of hardware_node.

    An emulated robot stays active without commands; a real one must be armed.

    Args:
        values: values of the setup.
        devices: argument with the address of each device, by its kind, which is also its name.
        frame: frame of the wrenches of a sensor.

    Raises:
        InputError: an address is missing or does not match the backend.
    """
    found = {"devices": Parameter(list(devices)), "autostart": _autostart(values)}
    for name, argument in devices.items():
        url = _checked_url(values, name, argument)
        found[f"{name}.kind"] = Parameter(name)
        if url:
            found[f"{name}.driver.url"] = Parameter(url, argument)
        if DEVICES[name].kind == SENSOR:
            found[f"{name}.frame"] = Parameter(frame, "frame" if "frame" in values else "")
        elif values["backend"] == EMULATOR:
            found[f"{name}.safety.hold_without_commands"] = Parameter(True)
        elif values["activate"] != "true":  # activate:=true requires no further step
            found[f"{name}.safety.arm_within"] = Parameter(_ARM_WITHIN)
    return found


def _checked_url(values: SetupValues, name: str, argument: str) -> str:
    url = values[argument]
    if values["backend"] == EMULATOR:
        if url and not is_emulated(url):
            text = (
                f"{argument}:={url} is the address of a real device, but the backend is {EMULATOR}: use "
                f"backend:={REAL}, or omit {argument}."
            )
            raise InputError(text, field=argument, value=url)
        return url or EMULATOR_URL
    if not url and not values["params_file"]:  # which may have the address
        text = (
            f"{argument} is not set: give the address of the {name}, such as {argument}:={find(name).addresses[0]}, or "
            f"use backend:={EMULATOR} for an emulated device."
        )
        raise InputError(text, field=argument, value="")
    return url


def _autostart(values: SetupValues) -> Parameter:
    """Phase that hardware_node enters by itself: a real robot would not stay active without commands.

    Setups with sensors only have no argument `activate`.
    """
    if "activate" not in values:
        return Parameter("active")
    wish, is_emulator = values["activate"], values["backend"] == EMULATOR
    if wish == "false" or (wish == AUTO and not is_emulator):
        return Parameter("inactive", "activate")
    return Parameter("active" if is_emulator else "commanded", "activate")
