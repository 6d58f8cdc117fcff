# SPDX-License-Identifier: Apache-2.0
"""Connection to an emulator in the same process.

    clock = ManualClock()
    wire = InProcessPackets(Pa10Emulator(settings), clock=clock.now, sleep=clock.sleep, faults={"drop": 0.1})
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
from ada_dynamics.errors import InputError
from ada_hardware.emulation.emulated_link import EmulatedLink
from ada_hardware.emulation.emulator import Emulator
from ada_hardware.transport.wires import ByteStream, PacketPort
from ada_robot.errors import TransportError


class _InProcess:
    """Base of both kinds. Thread-safe."""

    WIRE = ""

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
            InputError: the device needs the other kind of connection, or unknown fault.
        """
        if emulator.WIRE != self.WIRE:
            text = f"{emulator.NAME} uses {emulator.WIRE}, not {self.WIRE}."
            raise InputError(text, field="wire", value=emulator.WIRE, allowed=self.WIRE)
        self.url = url or f"in-process {emulator.NAME}"
        self._clock, self._sleep = clock, sleep
        self._lock = threading.RLock()
        self._line = EmulatedLink(emulator, clock(), faults=faults, seed=seed)

    @property
    def emulator(self) -> Emulator[Any]:
        """The emulated device."""
        return self._line.emulator

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

    def _put(self, data: bytes) -> None:
        with self._lock:
            self._check()
            self._line.put(data, self._clock())

    def _wait(self, timeout: float, has_come: Callable[[], object]) -> None:
        """Wait for input for up to `timeout` [s]."""
        deadline = self._clock() + timeout
        while True:
            with self._lock:
                self._check()
                self._collect()
                now, wake = self._clock(), min(deadline, self._line.next_time())
            if has_come() or now >= deadline:
                return
            self._sleep(max(wake - now, 0.0))

    def _collect(self) -> None:
        raise NotImplementedError

    def _check(self) -> None:
        if self._line.is_disconnected:
            raise TransportError(f"{self.url}: disconnected (fault disconnect).", field="state", value="gone")


class InProcessStream(_InProcess, ByteStream):
    """Byte stream to an emulator. It can be used again after `close`."""

    WIRE = "stream"
    _come = b""

    def write(self, data: bytes) -> None:  # noqa: D102
        if data:
            self._put(bytes(data))

    def read(self, limit: int, timeout: float) -> bytes:  # noqa: D102
        self._wait(timeout, lambda: self._come)
        with self._lock:
            data, self._come = self._come[:limit], self._come[limit:]
        return data

    def discard_input(self) -> None:  # noqa: D102
        with self._lock:
            self._collect()
            self._come = b""

    def close(self) -> None:  # noqa: D102
        self.discard_input()

    def _collect(self) -> None:
        for arrival in self._line.take(self._clock()):
            self._come += arrival.data


class InProcessPackets(_InProcess, PacketPort):
    """Packets to and from an emulator. It can be used again after `close`."""

    WIRE = "packets"

    def __init__(self, emulator: Emulator[Any], **options: Any) -> None:
        """Options as of `InProcessStream`."""
        super().__init__(emulator, **options)
        self._packets: deque[bytes] = deque()

    def send(self, packet: bytes) -> None:  # noqa: D102
        self._put(bytes(packet))

    def receive(self, timeout: float) -> bytes | None:  # noqa: D102
        self._wait(timeout, lambda: self._packets)
        with self._lock:
            return self._packets.popleft() if self._packets else None

    def discard_input(self) -> None:  # noqa: D102
        with self._lock:
            self._collect()
            self._packets.clear()

    def close(self) -> None:  # noqa: D102
        self.discard_input()

    def _collect(self) -> None:
        self._packets.extend(arrival.data for arrival in self._line.take(self._clock()))
