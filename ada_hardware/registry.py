# SPDX-License-Identifier: Apache-2.0
"""Registry of devices by name; modules of a device are imported on demand."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

from ada_robot.errors import UnknownDevice

__all__ = ["DEVICES", "DRIVEN", "ROBOT", "SENSOR", "DeviceKind", "find"]

ROBOT, SENSOR = "robot", "sensor"
SERIAL = ("/dev/ttyUSB0", "/dev/serial/by-id/...")
_PA10 = ("arcnet:arc0", "udp://127.0.0.1:41234")
_HEXA = ("udp://192.168.1.20:50097",)
_RDT = ("udp://192.168.1.1:49152",)
_FT = "six-axis force/torque sensor"
_KHR1 = "humanoid Kondo KHR-1: two boards RCB-1 on one serial line"
_KHR3 = "humanoids Kondo KHR-3HV, KXR: board RCB-4"


class DeviceKind(NamedTuple):
    """Kind of device.

    Attributes:
        name: name for users.
        kind: "robot" or "sensor".
        summary: one-line description.
        place: module of the driver in this package (or its full name), and the prefix of the class names of driver and
            emulator.
        addresses: examples of addresses of a real device.
        robot: catalogue name of the model; "" for sensors.
    """

    name: str
    kind: str
    summary: str
    place: str
    addresses: tuple[str, ...]
    robot: str = ""

    @property
    def driver(self) -> str:
        """Import path "module:class" of the driver, a `RobotDriver` or `force_torque.sensor.SensorDriver`."""
        package = "" if self.place.startswith("ada_") else "ada_hardware."
        return f"{package}{self.place}Driver"

    def driver_class(self) -> type[Any]:
        """Import the driver class."""
        return _loaded(self.driver)

    def emulator_class(self) -> type[Any]:
        """Import the emulator class, a subclass of `emulation.emulator.Emulator`."""
        module, _, name = self.place.partition(":")
        return _loaded(f"ada_hardware.{module.rpartition('.')[0]}.emulator:{name}Emulator")


def _loaded(path: str) -> type[Any]:
    module, _, name = path.partition(":")
    found: type[Any] = getattr(import_module(module), name)
    return found


_KINDS = (
    DeviceKind("pa10", ROBOT, "arm Mitsubishi PA-10 or PA10-7CE, on ARCNET", "pa10.driver:Pa10", _PA10, "pa10"),
    DeviceKind("khr1", ROBOT, _KHR1, "kondo.rcb1.driver:Rcb1", SERIAL, "khr1"),
    DeviceKind("khr3", ROBOT, _KHR3, "kondo.rcb4.driver:Rcb4", SERIAL),
    DeviceKind("hexa", ROBOT, "motion table HEXA: six direct-drive motors, a plate", "hexa.driver:Hexa", _HEXA, "hexa"),
    DeviceKind("dynpick", SENSOR, f"{_FT} Wacoh-Tech DynPick, serial", "force_torque.dynpick.driver:DynPick", SERIAL),
    DeviceKind("netft", SENSOR, f"{_FT} ATI Net F/T, UDP", "force_torque.rdt.driver:NetFt", _RDT),
    DeviceKind("onrobot", SENSOR, f"{_FT} OnRobot HEX (OptoForce), UDP", "force_torque.rdt.driver:OnRobot", _RDT),
    DeviceKind("ft300", SENSOR, f"{_FT} Robotiq FT 300, serial", "force_torque.ft300.driver:Ft300", SERIAL),
)

DEVICES: Mapping[str, DeviceKind] = {one.name: one for one in _KINDS}
_SIMULATED = DeviceKind(
    "simulated", ROBOT, "any robot with a model, simulated", "ada_robot.simulated.driver:Simulated", ()
)
DRIVEN: Mapping[str, DeviceKind] = {**DEVICES, _SIMULATED.name: _SIMULATED}
"""Devices and simulation, which has neither connection nor emulator: everything that a node can drive."""


def find(name: str) -> DeviceKind:
    """Return a kind of device by name.

    Raises:
        UnknownDevice: the name is unknown.
    """
    if name not in DEVICES:
        text = f"no device {name!r}; the devices are {', '.join(DEVICES)}."
        raise UnknownDevice(text, field="device", value=name, allowed=tuple(DEVICES))
    return DEVICES[name]
