# SPDX-License-Identifier: Apache-2.0
"""Emulated device on a connection with faults: inputs and timed outputs. No I/O.

Used by `in_process` (connection for a driver) and `host` (pseudo-terminal or UDP port).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ada_dynamics.errors import InputError, unknown_name
from ada_hardware.emulation.emulator import Emulator, Reply
from ada_hardware.emulation.faults import WIRE_FAULTS, Arrival, WireFaults, base_name

SHORTEST_TICK = 1e-5  # [s] lower limit of an emulator's tick
LONGEST_CATCH_UP = 60.0  # [s] of missed ticks that are executed; older ones are skipped


class EmulatedLink:
    """Device and connection faults; the owner advances the time.

    Attributes:
        emulator: the device.
        faults: faults of the connection.
    """

    def __init__(
        self, emulator: Emulator[Any], now: float, *, faults: Mapping[str, float] | None = None, seed: int = 0
    ) -> None:
        """Connect a device.

        Args:
            emulator: the device.
            now: present time [s].
            faults: faults of connection or device, by name.
            seed: seed of random connection faults.

        Raises:
            InputError: unknown fault or invalid value.
        """
        self.emulator = emulator
        self._normal = emulator.fault_values
        self.faults = WireFaults(is_stream=emulator.WIRE == "stream", seed=seed)
        self._now = now
        self._next_tick = now + self._tick()
        for name, value in (faults or {}).items():
            self.fault(name, value)

    def put(self, data: bytes, now: float) -> None:
        """Send a frame or packet of the host."""
        self.run(now)
        if not self.faults.is_disconnected:
            self.faults.commands.send(data, self._now)
            self._deliver(self._now)

    def take(self, now: float) -> list[Arrival]:
        """Return all data that have arrived at the host since the last call."""
        self.run(now)
        return self.faults.answers.arrived(self._now)

    def run(self, now: float) -> None:
        """Advance to the present time: ticks of the device and arrivals at it, in order of time."""
        self._now = max(now, self._now)
        if self._now - self._next_tick > LONGEST_CATCH_UP:
            self._next_tick = self._now - LONGEST_CATCH_UP
        while True:
            time = min(self._next_tick, self.faults.commands.next_time())
            if time > self._now:
                return
            self._deliver(time)
            if time >= self._next_tick:
                self._send(self.emulator.advance(time), time)
                self._next_tick = time + self._tick()

    def next_time(self) -> float:
        """Latest time of the next call of `take` [s]."""
        return min(self._next_tick, self.faults.commands.next_time(), self.faults.answers.next_time())

    def fault(self, name: str, value: float) -> None:
        """Set a fault of connection or device, or clear it with 0.

        Raises:
            InputError: unknown fault or invalid value.
        """
        if name in self.emulator.FAULTS:
            self._fault_device(name, value)
        elif base_name(name) is not None:
            self.faults.set(name, value, self._now)
        else:
            raise unknown_name("fault", name, fault_names(type(self.emulator)))

    def on(self) -> dict[str, float]:
        """Active faults with their values."""
        own = self.emulator.fault_values
        return {**{name: own[name] for name in own if own[name] != self._normal[name]}, **self.faults.on()}

    def clear(self) -> None:
        """Clear all faults."""
        for name in self.on():
            self.fault(name, self._normal.get(name, 0.0))

    def _fault_device(self, name: str, value: float) -> None:
        device = self.emulator
        before = device.fault_values[name]
        try:
            if not math.isfinite(value):
                raise ValueError
            device.fault(name, value)
        except (ArithmeticError, LookupError, TypeError, ValueError):
            device.fault(name, before)
            raise InputError(
                f"fault {name} is {value!r:.80}; required is a number: {device.FAULTS[name]}.", field=name, value=value
            ) from None

    def _tick(self) -> float:
        return max(self.emulator.tick, SHORTEST_TICK)

    def _deliver(self, time: float) -> None:
        for arrival in self.faults.commands.arrived(time):
            self._send(self.emulator.receive(arrival.data, time), time)

    def _send(self, replies: list[Reply], time: float) -> None:
        if not self.faults.is_disconnected:
            for reply in replies:
                self.faults.answers.send(reply.data, time + reply.delay)


def fault_names(emulator: type[Emulator[Any]]) -> dict[str, str]:
    """Return all faults of an emulator and its connection, with descriptions."""
    return {**emulator.FAULTS, **WIRE_FAULTS}
