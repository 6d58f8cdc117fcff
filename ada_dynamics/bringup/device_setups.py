# SPDX-License-Identifier: Apache-2.0
"""The setups of devices other than the PA-10: the humanoid KHR-1 on its serial line, and force/torque sensors."""

from __future__ import annotations

from ada_dynamics.bringup.arguments import Argument, Values
from ada_dynamics.bringup.devices import (
    ACTIVATE,
    EMULATOR,
    REAL,
    SENSORS,
    address,
    backend,
    is_driven,
    node_parameters,
    robot_parameters,
    sensor_parameters,
)
from ada_dynamics.bringup.pictures import PICTURES, Picture
from ada_dynamics.bringup.processes import Parameter
from ada_dynamics.bringup.setup import ODOM, WORLD, Parameters, Setup, bare_arguments, common_arguments

_KHR1 = "khr1"  # robot, kind of device, and its name


# --- KHR-1 ----------------------------------------------------------------------------------------------------------
def _khr1(values: Values) -> Parameters:
    """It stands on the ground, as in khr1_sim."""
    return {
        "robot": Parameter(_KHR1),
        "base": Parameter("floating"),
        "contact": Parameter("on"),
        "world_frame": Parameter(ODOM),
    }


def _khr1_devices(values: Values) -> Parameters | None:
    if not is_driven(values):
        return None
    angle_map = values["angle_map"]
    return {
        **node_parameters(values, [_KHR1]),
        **robot_parameters(values, _KHR1, "port"),
        **({f"{_KHR1}.driver.angle_map": Parameter(angle_map, "angle_map")} if angle_map else {}),
        "world_frame": Parameter(WORLD),
    }


def _khr1_picture(values: Values) -> Picture:
    return PICTURES["khr1_bringup" if is_driven(values) else "khr1_sim"]


# --- force/torque sensors -------------------------------------------------------------------------------------------
def _sensor_devices(values: Values) -> Parameters:
    name = values["sensor"]
    return {
        **node_parameters(values, [name]),
        **sensor_parameters(values, name, "url", values["frame"] or name),
    }


DEVICE_SETUPS = (
    Setup(
        "khr1_bringup",
        "the real humanoid KHR-1 on its serial line, or an emulated one (backend:=emulator)",
        (
            backend(REAL),
            address("port", "/dev/ttyUSB0"),
            ACTIVATE,
            Argument(
                "angle_map",
                "",
                "path of a YAML file with the servos' channels, signs, zeros and limits; empty: config/"
                "khr1_angle_map.yaml",
                kind="file",
            ),
            *common_arguments("hold"),
        ),
        _khr1,
        _khr1_picture,
        devices=_khr1_devices,
    ),
    Setup(
        "ft_sensor",
        "a force/torque sensor, real or emulated (backend:=emulator), that publishes its wrench",
        (
            Argument(
                "sensor", SENSORS[0], "which: ATI Net F/T, Wacoh-Tech DynPick, OnRobot HEX, or Robotiq FT 300", SENSORS
            ),
            backend(REAL, (REAL, EMULATOR)),
            address("url", "udp://192.168.1.1:49152 or /dev/ttyUSB0"),
            Argument("frame", "", "frame of the wrenches, a link of what carries the sensor; empty: its kind"),
            *bare_arguments(),
        ),
        lambda values: {},
        lambda values: PICTURES["ft_sensor"],
        devices=_sensor_devices,
    ),
)
