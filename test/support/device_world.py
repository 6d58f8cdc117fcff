# SPDX-License-Identifier: Apache-2.0
"""A driver and the emulator of its device, on a clock that the test holds, with a tap on the wire between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ada_dynamics.clock import ManualClock
from ada_hardware.emulation.in_process import InProcessWire
from ada_hardware.opening import emulator_settings
from ada_hardware.registry import find
from ada_hardware.transport.wires import Wire
from ada_robot.settings import checked


class TappedWire(Wire):
    """Keeps what is sent through another wire, and can change what arrives."""

    def __init__(self, wire: Wire) -> None:
        self.wire, self.url, self.device = wire, wire.url, wire.device
        self.sent: list[bytes] = []
        self.on_send: Callable[[bytes], object] = lambda data: None
        self.on_receive: Callable[[bytes], bytes | None] = lambda data: data

    def send(self, data: bytes) -> None:
        self.sent.append(data)
        self.on_send(data)
        self.wire.send(data)

    def receive(self, timeout: float) -> bytes | None:
        data = self.wire.receive(timeout)
        return None if data is None else self.on_receive(data)

    def discard_input(self) -> None:
        self.wire.discard_input()

    def close(self) -> None:
        self.wire.close()


class DeviceWorld:
    """Any device of the registry."""

    def __init__(
        self,
        name: str,
        *,
        faults: Mapping[str, float] | None = None,
        device: Mapping[str, object] | None = None,
        start: float = 0.0,
        seed: int = 0,
        **settings: object,
    ) -> None:
        """Make a device with faults of its wire; its settings agree with those of the driver where none are given."""
        kind = find(name)
        emulator, driver = kind.emulator_class(), kind.driver_class()
        use = checked(driver.SETTINGS, settings)
        self.clock = clock = ManualClock(start)
        self.device: Any = emulator(checked(emulator.SETTINGS, {**emulator_settings(name, use), **(device or {})}))
        self.wire = InProcessWire(self.device, clock=clock, sleep=clock.sleep, faults=faults, seed=seed)
        self.tap = TappedWire(self.wire)
        own: dict[str, Any] = {"dynpick": {"sleep": clock.sleep}, "hexa": {"session": 7}}.get(name, {})
        self.driver: Any = driver(use, wire=self.tap, clock=clock, **own)

    @property
    def violations(self) -> list[str]:
        return [one.text for one in self.device.violations]
