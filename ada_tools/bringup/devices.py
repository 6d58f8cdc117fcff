# SPDX-License-Identifier: Apache-2.0
"""Common arguments of setups that may drive a device instead of a simulation: backend, address, activation, sensor.

With backend:=sim dynamics_node simulates the robot; with emulator and real, hardware_node drives a device, which is
emulated byte for byte on a real wire of this machine, or is there. Controllers, view and RViz are the same beside each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ada_dynamics.errors import InputError
from ada_hardware.opening import EMULATOR as EMULATOR_URL
from ada_hardware.opening import is_emulated
from ada_hardware.registry import DEVICES, SENSOR, find
from ada_robot.ros.robot_settings import COMMON_WORLD
from ada_tools.bringup.arguments import BOOLEANS, Values, declared, numbers
from ada_tools.bringup.processes import Parameter, Parameters

SIM, EMULATOR, REAL = "sim", "emulator", "real"
_INACTIVE, _COMMANDED, _ACTIVE = "inactive", "commanded", "active"  # of hardware_node's autostart
_ARM_WITHIN = 10.0  # [s]
AUTO, NONE = "auto", "none"
_FIRST = "netft"  # the sensor where none is named
SENSORS = (_FIRST, *(name for name, kind in DEVICES.items() if kind.kind == SENSOR and name != _FIRST))
# Arguments that only a simulation can follow, and those that only devices can.
_OF_SIMULATIONS = ("idle", "real_time_factor")
_OF_DEVICES = ("url", "port", "activate", "angle_map", "sensor", "sensor_url")


def backend(default: str, choices: tuple[str, ...] = (REAL, EMULATOR, SIM)) -> Any:
    """The argument that says what moves."""
    what = {
        REAL: "real: the device, at its address",
        EMULATOR: "emulator: an emulated device, byte for byte on a wire of this machine",
        SIM: "sim: a simulation",
    }
    return declared("backend", default, "; ".join(what[one] for one in choices), choices)


def address(name: str, example: str) -> Any:
    """The argument with the device's address."""
    return declared(
        name,
        "",
        f"address of the device, such as {example}, or dry: (no port is opened); with backend:=emulator empty, or its "
        "faults, such as emulator:drop=0.1",
    )


def activate() -> Any:
    """The argument that says when the robot may move."""
    return declared(
        "activate",
        AUTO,
        "whether the robot may move as soon as it is commanded; false: not before somebody activates hardware_node; "
        "auto: only an emulated one",
        (AUTO, *BOOLEANS),
    )


def is_driven(values: Mapping[str, str]) -> bool:
    """True if a device is driven, real or emulated, and nothing is simulated."""
    return values.get("backend", SIM) != SIM


def node_parameters(values: Values, devices: list[str]) -> dict[str, Parameter]:
    """Parameters of the node beside its devices: which there are, and how far it goes by itself.

    Sensors have nothing to be activated: a setup of sensors alone has no such argument.
    """
    start = Parameter(_autostart(values), "activate") if "activate" in values else Parameter(_ACTIVE)
    return {"devices": Parameter(devices), "autostart": start}


def robot_parameters(values: Values, name: str, argument: str) -> dict[str, Parameter]:
    """A robot with its address, which stays active without commands where it is emulated, and is armed where it is not.

    Args:
        values: of the setup.
        name: of the kind of device, and its name.
        argument: with its address.

    Raises:
        InputError: an address is missing, or does not fit the backend.
    """
    parameters = device_parameters(values, name, argument)
    if values["backend"] == EMULATOR:
        parameters[f"{name}.safety.hold_without_commands"] = Parameter(True)
    elif values["activate"] != "true":  # with activate:=true no further step is wanted
        parameters[f"{name}.safety.arm_within"] = Parameter(_ARM_WITHIN)
    return parameters


def device_parameters(values: Values, name: str, argument: str) -> dict[str, Parameter]:
    """A device with its address; arguments and errors as of `robot_parameters`."""
    url = _checked_url(values, name, argument)
    where = {f"{name}.driver.url": Parameter(url, argument)} if url else {}
    return {f"{name}.kind": Parameter(name), **where}


def refuse_what_is_not_driven(values: Values) -> None:
    """Refuse arguments that were given and would have no effect.

    Raises:
        InputError: naming the argument, and the backend that knows it.
    """
    if is_driven(values):
        for name in _OF_SIMULATIONS:
            if values.is_wish(name):
                text = (
                    f"{name}:={values[name]} is for simulations, and the backend is {values['backend']}: leave it out, "
                    f"or take backend:={SIM}."
                )
                raise InputError(text, field=name, value=values[name])
        if values.flag("use_sim_time"):
            text = (
                f"use_sim_time:=true: with backend:={values['backend']} nothing simulates time; devices live by this "
                "machine's clock. Leave it out."
            )
            raise InputError(text, field="use_sim_time", value="true")
        return
    for name in _OF_DEVICES:
        if values.is_wish(name):
            text = (
                f"{name}:={values[name]} is for devices, and the backend is {values['backend']}: leave it out, or take "
                f"backend:={EMULATOR} or {REAL}."
            )
            raise InputError(text, field=name, value=values[name])


def _checked_url(values: Values, name: str, argument: str) -> str:
    url = values[argument]
    if values["backend"] == EMULATOR:
        if url and not is_emulated(url):
            text = (
                f"{argument}:={url} is the address of a real device, and the backend is {EMULATOR}. Take "
                f"backend:={REAL}, or leave {argument} out."
            )
            raise InputError(text, field=argument, value=url)
        return url or EMULATOR_URL
    if not url and not values["params_file"]:  # which may have the address
        example = find(name).addresses[0]
        text = (
            f"{argument} is not set: where is the {name}? Give its address, such as {argument}:={example}. Without a "
            f"device: backend:={EMULATOR} drives an emulated one, byte for byte the same way."
        )
        raise InputError(text, field=argument, value="")
    return url


def _autostart(values: Values) -> str:
    """An emulated robot holds without commands; a real one without commands would not stay active."""
    wish, is_emulated = values["activate"], values["backend"] == EMULATOR
    if wish == "false" or (wish == AUTO and not is_emulated):
        return _INACTIVE
    return _ACTIVE if is_emulated else _COMMANDED


def sensor_parameters(values: Values, name: str, argument: str, frame: str) -> Parameters:
    """A force/torque sensor that publishes on the topic wrench.

    Args:
        values: of the setup.
        name: of the kind of sensor, and its name.
        argument: with its address.
        frame: of the wrenches.
    """
    found = device_parameters(values, name, argument)
    return {**found, f"{name}.frame": Parameter(frame, "frame" if "frame" in values else "")}


def sensor_place(values: Values, name: str) -> Parameters:
    """Where the frame of a sensor that stands alone is; a frame with a given name may be a link, which has its place.

    Args:
        values: of the setup.
        name: of the kind of sensor, and its name.
    """
    parent = values["parent"]
    if parent == AUTO:
        parent = "" if values["frame"] else COMMON_WORLD
    pose = numbers(values["mounting"])
    place = {f"{name}.mounting": Parameter(pose, "mounting")} if pose else {}
    return {f"{name}.parent": Parameter(parent, "parent"), **place}
