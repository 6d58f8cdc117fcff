# SPDX-License-Identifier: Apache-2.0
"""A device as the parameters of the hardware node have it; no ROS."""

from __future__ import annotations

from typing import Any, NamedTuple

from ada_hardware.node.hardware_settings import DeviceSettings
from ada_hardware.registry import DeviceKind


class DevicePlan(NamedTuple):
    """A device that is to be there.

    Attributes:
        name: as users call it.
        kind: what it is.
        settings: what it is to the node.
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
        """Frame of a sensor's wrenches, without prefix."""
        return self.settings.frame or self.name
