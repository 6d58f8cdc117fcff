# SPDX-License-Identifier: Apache-2.0
"""The devices by name; a device's own modules are imported when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from ada_robot.driver import RobotDriver
from ada_robot.errors import UnknownDevice

if TYPE_CHECKING:
    from ada_hardware.emulation.emulator import Emulator

ROBOT, SENSOR = "robot", "sensor"


class DeviceKind(NamedTuple):
    """A kind of device.

    Attributes:
        name: as users write it.
        kind: "robot" or "sensor".
        summary: what it is, in a line.
        driver: "module:class" of its driver.
        emulator: "module:class" of its emulator.
        robot: name in the catalogue of models; "" for sensors.
    """

    name: str
    kind: str
    summary: str
    driver: str
    emulator: str
    robot: str = ""

    def driver_class(self) -> type[Any]:
        """Its driver: of `RobotDriver`, or of `force_torque.sensor.SensorDriver`."""
        return _loaded(self.driver)

    def emulator_class(self) -> type[Emulator[Any]]:
        """Its emulator."""
        return _loaded(self.emulator)


_KINDS = (
    DeviceKind(
        "pa10",
        ROBOT,
        "arm Mitsubishi PA-10 or PA10-7CE, on ARCNET",
        "ada_hardware.pa10.driver:Pa10Driver",
        "ada_hardware.pa10.emulator:Pa10Emulator",
        "pa10",
    ),
    DeviceKind(
        "khr1",
        ROBOT,
        "humanoid Kondo KHR-1: two boards RCB-1 on one serial line",
        "ada_hardware.kondo.rcb1.driver:Rcb1Driver",
        "ada_hardware.kondo.rcb1.emulator:Rcb1Emulator",
        "khr1",
    ),
    DeviceKind(
        "khr3",
        ROBOT,
        "humanoids Kondo KHR-3HV, KXR: board RCB-4",
        "ada_hardware.kondo.rcb4.driver:Rcb4Driver",
        "ada_hardware.kondo.rcb4.emulator:Rcb4Emulator",
    ),
    DeviceKind(
        "hexa",
        ROBOT,
        "motion table HEXA: six direct-drive motors, a plate",
        "ada_hardware.hexa.driver:HexaDriver",
        "ada_hardware.hexa.emulator:HexaEmulator",
        "hexa",
    ),
    DeviceKind(
        "dynpick",
        SENSOR,
        "six-axis force/torque sensor Wacoh-Tech DynPick, serial",
        "ada_hardware.force_torque.dynpick.driver:DynPickDriver",
        "ada_hardware.force_torque.dynpick.emulator:DynPickEmulator",
    ),
    DeviceKind(
        "netft",
        SENSOR,
        "six-axis force/torque sensor ATI Net F/T, UDP",
        "ada_hardware.force_torque.rdt.netft:NetFtDriver",
        "ada_hardware.force_torque.rdt.emulator:NetFtEmulator",
    ),
    DeviceKind(
        "onrobot",
        SENSOR,
        "six-axis force/torque sensor OnRobot HEX (OptoForce), UDP",
        "ada_hardware.force_torque.rdt.onrobot:OnRobotDriver",
        "ada_hardware.force_torque.rdt.emulator:OnRobotEmulator",
    ),
    DeviceKind(
        "ft300",
        SENSOR,
        "six-axis force/torque sensor Robotiq FT 300, serial",
        "ada_hardware.force_torque.ft300.driver:Ft300Driver",
        "ada_hardware.force_torque.ft300.emulator:Ft300Emulator",
    ),
)

DEVICES: Mapping[str, DeviceKind] = {one.name: one for one in _KINDS}


def find(name: str) -> DeviceKind:
    """A kind of device by its name.

    Raises:
        UnknownDevice: there is none.
    """
    if name not in DEVICES:
        raise UnknownDevice(f"there is no device {name!r}; there are {', '.join(DEVICES)}.")
    return DEVICES[name]


def _loaded(place: str) -> type[Any]:
    module, name = place.split(":")
    found: type[Any] = getattr(import_module(module), name)
    return found


__all__ = ["DEVICES", "ROBOT", "SENSOR", "DeviceKind", "RobotDriver", "find"]
