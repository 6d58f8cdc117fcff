# SPDX-License-Identifier: Apache-2.0
"""Arguments of setups that may use a device instead of a simulation: backend, address, activation, sensor.

With backend:=sim, dynamics_node simulates the robot; with emulator or real, hardware_node drives an emulated or real
device. Controllers, view and RViz are the same in all cases.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ada_dynamics.errors import InputError
from ada_hardware.opening import EMULATOR as EMULATOR_URL
from ada_hardware.opening import is_emulated
from ada_hardware.registry import DEVICES, SENSOR, find
from ada_robot.ros.robot_settings import COMMON_WORLD
from ada_tools.bringup.arguments import BOOLEANS, ArgumentValues, declared, numbers
from ada_tools.bringup.processes import Parameter, Parameters

SIM, EMULATOR, REAL = "sim", "emulator", "real"
_INACTIVE, _COMMANDED, _ACTIVE = "inactive", "commanded", "active"  # values of the autostart parameter of hardware_node
_ARM_WITHIN = 10.0  # [s]
AUTO, NONE = "auto", "none"
_FIRST = "netft"  # default sensor
SENSORS = (_FIRST, *(name for name, kind in DEVICES.items() if kind.kind == SENSOR and name != _FIRST))
# Arguments of simulations only, and of devices only.
_OF_SIMULATIONS = ("idle", "real_time_factor")
_OF_DEVICES = ("url", "port", "activate", "angle_map", "sensor", "sensor_url")


def backend(default: str, choices: tuple[str, ...] = (REAL, EMULATOR, SIM)) -> Any:
    """Argument that selects simulation, emulator or device."""
    what = {
        REAL: "real: the device at its address",
        EMULATOR: "emulator: a byte-exact emulated device on a virtual wire",
        SIM: "sim: a simulation",
    }
    return declared("backend", default, "; ".join(what[one] for one in choices), choices)


def address(name: str, example: str) -> Any:
    """Argument with the address of the device."""
    return declared(
        name,
        "",
        f"address of the device, such as {example}, or dry: (no port is opened); with backend:=emulator empty, or "
        "injected faults, such as emulator:drop=0.1",
    )


def activate() -> Any:
    """Argument that determines when the robot may move."""
    return declared(
        "activate",
        AUTO,
        "whether the robot moves as soon as it is commanded; false: only after hardware_node is activated; "
        "auto: true for an emulated robot only",
        (AUTO, *BOOLEANS),
    )


def is_driven(values: Mapping[str, str]) -> bool:
    """Return True if a real or emulated device is used instead of a simulation."""
    return values.get("backend", SIM) != SIM


def node_parameters(values: ArgumentValues, devices: list[str]) -> dict[str, Parameter]:
    """Parameters of hardware_node besides its devices: device list and automatic lifecycle transitions.

    Setups with sensors only have no `activate` argument.
    """
    start = Parameter(_autostart(values), "activate") if "activate" in values else Parameter(_ACTIVE)
    return {"devices": Parameter(devices), "autostart": start}


def robot_parameters(values: ArgumentValues, name: str, argument: str) -> dict[str, Parameter]:
    """Parameters of a robot: address, and behaviour without commands.

    An emulated robot stays active without commands; a real one must be armed.

    Args:
        values: values of the setup.
        name: kind of the device, also its name.
        argument: argument with the address.

    Raises:
        InputError: the address is missing or does not match the backend.
    """
    parameters = device_parameters(values, name, argument)
    if values["backend"] == EMULATOR:
        parameters[f"{name}.safety.hold_without_commands"] = Parameter(True)
    elif values["activate"] != "true":  # activate:=true requires no further step
        parameters[f"{name}.safety.arm_within"] = Parameter(_ARM_WITHIN)
    return parameters


def device_parameters(values: ArgumentValues, name: str, argument: str) -> dict[str, Parameter]:
    """Parameters of a device with its address; arguments and errors as `robot_parameters`."""
    url = _checked_url(values, name, argument)
    where = {f"{name}.driver.url": Parameter(url, argument)} if url else {}
    return {f"{name}.kind": Parameter(name), **where}


def refuse_what_is_not_driven(values: ArgumentValues) -> None:
    """Reject given arguments that have no effect with the selected backend.

    Raises:
        InputError: names the argument and the backend that supports it.
    """
    if is_driven(values):
        for name in _OF_SIMULATIONS:
            if values.is_given(name):
                text = (
                    f"{name}:={values[name]} requires a simulation, but the backend is {values['backend']}: omit it "
                    f"or use backend:={SIM}."
                )
                raise InputError(text, field=name, value=values[name])
        if values.flag("use_sim_time"):
            text = (
                f"use_sim_time:=true: with backend:={values['backend']} no simulated time exists; devices use the "
                "system clock. Omit it."
            )
            raise InputError(text, field="use_sim_time", value="true")
        return
    for name in _OF_DEVICES:
        if values.is_given(name):
            text = (
                f"{name}:={values[name]} requires a device, but the backend is {values['backend']}: omit it or use "
                f"backend:={EMULATOR} or {REAL}."
            )
            raise InputError(text, field=name, value=values[name])


def _checked_url(values: ArgumentValues, name: str, argument: str) -> str:
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
        example = find(name).addresses[0]
        text = (
            f"{argument} is not set: give the address of the {name}, such as {argument}:={example}, or "
            f"use backend:={EMULATOR} for an emulated device."
        )
        raise InputError(text, field=argument, value="")
    return url


def _autostart(values: ArgumentValues) -> str:
    """Autostart level: an emulated robot holds without commands; a real one would not stay active without commands."""
    wish, is_emulated = values["activate"], values["backend"] == EMULATOR
    if wish == "false" or (wish == AUTO and not is_emulated):
        return _INACTIVE
    return _ACTIVE if is_emulated else _COMMANDED


def sensor_parameters(values: ArgumentValues, name: str, argument: str, frame: str) -> Parameters:
    """Parameters of a force/torque sensor that publishes on the topic wrench.

    Args:
        values: values of the setup.
        name: kind of the sensor, also its name.
        argument: argument with the address.
        frame: frame of the wrenches.
    """
    found = device_parameters(values, name, argument)
    return {**found, f"{name}.frame": Parameter(frame, "frame" if "frame" in values else "")}


def sensor_place(values: ArgumentValues, name: str) -> Parameters:
    """Pose of the frame of a stand-alone sensor; a frame given by the user may be a link with a known pose.

    Args:
        values: values of the setup.
        name: kind of the sensor, also its name.
    """
    parent = values["parent"]
    if parent == AUTO:
        parent = "" if values["frame"] else COMMON_WORLD
    pose = numbers(values["mounting"])
    place = {f"{name}.mounting": Parameter(pose, "mounting")} if pose else {}
    return {f"{name}.parent": Parameter(parent, "parent"), **place}
