# SPDX-License-Identifier: Apache-2.0
"""Setups: their arguments from config/setups.yaml, and the processes of each one, for launch files and `ada up`.

With backend:=sim, dynamics_node simulates the robot; with emulator or real, hardware_node drives an emulated or real
device. Controllers, view and RViz are the same in all cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ada_dynamics import resources
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.structured_text.files import parsed
from ada_dynamics.structured_text.nodes import ListNode, MappingNode, Node, ScalarNode
from ada_hardware.opening import EMULATOR as EMULATOR_URL
from ada_hardware.registry import DEVICES, SENSOR, find
from ada_tools.bringup.arguments import Argument, joint_positions, unusable
from ada_tools.bringup.nodes import (
    SIM,
    Parameter,
    Parameters,
    SetupValues,
    controller_node,
    dynamics_node,
    hardware_node,
    loop_state_publisher,
    target_node,
    watchers,
)
from ada_tools.bringup.processes import Machine, Plan, Process

FILE = "setups.yaml"  # in config/
EMULATOR, REAL = "emulator", "real"
AUTO, NONE = "auto", "none"
_ARM_WITHIN = 10.0  # [s]
# Arguments of simulations only, and of devices only.
_OF_SIMULATIONS = ("idle", "real_time_factor", "use_sim_time")
_OF_DEVICES = ("url", "port", "activate", "angle_map", "sensor", "sensor_url")

Processes = Callable[[SetupValues], list[Process]]


@dataclass(frozen=True)
class Setup:
    """A set of nodes started together.

    Attributes:
        name: as in NAME.launch.py and `ada up NAME`.
        summary: one-line description.
        arguments: all arguments.
        processes: creates the processes from the argument values.
        shorthands: alternative names, with the argument values that they imply.
    """

    name: str
    summary: str
    arguments: tuple[Argument, ...]
    processes: Processes = field(repr=False)
    shorthands: Mapping[str, Mapping[str, str]]

    @property
    def launch_file(self) -> str:
        """File name in launch/."""
        return f"{self.name}.launch.py"


SETUPS: dict[str, Setup] = {}


def _texts(node: Node) -> Any:
    """Mappings, tuples and texts of the file."""
    if isinstance(node, MappingNode):
        return {key: _texts(value) for key, (_, value) in node.entries.items()}
    if isinstance(node, ListNode):
        return tuple(_texts(item) for item in node.items)
    assert isinstance(node, ScalarNode)
    return node.text


_DATA: Mapping[str, Any] = _texts(parsed(resources.find("config", FILE)))


def _processes_of(name: str) -> Callable[[Processes], Processes]:
    """Add a setup of the file with the function that creates its processes; one without `idle` has no robot."""
    data = _DATA["setups"][name]
    common = (*(_DATA["of_robots"] if "idle" in data else ()), *_DATA["of_all"])
    own = {**data.get("arguments", {}), **{key: {} for key in common}}
    if "idle" in data:
        own["idle"] = {"default": data["idle"]}
    arguments = tuple(Argument(key, **{**_DATA["arguments"].get(key, {}), **more}) for key, more in own.items())

    def add(processes: Processes) -> Processes:
        SETUPS[name] = Setup(name, data["summary"], arguments, processes, data.get("shorthands", {}))
        return processes

    return add


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
    processes = tuple(setup.processes(checked))
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
    """Phase that hardware_node enters by itself: a real robot would not stay active without commands.

    Setups with sensors only have no argument `activate`.
    """
    if "activate" not in values:
        return Parameter("active")
    wish, is_emulator = values["activate"], values["backend"] == EMULATOR
    if wish == "false" or (wish == AUTO and not is_emulator):
        return Parameter("inactive", "activate")
    return Parameter("active" if is_emulator else "commanded", "activate")


# --- simulations ----------------------------------------------------------------------------------------------------
_BENT = [0.0, math.pi / 4, 0.0, 0.0, 0.0, 0.0, 0.0]  # [rad] the upright arm would not fall


@_processes_of("pa10_sim")
def _pa10_sim(values: SetupValues) -> list[Process]:
    start = {} if values["robot"] == "pa10_thesis" else {"initial_positions": list(_BENT)}
    return [dynamics_node(values, "pa10_sim", {"robot": values("robot"), **start}), *watchers(values, "pa10_sim")]


def _humanoid(values: SetupValues, picture: str, robot: Parameter) -> list[Process]:
    """A humanoid robot on the ground."""
    world = "odom" if values["base"] == "floating" else "world"
    own: Parameters = {
        "robot": robot,
        "base": values("base"),
        "contact": values("contact"),
        "world_frame": values("base", world),
    }
    return [dynamics_node(values, picture, own), *watchers(values, picture, world)]


@_processes_of("khr1_sim")
def _khr1_sim(values: SetupValues) -> list[Process]:
    return _humanoid(values, "khr1_sim", Parameter("khr1"))


@_processes_of("hoap2_sim")
def _hoap2_sim(values: SetupValues) -> list[Process]:
    return _humanoid(values, "hoap2_sim" if values["robot"] == "hoap2" else "hoap2_sim_10dof", values("robot"))


@_processes_of("hexa_sim")
def _hexa_sim(values: SetupValues) -> list[Process]:
    return [dynamics_node(values, "hexa_sim", {"robot": "hexa"}), *watchers(values, "hexa_sim")]


@_processes_of("closed_chain")
def _closed_chain(values: SetupValues) -> list[Process]:
    picture = f"closed_chain_{values['mechanism']}"
    if f"{picture}.rviz" not in resources.names("config"):
        picture = "display"
    return [dynamics_node(values, picture, {"robot": values("mechanism")}), *watchers(values, picture)]


@_processes_of("display")
def _display(values: SetupValues) -> list[Process]:
    own: Parameters = {
        "robot": values("robot"),
        "loops": values("loops"),
        "base": values("base"),
        "contact": "off",
        "start_paused": True,
    }
    return [dynamics_node(values, "display", own), *watchers(values, "display", view={"pose_sliders": True})]


# --- robots with a controller ---------------------------------------------------------------------------------------
# The controller needs the state of each step: a delay of 4 ms would reduce its damping.
_EACH_STEP = {"publish_rate": 1000.0}
# A late simulation loses no state, and after a strong push it returns to its target. Its complete state is exact.
_BESIDE_SIMULATION = {"state_timeout": 2.0, "max_gap": 0.5, "max_position_jump": 0.0}
_EXACT = {"state_source": "state"}


@_processes_of("robot_control")
def _robot_control(values: SetupValues) -> list[Process]:
    own: Parameters = {"robot": values("robot"), "loops": values("loops"), "base": values("base"), **_EACH_STEP}
    found = [dynamics_node(values, "robot_control", own)]
    if values["controller"] != NONE:
        # The controller reads the robot, its loops and motors from the topic robot_description.
        control: Parameters = {
            "controller": values("controller"),
            "base": values("base"),
            **_BESIDE_SIMULATION,
            **_EXACT,
        }
        goal = joint_positions(values["goal"])
        target: Parameters = {"joints": values("goal", list(goal)), "positions": values("goal", list(goal.values()))}
        found += [controller_node(values, control), *target_node(values, target if goal else None)]
    return [*found, *watchers(values, "robot_control")]


# Takahashi 2012, secs. 7.2.2 and 7.2.3: closed configurations of the virtual loops. The rod, twice as long as the
# crank, ends at the height of the pivot of the crank, where the slider hangs.
_CRANK = math.radians(30.0)
_ROD = math.acos(-0.5 * math.cos(_CRANK))  # from the vertical
_CLOSED_STARTS = {
    "parallel_four_bar": [math.radians(angle) for angle in (60.0, 30.0, 150.0, -60.0)],
    "slider_crank": [_CRANK, _ROD - _CRANK, 0.0, math.pi - _ROD],
}
_VIRTUAL_GAINS: Mapping[str, Parameters] = {
    "parallel_four_bar": {  # eqs. 7.11 and 7.12
        "joint_stiffness": [5.0, 0.0, 0.0, 0.0],
        "joint_damping": [5.0, 0.0, 0.0, 0.0],
    },
    "slider_crank": {  # eqs. 7.18 and 7.19, without the leading force
        "joint_stiffness": [0.0],
        "joint_damping": [0.0],
        "pose_stiffness": [10.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        "pose_damping": [10.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    },
}


@_processes_of("closed_chain_control")
def _closed_chain_control(values: SetupValues) -> list[Process]:
    mechanism, picture = values["mechanism"], "closed_chain_control"
    falls = mechanism == NONE and "idle" not in values.given
    own: Parameters = {
        **({"idle": "release"} if falls else {}),
        "robot": "planar_4r",
        "initial_positions": _CLOSED_STARTS.get(mechanism, _CLOSED_STARTS["parallel_four_bar"]),
        **_EACH_STEP,
    }
    robot = dynamics_node(values, picture, own)
    if mechanism == NONE:
        return [robot, *watchers(values, picture)]
    control: Parameters = {
        "controller": "virtual_closed_chain",
        "robot": "planar_4r",
        **_BESIDE_SIMULATION,
        **_EXACT,
        "virtual_closed_chain.loops": values("mechanism", f"loops/{mechanism}.yaml"),
        "virtual_closed_chain.link": "tip",
        **{f"virtual_closed_chain.{name}": gain for name, gain in _VIRTUAL_GAINS[mechanism].items()},
    }
    if mechanism == "slider_crank":
        place = float(values["target"] or 1.49)  # [m] Takahashi 2012, sec. 7.2.3
        target: Parameters = {"pose": values("target", [place, 0.0, 0.0, 0.0, 0.0, 0.0])}
    else:
        angle = math.radians(float(values["target"] or 0.0))
        target = {"joints": ["joint_1"], "positions": values("target", [angle])}
    return [
        robot,
        controller_node(values, control),
        *watchers(values, picture),
        *target_node(values, target),
    ]


@_processes_of("hoap2_balance")
def _hoap2_balance(values: SetupValues) -> list[Process]:
    is_clamped, strategy, picture = values["feet"] == "clamped", values["strategy"], "hoap2_balance"
    own: Parameters = {"robot": values("feet", "hoap2_standing"), **_EACH_STEP}
    if not is_clamped:
        own = {
            "robot": values("feet", "hoap2_10dof"),
            "base": values("feet", "floating"),
            "contact": values("feet", "on"),
            "world_frame": values("feet", "odom"),
            **_EACH_STEP,
        }
    control: Parameters = {
        "controller": "balance",
        # The model of the controller stands on clamped feet, also if those of the simulated robot may lift.
        "robot": "hoap2_standing",
        "balance.strategy": values("strategy"),
        **_BESIDE_SIMULATION,
        # A floating robot has another state, with the same joints. With delays of a millisecond or two a foot in the
        # air is too light for the gain 50 [N m s/rad] of eq. 6.13, and its rotors oscillate under eq. 6.7.
        **(_EXACT if is_clamped else {"balance.ankle_gain": 10.0, "balance.full_angle": 0.2}),
    }
    return [
        dynamics_node(values, picture, own),
        *([controller_node(values, control)] if strategy != NONE else []),
        *watchers(values, picture, "world" if is_clamped else "odom"),
    ]


# --- devices --------------------------------------------------------------------------------------------------------
_HAND = "flange"
_COMPLIANCE = "compliance"
# Differences from the default settings of the controllers.
_ARM_SETTINGS: Mapping[str, Parameters] = {
    "pose_servo": {"link": _HAND},
    "impedance": {"space": "link", "link": _HAND},
    _COMPLIANCE: {"link": _HAND},
}
_ARM_START = [0.0, math.pi / 6, 0.0, math.pi / 2, 0.0, math.pi / 3, 0.0]  # [rad] non-singular configuration
_SENSOR_JOINT = "flange_fixed"  # between arm and hand, where the simulated sensor measures


@_processes_of("pa10_control")
@_processes_of("pa10_bringup")
def _arm(values: SetupValues) -> list[Process]:
    """The arm PA-10: simulated or driven, with or without a controller."""
    name, is_device = values["controller"], values.is_driven
    picture = "pa10_bringup" if is_device else "pa10_control"
    of_variant = "variant" if "variant" in values else "robot"
    is_old = values[of_variant] in ("7c", "pa10_7c")
    model = values(of_variant, "pa10_7c" if is_old else "pa10")
    if is_device:
        sensor = _arm_sensor(values)
        devices = {"pa10": "url", **({sensor: "sensor_url"} if sensor else {})}
        own: Parameters = {
            **device_parameters(values, devices, _HAND),
            "pa10.model": model,
            "pa10.driver.variant": values(of_variant, "7c" if is_old else "ce"),
            "world_frame": "world",
            # The arm reports its state every 2 ms.
            **({"publish_rate": 500.0, "rate": 1000.0} if name != NONE else {}),
        }
        found = [hardware_node(values, own)]
        # A device publishes no states while its servos power up; its watchdogs handle missing commands.
        beside: Parameters = {"state_timeout": 2.0, "state_source": "joint_states"}
    else:
        own = {
            "robot": model,
            "initial_positions": list(_ARM_START),
            **({"wrench_rate": 250.0} if name == _COMPLIANCE else {}),
            **_EACH_STEP,
        }
        found = [dynamics_node(values, picture, own)]
        # The wrench of the joint is that of the arm on the hand.
        beside = {**_BESIDE_SIMULATION, **_EXACT, **({"wrench_of": "arm"} if name == _COMPLIANCE else {})}
    settings = _ARM_SETTINGS.get(name, {})
    if name != NONE:
        own_settings = {f"{name}.{setting}": value for setting, value in settings.items()}
        control: Parameters = {"controller": values("controller"), "robot": model, **beside, **own_settings}
        found.append(controller_node(values, control, _SENSOR_JOINT))
    return [*found, *watchers(values, picture)]


def _arm_sensor(values: SetupValues) -> str:
    """Kind of the force/torque sensor of the arm; "" for none.

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
    return found


@_processes_of("khr1_bringup")
def _khr1_bringup(values: SetupValues) -> list[Process]:
    if not values.is_driven:
        simulated = {"robot": "khr1", "base": "floating", "contact": "on", "world_frame": "odom"}
        return [dynamics_node(values, "khr1_sim", simulated), *watchers(values, "khr1_sim")]
    own: Parameters = {
        **device_parameters(values, {"khr1": "port"}),
        **({"khr1.driver.angle_map": values("angle_map")} if values["angle_map"] else {}),
        "world_frame": "world",
    }
    return [hardware_node(values, own), *watchers(values, "khr1_bringup")]


@_processes_of("ft_sensor")
def _ft_sensor(values: SetupValues) -> list[Process]:
    name = values["sensor"]
    frame = values["frame"] or name
    own = device_parameters(values, {name: "url"}, frame)
    return [hardware_node(values, own), *watchers(values, "ft_sensor", frame)]


@_processes_of("loop_state_publisher")
def _loop_state_publisher(values: SetupValues) -> list[Process]:
    own: Parameters = {"robot": values("robot"), "loops": values("loops")}
    return [loop_state_publisher(values, own), *watchers(values, "display")]
