# SPDX-License-Identifier: Apache-2.0
"""Real-time host of one emulator on a pseudo-terminal or UDP port: a single-threaded loop with precise waits.

    host = EmulatorHost(emulator, "udp://127.0.0.1:0")
    print(host.url)
    host.run()                        # until `host.stop()`, or a signal

Replies are sent on time within about 0.1 ms on an idle machine. Orders of `controls` (JSON lines from stdin in
`__main__`) are processed in between.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ada_hardware.emulation.device_ports import DevicePort, open_device_port
from ada_hardware.emulation.emulated_link import EmulatedLink
from ada_hardware.emulation.emulator import Emulator
from ada_hardware.transport.polling import readable

PRIORITY = 49  # real-time priority, one less than the default of the robot's cycle
_LONGEST_WAIT = 0.5  # [s]


class Control(Protocol):
    """Additional input of the loop, such as a pipe with command lines."""

    def fileno(self) -> int:
        """Descriptor that becomes readable on input."""

    def handle(self) -> bool:
        """Process the input; return False at its end."""


class EmulatorHost:
    """Device on a pseudo-terminal or UDP port.

    Attributes:
        line: device and connection faults.
    """

    def __init__(
        self,
        emulator: Emulator[Any],
        listen: str = "",
        *,
        faults: Mapping[str, float] | None = None,
        seed: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open the device side of the connection.

        Args:
            emulator: the device.
            listen: address as of `device_ports.open_device_port`; "": default of the kind of connection.
            faults: faults of connection and device, by name.
            seed: seed of random faults.
            clock: monotonic time [s].

        Raises:
            TransportError: the address cannot be opened, or is of the other kind.
            InputError: unknown fault or invalid value.
        """
        self._clock = clock
        self.line = EmulatedLink(emulator, clock(), faults=faults, seed=seed)
        self._end: DevicePort = open_device_port(emulator.WIRE, listen)
        self._controls: list[Control] = []
        self._is_running = True
        self._follow_cable()

    @property
    def url(self) -> str:
        """Address to be opened by a driver; a new pseudo-terminal has a new one."""
        return self._end.url

    def add(self, control: Control) -> None:
        """Add an input to the loop."""
        self._controls.append(control)

    def fault(self, name: str, value: float) -> None:
        """Set a fault, or clear it with 0; called by the thread of the loop.

        Raises:
            InputError: unknown fault or invalid value.
            TransportError: the port cannot be reopened after a disconnect.
        """
        self.line.run(self._clock())
        self.line.fault(name, value)
        self._follow_cable()

    def clear(self) -> None:
        """Clear all faults; raises as `fault`."""
        self.line.run(self._clock())
        self.line.clear()
        self._follow_cable()

    def run(self) -> None:
        """Run the device until `stop`."""
        while self._is_running:
            self.step(_LONGEST_WAIT)

    def stop(self) -> None:
        """End `run` after the present step."""
        self._is_running = False

    def step(self, longest: float) -> None:
        """Wait for input or a due answer, at most `longest` [s], and process it."""
        wait = min(self.line.next_time() - self._clock(), longest)
        ready = readable([*self._end.descriptors(), *(control.fileno() for control in self._controls)], wait)
        for came_at, data in self._end.arrivals(self._clock()):
            self.line.put(data, came_at)
        for arrival in self.line.take(self._clock()):
            self._end.send(arrival.data)
        for control in [one for one in self._controls if one.fileno() in ready]:
            if not control.handle():
                self._controls.remove(control)

    def close(self) -> None:
        """Close the connection."""
        self._end.close()

    def _follow_cable(self) -> None:
        if self.line.faults.is_disconnected:
            self._end.disconnect()
        else:
            self._end.reconnect()
