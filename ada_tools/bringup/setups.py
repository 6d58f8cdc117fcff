# SPDX-License-Identifier: Apache-2.0
"""Setups of config/setups.yaml and their processes, for launch files and `ada up`.

With backend:=sim, dynamics_node simulates the robot; with emulator or real, hardware_node drives an emulated or real
device. Controllers, view and RViz are the same in all cases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ada_dynamics import resources
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.structured_text.files import parsed
from ada_dynamics.structured_text.nodes import ListNode, MappingNode, Node, ScalarNode
from ada_hardware.opening import EMULATOR as EMULATOR_URL
from ada_hardware.registry import DEVICES, SENSOR, find
from ada_tools.bringup.arguments import Argument, unusable
from ada_tools.bringup.nodes import (
    SIM,
    Parameter,
    SetupValues,
    controller_node,
    dynamics_node,
    node_process,
    target_node,
    watchers,
)
from ada_tools.bringup.processes import Machine, Plan, Process
from ada_tools.scenario.fields import plain

FILE = "setups.yaml"  # in config/
EMULATOR, REAL = "emulator", "real"
AUTO, NONE = "auto", "none"
_ARM_WITHIN = 10.0  # [s]
_COMPLIANCE = "compliance"
_HAND = "flange"  # frame of a sensor of the arm
_WITH_PARAMETERS = ("dynamics_node", "hardware_node", "controller_node", "view_node", "loop_state_publisher")
# Arguments of simulations only, and of devices only.
_OF_SIMULATIONS = ("idle", "real_time_factor", "use_sim_time")
_OF_DEVICES = ("url", "port", "activate", "angle_map", "sensor", "sensor_url")


@dataclass(frozen=True)
class Setup:
    """A set of nodes started together."""

    name: str  # as in NAME.launch.py and `ada up NAME`
    summary: str  # one-line description
    arguments: tuple[Argument, ...]  # all arguments
    shorthands: Mapping[str, Mapping[str, str]]  # alternative names, with the argument values that they imply
    data: Mapping[str, Any] = field(repr=False)  # nodes, cases, devices, picture and frame, as in the file

    @property
    def launch_file(self) -> str:
        """File name in launch/."""
        return f"{self.name}.launch.py"


def _setups() -> dict[str, Setup]:
    """Setups of the file; one without `idle` has no robot."""
    table = _texts(parsed(resources.find("config", FILE)))
    found = {}
    for name, data in table["setups"].items():
        common = (*(table["of_robots"] if "idle" in data else ()), *table["of_all"])
        own = {**data.get("arguments", {}), **{key: {} for key in common}}
        if "idle" in data:
            own["idle"] = {"default": data["idle"]}
        arguments = tuple(Argument(key, **{**table["arguments"].get(key, {}), **more}) for key, more in own.items())
        found[name] = Setup(name, data["summary"], arguments, data.get("shorthands", {}), data)
    return found


def _texts(node: Node, is_parameter: bool = False) -> Any:
    """Mappings, tuples and texts of the file; the parameters of nodes are numbers, texts, lists and so on."""
    if isinstance(node, MappingNode):
        return {key: _texts(value, is_parameter or key in _WITH_PARAMETERS) for key, (_, value) in node.entries.items()}
    if is_parameter:
        return plain(node)
    if isinstance(node, ListNode):
        return tuple(_texts(item) for item in node.items)
    assert isinstance(node, ScalarNode)
    return node.text


SETUPS = _setups()


def plan(
    setup: Setup | str, values: Mapping[str, str] | None = None, machine: Machine | None = None, pushed: str = ""
) -> Plan:
    """Plan the processes of a setup.

    Args:
        setup: setup or its name.
        values: argument values that differ from the defaults.
        machine: installed programs; default: those of this machine.
        pushed: namespace of an including launch file.

    Raises:
        InputError: the setup or an argument is unknown, or a value is not allowed.
    """
    given = dict(values or {})
    if isinstance(setup, str):
        setup, shorthand = find_setup(setup)
        given = {**shorthand, **given}
    checked = SetupValues(setup.name, setup.arguments, given, machine or Machine.this(), pushed)
    refuse_unsupported(checked)
    processes = tuple(_processes(setup, checked))
    return Plan(setup.name, {**checked, "namespace": checked.namespace}, processes, tuple(checked.notes))


def find_setup(name: str) -> tuple[Setup, dict[str, str]]:
    """Setup by name or shorthand, and the argument values implied by the shorthand.

    Raises:
        InputError: unknown name.
    """
    if name in SETUPS:
        return SETUPS[name], {}
    for setup in SETUPS.values():
        if name in setup.shorthands:
            return setup, dict(setup.shorthands[name])
    raise unknown_name("setup", name, [*SETUPS, *(short for setup in SETUPS.values() for short in setup.shorthands)])


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
        else:
            fix = f"omit it or use backend:={SIM}"
        text = f"{name}:={values[name]} requires {needs}, but the backend is {chosen}: {fix}."
        raise InputError(text, field=name, value=values[name])


# --- processes --------------------------------------------------------------------------------------------------------
def _processes(setup: Setup, values: SetupValues) -> list[Process]:
    """Processes of a setup with the cases that apply."""
    data = setup.data
    nodes: dict[str, dict[str, Parameter | None]] = {}
    shown = {"picture": data.get("picture", setup.name), "frame": data.get("frame", "")}
    for case in (data.get("nodes", {}), *data.get("cases", ())):
        if not _applies(case.get("when", {}), values):
            continue
        shown |= {key: case[key] for key in shown if key in case}
        for node in _WITH_PARAMETERS:
            if node in case:
                _merge(nodes, node, case[node], case.get("by", ""), values)
    picture, _ = values.substituted(shown["picture"])
    if f"{picture}.rviz" not in resources.names("config"):
        picture = "display"
    devices = {values.substituted(name)[0]: argument for name, argument in data.get("devices", {}).items()}
    found = []
    if values.is_driven:
        devices |= _arm_sensor(values) if "sensor_url" in values else {}
        frame = values.get("frame", _HAND) or next(iter(devices))
        shown["frame"] = shown["frame"] or (frame if "frame" in values else "")
        own = {**device_parameters(values, devices, frame), **nodes.get("hardware_node", {})}
        found.append(node_process("hardware_node", values, {**values.use_sim_time, **values.frames, **own}, values.tf))
    elif "dynamics_node" in nodes:
        found.append(dynamics_node(values, picture, nodes["dynamics_node"]))
    if "loop_state_publisher" in nodes:
        own = {"world_frame": Parameter("world"), **nodes["loop_state_publisher"]}
        remappings = (*values.tf, ("motor_states", values["states"]))
        found.append(
            node_process("loop_state_publisher", values, {**values.use_sim_time, **values.prefix, **own}, remappings)
        )
    if "controller_node" in nodes:
        found.append(controller_node(values, nodes["controller_node"]))
        found += target_node(values)
    return [*found, *watchers(values, picture, shown["frame"], nodes.get("view_node"))]


def _applies(when: Mapping[str, Any], values: SetupValues) -> bool:
    """Return True if the arguments have the values of a case."""
    return all(values[name] in (wanted if isinstance(wanted, tuple) else (wanted,)) for name, wanted in when.items())


def _merge(
    nodes: dict[str, dict[str, Parameter | None]],
    node: str,
    given: Mapping[str, Any] | None,
    by: str,
    values: SetupValues,
) -> None:
    """Add the parameters of a case, selected by the argument `by`, to a node; null removes the node."""
    if given is None:
        nodes.pop(node, None)
        return
    own = nodes.setdefault(node, {})
    for name, value in given.items():
        text, argument = values.substituted(value) if isinstance(value, str) else (value, "")
        own[name] = None if value is None else Parameter(text, argument or by)


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
        if url not in ("", EMULATOR_URL):
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
    """Phase that hardware_node enters at the start; a real robot without commands would leave the active phase.

    Setups with sensors only have no argument `activate`.
    """
    if "activate" not in values:
        return Parameter("active")
    wish, is_emulator = values["activate"], values["backend"] == EMULATOR
    if wish == "false" or (wish == AUTO and not is_emulator):
        return Parameter("inactive", "activate")
    return Parameter("active" if is_emulator else "commanded", "activate")


def _arm_sensor(values: SetupValues) -> dict[str, str]:
    """Kind of the arm's force/torque sensor and the launch argument of its address; empty without a sensor.

    Raises:
        InputError: the controller requires a sensor, or a sensor address is given without a sensor.
    """
    wish, needs_one = values["sensor"], values["controller"] == _COMPLIANCE
    if wish == NONE and needs_one:
        raise unusable("sensor", NONE, f"the controller {_COMPLIANCE} requires one; name it or omit the argument.")
    found = "netft" if wish == AUTO and needs_one else "" if wish in (AUTO, NONE) else wish
    if values["sensor_url"] and not found:
        words = "no sensor is selected; name it, such as sensor:=netft."
        raise unusable("sensor_url", values["sensor_url"], words)
    return {found: "sensor_url"} if found else {}
