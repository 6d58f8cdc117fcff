# SPDX-License-Identifier: Apache-2.0
"""The setups of the arm PA-10: under a controller, and as it comes; simulated, emulated or real."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ada_dynamics.bringup.arguments import Argument, Values
from ada_dynamics.bringup.devices import (
    ACTIVATE,
    AUTO,
    EMULATOR,
    NONE,
    REAL,
    SENSORS,
    SIM,
    address,
    backend,
    is_driven,
    node_parameters,
    robot_parameters,
    sensor_parameters,
)
from ada_dynamics.bringup.pictures import PICTURES, Picture
from ada_dynamics.bringup.processes import Parameter
from ada_dynamics.bringup.setup import WORLD, Control, Parameters, Setup, common_arguments
from ada_dynamics.errors import InputError

# A controller sees each step of the simulation: states that are 4 ms old would cost it damping.
EACH_STEP = {"publish_rate": Parameter(1000.0)}
# The exact state has the simulation's own time, however slowly that goes by.
EXACT = {"state_source": Parameter("state")}
_MEASURED = {"state_source": Parameter("joint_states")}
# The arm tells its state in each of its cycles of 2 ms.
_EACH_CYCLE = {"publish_rate": Parameter(500.0), "rate": Parameter(1000.0)}

_BENT = [0.0, math.pi / 6, 0.0, math.pi / 2, 0.0, math.pi / 3, 0.0]  # [rad] far from the arm's singular poses
_HAND = "flange"
_COMPLIANCE = "compliance"
_CONTROLLERS = (
    "pose_servo",
    "joint_trajectory",
    "computed_torque",
    "impedance",
    _COMPLIANCE,
    "gravity_compensation",
)
# What differs from the controllers' own values.
_SETTINGS: Mapping[str, Parameters] = {
    "pose_servo": {"link": Parameter(_HAND)},
    "impedance": {"space": Parameter("link"), "link": Parameter(_HAND)},
    _COMPLIANCE: {"link": Parameter(_HAND)},
}
_SIMULATED_SENSOR = "flange_fixed"  # joint in front of the hand: what it carries is what a force sensor there feels
_DEVICE = "pa10"  # kind of device, and its name
_OLD_ARM, _OLD_VARIANT = "pa10_7c", "7c"


def _robot(values: Values) -> Parameters:
    return {
        "robot": _model(values),
        "world_frame": Parameter(WORLD),
        "initial_positions": Parameter(list(_BENT)),
        **({"wrench_rate": Parameter(250.0)} if values["controller"] == _COMPLIANCE else {}),
        **EACH_STEP,
    }


def _devices(values: Values) -> Parameters | None:
    if not is_driven(values):
        return None
    sensor = _sensor(values)
    return {
        **node_parameters(values, [_DEVICE, *([sensor] if sensor else [])]),
        **robot_parameters(values, _DEVICE, "url"),
        f"{_DEVICE}.model": _model(values),
        f"{_DEVICE}.driver.variant": Parameter(_OLD_VARIANT if _is_old(values) else "ce", _chosen_by(values)),
        "world_frame": Parameter(WORLD),
        **(sensor_parameters(values, sensor, "sensor_url", _HAND) if sensor else {}),
        **(_EACH_CYCLE if values["controller"] != NONE else {}),
    }


def _control(values: Values) -> Control | None:
    name = values["controller"]
    if name == NONE:
        return None
    own = _SETTINGS.get(name, {})
    is_simulated = not is_driven(values)
    is_felt_by_joint = is_simulated and name == _COMPLIANCE
    return Control(
        {
            "controller": Parameter(name, "controller"),
            "robot": _model(values),
            **(EXACT if is_simulated else _MEASURED),
            **({"wrench_of": Parameter("arm")} if is_felt_by_joint else {}),
            **{f"{name}.{setting}": value for setting, value in own.items()},
        },
        link=_HAND if own else "",
        remappings=(("wrench", f"dynamics_node/wrench/{_SIMULATED_SENSOR}"),) if is_simulated else (),
    )


def _picture(values: Values) -> Picture:
    return PICTURES["pa10_bringup" if is_driven(values) else "pa10_control"]


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
        raise InputError(f"sensor:={NONE}: the controller {_COMPLIANCE} follows one; name it, or leave sensor out.")
    found = SENSORS[0] if wish == AUTO and needs_one else wish if wish in SENSORS else ""
    if values["sensor_url"] and not found:
        raise InputError(
            f"sensor_url:={values['sensor_url']}: there is no sensor; say which it is, such as sensor:={SENSORS[0]}."
        )
    return found


def _setup(name: str, summary: str, which: Argument, controllers: tuple[str, ...], backends: tuple[str, ...]) -> Setup:
    """Both setups differ in their defaults alone: the first of the controllers and of the backends."""
    arguments = (
        which,
        backend(backends[0], backends),
        Argument("controller", controllers[0], "what moves it (docs/controllers.md)", controllers),
        address("url", "arcnet:arc0"),
        ACTIVATE,
        Argument(
            "sensor",
            AUTO,
            "force/torque sensor in front of the hand; auto: netft where the controller needs one, else none; a "
            "simulation has its own",
            (AUTO, NONE, *SENSORS),
        ),
        address("sensor_url", "udp://192.168.1.1:49152"),
        *common_arguments("hold"),
    )
    return Setup(name, summary, arguments, _robot, _picture, control=_control, devices=_devices)


PA10_CONTROL = _setup(
    "pa10_control",
    "the arm PA-10 under a controller, with a target to drag",
    Argument("robot", "pa10", "which arm: PA10-7CE, or the older PA-10-7C", ("pa10", _OLD_ARM)),
    _CONTROLLERS,
    (SIM, EMULATOR, REAL),
)
PA10_BRINGUP = _setup(
    "pa10_bringup",
    "the real arm PA-10 on its wire, or an emulated one (backend:=emulator)",
    Argument("variant", "ce", "which controller cabinet: PA10-7CE, or the older PA-10-7C", ("ce", _OLD_VARIANT)),
    (NONE, *_CONTROLLERS),
    (REAL, EMULATOR, SIM),
)
