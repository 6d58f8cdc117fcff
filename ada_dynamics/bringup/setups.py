# SPDX-License-Identifier: Apache-2.0
"""The setups by name, and what each of them starts: which nodes run together, with which parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from ada_dynamics import resources
from ada_dynamics.bringup.arguments import Values
from ada_dynamics.bringup.controlled import CONTROLLED
from ada_dynamics.bringup.device_setups import DEVICE_SETUPS
from ada_dynamics.bringup.devices import refuse_what_is_not_driven
from ada_dynamics.bringup.pa10 import PA10_BRINGUP
from ada_dynamics.bringup.params_files import check_params_file
from ada_dynamics.bringup.pictures import Picture
from ada_dynamics.bringup.processes import Machine, Parameter, ParameterValue, Plan, Process
from ada_dynamics.bringup.setup import Control, Parameters, Setup
from ada_dynamics.bringup.simulations import SIMULATIONS
from ada_dynamics.errors import unknown_name

PLANT = "dynamics_node"  # the simulated robot's node, and the first part of the names of its own topics
HARDWARE, CONTROLLER, TARGET, RECORDER = "hardware_node", "controller_node", "target_node", "record_node"
# Those that a setup may start.
_OUR_NODES = (PLANT, HARDWARE, CONTROLLER, TARGET, RECORDER, "view_node", "oracle_node")

# A simulation that is late loses nothing, and one that is pushed hard is to come back to where it was.
_IN_SIMULATION = {"state_timeout": Parameter(2.0), "max_gap": Parameter(0.5), "max_position_jump": Parameter(0.0)}
# A robot tells no states while its servos come on; what it does without commands is a matter of its own watchdogs.
_ON_DEVICES = {"state_timeout": Parameter(2.0)}

SETUPS: Mapping[str, Setup] = {setup.name: setup for setup in (*SIMULATIONS, *CONTROLLED, PA10_BRINGUP, *DEVICE_SETUPS)}


def plan(setup: Setup | str, values: Mapping[str, str] | None = None, machine: Machine | None = None) -> Plan:
    """What a setup starts.

    Args:
        setup: or its name.
        values: of arguments that differ from their defaults.
        machine: what is installed; by default what this machine has.

    Raises:
        InputError: a setup or an argument is unknown, or a value is not allowed; the message says what is.
    """
    if isinstance(setup, str):
        setup, shorthand = find_setup(setup)
        values = {**shorthand, **(values or {})}
    checked = Values(setup.arguments, values or {}, setup.name)
    machine = machine or Machine.this()
    refuse_what_is_not_driven(checked)
    devices = setup.devices(checked)
    processes = [_plant(setup, checked)] if devices is None else _hardware(devices, checked)
    control = setup.control(checked)
    if control is not None:
        processes.append(_controller(control, checked, is_simulated=devices is None))
    if checked.get("oracle") == "true":
        # A first start compiles: the robot's description may take longer than the oracle waits by itself.
        patient = {"description_timeout": Parameter(0.0)}
        processes.append(_node("oracle_node", patient, checked, optional=True))
    if _is_wanted(checked["view"], machine.has_viser):
        processes.append(_view(setup, control, checked, is_simulated=devices is None))
    notes = []
    if _is_wanted(checked["rviz"], machine.has_rviz):
        if machine.has_rviz:
            processes.append(_rviz(setup, checked, devices))
        else:
            notes.append("rviz:=true, but rviz2 is not on the PATH: going on without it (view:=true shows the robot)")
    if control is not None and (control.target or any(one.executable == "rviz2" for one in processes)):
        processes.append(_node(TARGET, control.target, checked, optional=True))
    if checked["params_file"]:
        check_params_file(Path(checked["params_file"]), [f"{checked['namespace']}/{name}" for name in _OUR_NODES])
    return Plan(setup.name, dict(checked), tuple(processes), tuple(notes))


def find_setup(name: str) -> tuple[Setup, dict[str, str]]:
    """A setup by its name or by a shorthand, and the arguments that the shorthand stands for.

    Raises:
        InputError: there is none of that name.
    """
    if name in SETUPS:
        return SETUPS[name], {}
    for setup in SETUPS.values():
        if name in setup.shorthands:
            return setup, dict(setup.shorthands[name])
    raise unknown_name("setup", name, [*SETUPS, *(short for setup in SETUPS.values() for short in setup.shorthands)])


def _is_wanted(word: str, is_there: bool) -> bool:
    return word == "true" or (word == "auto" and is_there)


def _plant(setup: Setup, values: Values) -> Process:
    parameters = {"idle": Parameter(values["idle"], "idle"), **setup.robot(values)}
    parameters["wrenches"] = Parameter(list(setup.picture(values).joints))
    parameters["real_time_factor"] = Parameter(float(values["real_time_factor"]), "real_time_factor")
    parameters["record"] = Parameter(values["record"], "record")
    # It is the clock that the others follow; its own steps keep to the steady clock.
    parameters["publish_clock"] = Parameter(values.flag("use_sim_time"), "use_sim_time")
    return _node(PLANT, parameters, values, follows_clock=False)


def _hardware(devices: Parameters, values: Values) -> list[Process]:
    """The devices' node and, where it is wanted, what records their topics."""
    processes = [_node(HARDWARE, devices, values)]
    if values["record"]:
        processes.append(_node(RECORDER, {"path": Parameter(values["record"], "record")}, values, optional=True))
    return processes


def _controller(control: Control, values: Values, *, is_simulated: bool) -> Process:
    """It hears the simulated robot's exact state, where it asks for it; all end when it ends."""
    if not is_simulated:
        process = _node(CONTROLLER, {**_ON_DEVICES, **control.parameters}, values)
        return replace(process, remappings=(*process.remappings, *control.remappings))
    process = _node(CONTROLLER, {**_IN_SIMULATION, **control.parameters}, values)
    remappings = (*process.remappings, ("state", f"{PLANT}/state"), *control.remappings)
    return replace(process, remappings=remappings)


def _view(setup: Setup, control: Control | None, values: Values, *, is_simulated: bool) -> Process:
    parameters = {"port": Parameter(int(values["view_port"]), "view_port"), **setup.view(values)}
    if not is_simulated:
        parameters["plant"] = Parameter(HARDWARE)
    if control is not None and control.link:
        parameters["target_link"] = Parameter(control.link)
    if setup.has_sliders:
        parameters["pose_sliders"] = Parameter(True)
    return _node("view_node", parameters, values, optional=True)


def _rviz(setup: Setup, values: Values, devices: Parameters | None) -> Process:
    from ada_dynamics.bringup.rviz import topics

    picture = setup.picture(values)
    arguments = ["-d", str(resources.find("config", picture.file))]
    frame = _fixed_frame(setup.robot(values) if devices is None else devices, picture)
    if frame != picture.fixed_frame:
        arguments += ["-f", str(frame)]
    return _node(
        "rviz2", {}, values, package="rviz2", topics=topics(picture), arguments=tuple(arguments), optional=True
    )


def _fixed_frame(plant: Parameters, picture: Picture) -> ParameterValue:
    """The frame of the world or, where sensors are alone, of the first one's wrenches."""
    if "world_frame" in plant:
        return plant["world_frame"].value
    frames = [one.value for name, one in plant.items() if name.endswith(".frame")]
    return frames[0] if frames else picture.fixed_frame


def _node(
    executable: str,
    parameters: Parameters,
    values: Values,
    *,
    package: str = "ada_dynamics",
    follows_clock: bool = True,
    topics: tuple[str, ...] = (),
    arguments: tuple[str, ...] = (),
    optional: bool = False,
) -> Process:
    """A process with what all of them have: namespace, clock, file of parameters.

    In a namespace, topics with absolute names move into it, those of TF among them; the clock stays everybody's.
    """
    if follows_clock:
        parameters = {**parameters, "use_sim_time": Parameter(values.flag("use_sim_time"), "use_sim_time")}
    moved = ("/tf", "/tf_static", *topics) if values["namespace"] else ()
    return Process(
        executable,
        executable,
        package=package,
        namespace=values["namespace"],
        parameters=_chosen(parameters, lambda argument: argument not in values.given),
        given=_chosen(parameters, lambda argument: argument in values.given),
        # RViz takes no parameters but the one of the clock.
        params_file=Path(values["params_file"]) if values["params_file"] and package == "ada_dynamics" else None,
        remappings=tuple((name, name.removeprefix("/")) for name in moved),
        arguments=arguments,
        optional=optional,
    )


def _chosen(parameters: Parameters, condition: Callable[[str], bool]) -> dict[str, ParameterValue]:
    return {name: one.value for name, one in parameters.items() if condition(one.argument)}
