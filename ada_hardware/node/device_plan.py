# SPDX-License-Identifier: Apache-2.0
"""Description of a device from the parameters of the hardware node; no ROS."""

from __future__ import annotations

from typing import Any, NamedTuple

from ada_hardware.node.hardware_settings import DeviceSettings
from ada_hardware.registry import DeviceKind


class DevicePlan(NamedTuple):
    """Device to be opened.

    Attributes:
        name: name for users.
        kind: kind of device.
        settings: its settings in the node.
        driver: settings of its driver.
        rules: `SafetySettings` of a robot, `ForceSensorSettings` of a sensor.
    """

    name: str
    kind: DeviceKind
    settings: DeviceSettings
    driver: Any
    rules: Any

    @property
    def frame(self) -> str:
        """Frame of the wrenches of a sensor, without prefix."""
        return self.settings.frame or self.name
