# SPDX-License-Identifier: Apache-2.0
"""Connection to an emulator in the same process.

    clock = ManualClock()
    wire = InProcessWire(Pa10Emulator(settings), clock=clock.now, sleep=clock.sleep, faults={"drop": 0.1})
    driver = Pa10Driver(driver_settings, wire=wire, clock=clock.now)

With an `ada_dynamics.clock.ManualClock`, waiting takes no time and runs are reproducible; with the defaults the
emulator runs in real time. The emulator only advances during calls; missed ticks are executed in the next one.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from ada_dynamics.clock import SYSTEM_CLOCK
from ada_hardware.emulation.emulated_link import EmulatedLink
from ada_hardware.emulation.emulator import Emulator
from ada_hardware.transport.wires import Wire
from ada_robot.errors import TransportError


class InProcessWire(Wire):
    """Connection to an emulator. It can be used again after `close`; thread-safe."""

    def __init__(
        self,
        emulator: Emulator[Any],
        *,
        clock: Callable[[], float] = SYSTEM_CLOCK,
        sleep: Callable[[float], object] = SYSTEM_CLOCK.sleep,
        faults: Mapping[str, float] | None = None,
        seed: int = 0,
        url: str = "",
    ) -> None:
        """Connect to a device.

        Args:
            emulator: the device.
            clock: monotonic time [s].
            sleep: waits for a duration [s].
            faults: faults of connection and device, by name; see `emulation.faults`.
            seed: seed of random faults.
            url: address for messages.

        Raises:
            InputError: unknown fault.
        """
        self.url = url or f"in-process {emulator.NAME}"
        self._clock, self._sleep = clock, sleep
        self._lock = threading.RLock()
        self._line = EmulatedLink(emulator, clock(), faults=faults, seed=seed)
        self._received: deque[bytes] = deque()
        self.device = emulator

    def fault(self, name: str, value: float) -> None:
        """Set a fault of `emulation.faults` or of the emulator's FAULTS, or clear it with 0.

        Raises:
            InputError: unknown fault or invalid value.
        """
        with self._lock:
            self._line.run(self._clock())
            self._line.fault(name, value)

    def run(self) -> None:
        """Advance the device to the present time."""
        with self._lock:
            self._collect()

    def send(self, data: bytes) -> None:  # noqa: D102
        with self._lock:
            self._check()
            self._line.put(bytes(data), self._clock())

    def receive(self, timeout: float) -> bytes | None:  # noqa: D102
        deadline = self._clock() + timeout
        while True:
            with self._lock:
                self._check()
                self._collect()
                if self._received:
                    return self._received.popleft()
                now, wake = self._clock(), min(deadline, self._line.next_time())
            if now >= deadline:
                return None
            self._sleep(max(wake - now, 0.0))

    def discard_input(self) -> None:  # noqa: D102
        with self._lock:
            self._collect()
            self._received.clear()

    def close(self) -> None:  # noqa: D102
        self.discard_input()

    def _collect(self) -> None:
        """Store the data that have arrived: packets, or all bytes of a stream as one piece."""
        arrived = [arrival.data for arrival in self._line.take(self._clock())]
        if arrived and self.device.WIRE == "stream":
            arrived = [b"".join([*self._received, *arrived])]
            self._received.clear()
        self._received.extend(arrived)

    def _check(self) -> None:
        if self._line.is_disconnected:
            raise TransportError(f"{self.url}: disconnected (fault disconnect).", field="state", value="gone")
