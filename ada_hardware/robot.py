# SPDX-License-Identifier: Apache-2.0
"""Robot by the name of its device: `Robot("pa10", Pa10Settings(url="arcnet:arc0"))`."""

from __future__ import annotations

from collections.abc import Mapping

from ada_hardware.registry import DRIVEN, ROBOT, find
from ada_robot import robot
from ada_robot.errors import UnknownDevice
from ada_robot.robot import Place
from ada_robot.safety.settings import SafetySettings


class Robot(robot.Robot):
    """Robot by the name of its device; see `ada_robot.robot.Robot`."""

    def __init__(
        self,
        device: str,
        driver_settings: object | Mapping[str, object],
        safety: SafetySettings | None = None,
        *,
        place: Place = "process",
    ) -> None:
        """Create the robot; `open` connects.

        Args:
            device: name in `ada_hardware.registry.DRIVEN`, or "module:class" of another driver.
            driver_settings: instance of the driver's SETTINGS, or its values by name.
            safety: safety settings; None for the defaults.
            place: see `ada_robot.robot.Robot`.

        Raises:
            UnknownDevice: the device is unknown or has no joints.
            InputError: unknown or invalid settings, or limits wider than the device's.
        """
        driver = device
        if ":" not in device:
            kind = find(device, DRIVEN)
            if kind.kind != ROBOT:
                raise UnknownDevice(
                    f"device {device!r} is a {kind.kind}; it has no joints.", field="device", value=device
                )
            driver = kind.driver
        super().__init__(driver, driver_settings, safety, place=place)
