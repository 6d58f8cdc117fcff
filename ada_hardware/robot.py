# SPDX-License-Identifier: Apache-2.0
"""A robot of the registry as programs hold it: `Robot("pa10", Pa10Settings(url="arcnet:arc0"))`."""

from __future__ import annotations

from collections.abc import Mapping

from ada_hardware.registry import DRIVEN, ROBOT, find
from ada_robot import robot
from ada_robot.errors import UnknownDevice
from ada_robot.robot import Place
from ada_robot.safety.settings import SafetySettings


class Robot(robot.Robot):
    """A robot by the name of its device; see `ada_robot.robot.Robot`."""

    def __init__(
        self,
        device: str,
        driver_settings: object | Mapping[str, object],
        safety: SafetySettings | None = None,
        *,
        place: Place = "process",
    ) -> None:
        """Prepare; `open` connects.

        Args:
            device: name in `ada_hardware.registry.DRIVEN`, or "module:class" of a driver from elsewhere.
            driver_settings: of the driver's class SETTINGS, or its values by name.
            safety: rules; the defaults where None.
            place: see `ada_robot.robot.Robot`.

        Raises:
            UnknownDevice: there is no such device, or it is none with joints.
            InputError: settings that cannot be: wrong names or values, limits wider than the device's.
        """
        driver, model = device, ""
        if ":" not in device:
            kind = find(device, DRIVEN)
            if kind.kind != ROBOT:
                raise UnknownDevice(
                    f"device {device!r} is a {kind.kind}; it has no joints to be driven.", field="device", value=device
                )
            driver, model = kind.driver, kind.robot
        super().__init__(driver, driver_settings, safety, place=place, model=model)
