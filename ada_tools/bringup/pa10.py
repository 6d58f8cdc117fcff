# SPDX-License-Identifier: Apache-2.0
"""The arm PA-10, simulated, emulated or real, with a controller or without: its arguments and nodes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ada_tools.bringup.arguments import Values, declared, unusable
from ada_tools.bringup.devices import (
    AUTO,
    NONE,
    SENSORS,
    activate,
    address,
    backend,
    is_driven,
    node_parameters,
    robot_parameters,
    sensor_parameters,
)
from ada_tools.bringup.launching import LaunchValues
from ada_tools.bringup.nodes import STATE, controller_node, robot_node, target_node, watchers
from ada_tools.bringup.pictures import PICTURES
from ada_tools.bringup.processes import Parameter, Parameters

# A controller sees each step of the simulation: states that are 4 ms old would cost it damping.
EACH_STEP = {"publish_rate": Parameter(1000.0)}
# The exact state has the simulation's own time, however slowly that goes by.
EXACT = {"state_source": Parameter("state")}
# A simulation that is late loses nothing, and one that is pushed hard is to come back to where it was.
BESIDE_SIMULATION = {"state_timeout": Parameter(2.0), "max_gap": Parameter(0.5), "max_position_jump": Parameter(0.0)}
# A robot publishes no states while its servos come on; without commands its own watchdogs decide.
_BESIDE_DEVICE = {"state_timeout": Parameter(2.0)}
_MEASURED = {"state_source": Parameter("joint_states")}
# The arm reports its state in each of its cycles of 2 ms.
_EACH_CYCLE = {"publish_rate": Parameter(500.0), "rate": Parameter(1000.0)}

_BENT = [0.0, math.pi / 6, 0.0, math.pi / 2, 0.0, math.pi / 3, 0.0]  # [rad] far from the arm's singular poses
_HAND = "flange"
_WORLD = "world"
_COMPLIANCE = "compliance"
CONTROLLERS = ("pose_servo", "joint_trajectory", "computed_torque", "impedance", _COMPLIANCE, "gravity_compensation")
# What differs from the controllers' own values.
_SETTINGS: Mapping[str, Parameters] = {
    "pose_servo": {"link": Parameter(_HAND)},
    "impedance": {"space": Parameter("link"), "link": Parameter(_HAND)},
    _COMPLIANCE: {"link": Parameter(_HAND)},
}
_SIMULATED_SENSOR = "flange_fixed"  # joint in front of the hand: what it carries is what a force sensor there feels
_DEVICE = "pa10"  # kind of device, and its name
_OLD_ARM, _OLD_VARIANT = "pa10_7c", "7c"


def _simulated(values: Values) -> Parameters:
    """Parameters of dynamics_node."""
    return {
        "robot": _model(values),
        "world_frame": Parameter(_WORLD),
        "initial_positions": Parameter(list(_BENT)),
        **({"wrench_rate": Parameter(250.0)} if values["controller"] == _COMPLIANCE else {}),
        **EACH_STEP,
        "wrenches": Parameter(["s1", "s2", "e1", "w1", _SIMULATED_SENSOR]),
    }


def _driven(values: Values) -> Parameters:
    """Parameters of hardware_node."""
    sensor = _sensor(values)
    return {
        **node_parameters(values, [_DEVICE, *([sensor] if sensor else [])]),
        **robot_parameters(values, _DEVICE, "url"),
        f"{_DEVICE}.model": _model(values),
        f"{_DEVICE}.driver.variant": Parameter(_OLD_VARIANT if _is_old(values) else "ce", _chosen_by(values)),
        "world_frame": Parameter(_WORLD),
        **(sensor_parameters(values, sensor, "sensor_url", _HAND) if sensor else {}),
        **(_EACH_CYCLE if values["controller"] != NONE else {}),
    }


def _controlled(values: Values) -> Parameters:
    """Parameters of controller_node."""
    name = values["controller"]
    is_simulated = not is_driven(values)
    is_felt_by_joint = is_simulated and name == _COMPLIANCE
    return {
        "controller": Parameter(name, "controller"),
        "robot": _model(values),
        **(BESIDE_SIMULATION if is_simulated else _BESIDE_DEVICE),
        **(EXACT if is_simulated else _MEASURED),
        **({"wrench_of": Parameter("arm")} if is_felt_by_joint else {}),
        **{f"{name}.{setting}": value for setting, value in _SETTINGS.get(name, {}).items()},
    }


def _target_link(values: Values) -> Parameters:
    """Parameter of view_node: the link of whose pose the controller has a target."""
    return {"target_link": Parameter(_HAND)} if values["controller"] in _SETTINGS else {}


def _chosen_by(values: Values) -> str:
    """The argument that says which arm it is."""
    return "variant" if "variant" in values else "robot"


def _is_old(values: Values) -> bool:
    return values[_chosen_by(values)] in (_OLD_ARM, _OLD_VARIANT)


def _model(values: Values) -> Parameter:
    return Parameter(_OLD_ARM if _is_old(values) else "pa10", _chosen_by(values))


def _sensor(values: Values) -> str:
    """The kind of the force/torque sensor; "" where there is none.

    Raises:
        InputError: the controller needs one; or there is an address, and no sensor.
    """
    wish, needs_one = values["sensor"], values["controller"] == _COMPLIANCE
    if wish == NONE and needs_one:
        raise unusable("sensor", NONE, f"the controller {_COMPLIANCE} follows one; name it, or leave sensor out.")
    found = SENSORS[0] if wish == AUTO and needs_one else wish if wish in SENSORS else ""
    if values["sensor_url"] and not found:
        words = f"there is no sensor; name it, such as sensor:={SENSORS[0]}."
        raise unusable("sensor_url", values["sensor_url"], words)
    return found


def arm_arguments(backends: tuple[str, ...], controllers: tuple[str, ...]) -> list[Any]:
    """Arguments of the arm's launch files, which differ in their defaults: the first of each."""
    return [
        backend(backends[0], backends),
        declared("controller", controllers[0], "what moves it (docs/controllers.md)", controllers),
        address("url", "arcnet:arc0"),
        activate(),
        declared(
            "sensor",
            AUTO,
            "force/torque sensor in front of the hand; auto: netft where the controller needs one, else none; a "
            "simulation has its own",
            (AUTO, NONE, *SENSORS),
        ),
        address("sensor_url", "udp://192.168.1.1:49152"),
    ]


def arm_nodes(values: LaunchValues) -> list[Any]:
    """The arm, its controller and target where there is one, and what watches."""
    is_device, is_controlled = is_driven(values), values["controller"] != NONE
    # The simulation publishes its exact state, and the wrench of the joint in front of the hand.
    wrench = ("wrench", f"dynamics_node/wrench/{_SIMULATED_SENSOR}")
    heard = () if is_device else (*STATE, wrench)
    return [
        robot_node(values, _simulated, _driven),
        controller_node(values, _controlled(values), heard) if is_controlled else None,
        *watchers(values, PICTURES["pa10_bringup" if is_device else "pa10_control"], view=_target_link(values)),
        target_node(values) if is_controlled else None,
    ]
