# SPDX-License-Identifier: Apache-2.0
"""Arguments and nodes of the PA-10 arm: simulated, emulated or real, with or without a controller."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ada_tools.bringup.arguments import ArgumentValues, declared, unusable
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

# The controller needs the state of each step: a delay of 4 ms would reduce its damping.
EACH_STEP = {"publish_rate": Parameter(1000.0)}
# The complete state is stamped with simulation time.
EXACT = {"state_source": Parameter("state")}
# A late simulation loses no state, and after a strong push it returns to its target.
BESIDE_SIMULATION = {"state_timeout": Parameter(2.0), "max_gap": Parameter(0.5), "max_position_jump": Parameter(0.0)}
# A device publishes no states while its servos power up; its watchdogs handle missing commands.
_BESIDE_DEVICE = {"state_timeout": Parameter(2.0)}
_MEASURED = {"state_source": Parameter("joint_states")}
# The arm reports its state every 2 ms.
_EACH_CYCLE = {"publish_rate": Parameter(500.0), "rate": Parameter(1000.0)}

_BENT = [0.0, math.pi / 6, 0.0, math.pi / 2, 0.0, math.pi / 3, 0.0]  # [rad] non-singular configuration
_HAND = "flange"
_WORLD = "world"
_COMPLIANCE = "compliance"
CONTROLLERS = ("pose_servo", "joint_trajectory", "computed_torque", "impedance", _COMPLIANCE, "gravity_compensation")
# Differences from the default settings of the controllers.
_SETTINGS: Mapping[str, Parameters] = {
    "pose_servo": {"link": Parameter(_HAND)},
    "impedance": {"space": Parameter("link"), "link": Parameter(_HAND)},
    _COMPLIANCE: {"link": Parameter(_HAND)},
}
_SIMULATED_SENSOR = "flange_fixed"  # joint in front of the hand, at which the simulated sensor measures
_DEVICE = "pa10"  # kind of the device, also its name
_OLD_ARM, _OLD_VARIANT = "pa10_7c", "7c"


def _simulated(values: ArgumentValues) -> Parameters:
    """Parameters of dynamics_node."""
    return {
        "robot": _model(values),
        "world_frame": Parameter(_WORLD),
        "initial_positions": Parameter(list(_BENT)),
        **({"wrench_rate": Parameter(250.0)} if values["controller"] == _COMPLIANCE else {}),
        **EACH_STEP,
        "wrenches": Parameter(["s1", "s2", "e1", "w1", _SIMULATED_SENSOR]),
    }


def _driven(values: ArgumentValues) -> Parameters:
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


def _controlled(values: ArgumentValues) -> Parameters:
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


def _target_link(values: ArgumentValues) -> Parameters:
    """Parameter of view_node: link that follows the target pose of the controller."""
    return {"target_link": Parameter(_HAND)} if values["controller"] in _SETTINGS else {}


def _chosen_by(values: ArgumentValues) -> str:
    """Argument that selects the arm variant."""
    return "variant" if "variant" in values else "robot"


def _is_old(values: ArgumentValues) -> bool:
    return values[_chosen_by(values)] in (_OLD_ARM, _OLD_VARIANT)


def _model(values: ArgumentValues) -> Parameter:
    return Parameter(_OLD_ARM if _is_old(values) else "pa10", _chosen_by(values))


def _sensor(values: ArgumentValues) -> str:
    """Kind of the force/torque sensor; "" for none.

    Raises:
        InputError: the controller requires a sensor, or a sensor address is given without a sensor.
    """
    wish, needs_one = values["sensor"], values["controller"] == _COMPLIANCE
    if wish == NONE and needs_one:
        raise unusable("sensor", NONE, f"the controller {_COMPLIANCE} requires one; name it or omit the argument.")
    found = SENSORS[0] if wish == AUTO and needs_one else wish if wish in SENSORS else ""
    if values["sensor_url"] and not found:
        words = f"no sensor is selected; name it, such as sensor:={SENSORS[0]}."
        raise unusable("sensor_url", values["sensor_url"], words)
    return found


def arm_arguments(backends: tuple[str, ...], controllers: tuple[str, ...]) -> list[Any]:
    """Arguments of the arm's launch files; the first entry of each tuple is the default."""
    return [
        backend(backends[0], backends),
        declared("controller", controllers[0], "controller (docs/controllers.md)", controllers),
        address("url", "arcnet:arc0"),
        activate(),
        declared(
            "sensor",
            AUTO,
            "force/torque sensor in front of the hand; auto: netft if the controller requires one, else none; a "
            "simulation has a built-in one",
            (AUTO, NONE, *SENSORS),
        ),
        address("sensor_url", "udp://192.168.1.1:49152"),
    ]


def arm_nodes(values: LaunchValues) -> list[Any]:
    """Nodes of the arm: robot, controller and target if selected, and views."""
    is_device, is_controlled = is_driven(values), values["controller"] != NONE
    # The simulation publishes its complete state and the wrench of the joint in front of the hand.
    wrench = ("wrench", f"dynamics_node/wrench/{_SIMULATED_SENSOR}")
    heard = () if is_device else (*STATE, wrench)
    return [
        robot_node(values, _simulated, _driven),
        controller_node(values, _controlled(values), heard) if is_controlled else None,
        *watchers(values, PICTURES["pa10_bringup" if is_device else "pa10_control"], view=_target_link(values)),
        target_node(values) if is_controlled else None,
    ]
