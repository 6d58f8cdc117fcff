# SPDX-License-Identifier: Apache-2.0
"""A driver and the emulator of its device, on a clock that the test holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ada_dynamics.clock import ManualClock
from ada_hardware.emulation.in_process import InProcessWire
from ada_hardware.registry import find
from ada_robot.settings import checked


class DeviceWorld:
    """Any device of the registry."""

    def __init__(
        self,
        name: str,
        *,
        faults: Mapping[str, float] | None = None,
        device: Mapping[str, object] | None = None,
        **settings: object,
    ) -> None:
        """Args: the device, faults of the wire, settings of the emulator, settings of the driver."""
        kind = find(name)
        emulator, driver = kind.emulator_class(), kind.driver_class()
        self.clock = clock = ManualClock()
        self.device: Any = emulator(checked(emulator.SETTINGS, device or {}))
        self.wire: Any = InProcessWire(self.device, clock=clock, sleep=clock.sleep, faults=faults)
        waits = {"sleep": clock.sleep} if name == "dynpick" else {}
        self.driver: Any = driver(checked(driver.SETTINGS, settings), wire=self.wire, clock=clock, **waits)
