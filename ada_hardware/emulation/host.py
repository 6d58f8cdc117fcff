# SPDX-License-Identifier: Apache-2.0
"""One emulator on a real wire, a pseudo-terminal or a UDP port, in real time: a loop of one thread, with exact waits.

    host = EmulatorHost(emulator, "udp://127.0.0.1:0")
    print(host.url)
    host.run()                        # until `host.stop()`, or a signal

Answers leave when they are due, within about 0.1 ms on an idle machine. Orders of `controls` (lines of JSON from stdin
in `__main__`) are handled in between.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ada_hardware.emulation.emulator import Emulator
from ada_hardware.emulation.ends import End, open_end
from ada_hardware.emulation.line import EmulatedLine
from ada_hardware.transport.waiting import readable

PRIORITY = 49  # real-time: a device has no other load; one less than the default of the robot's cycle
_LONGEST_WAIT = 0.5  # [s]


class Control(Protocol):
    """Another input of the loop, such as a pipe with lines of commands."""

    def fileno(self) -> int:
        """Descriptor that becomes readable when there is input."""

    def handle(self) -> bool:
        """Handle the input; False: it has ended, never ask again."""


class EmulatorHost:
    """A device on a real wire.

    Attributes:
        line: the device and its wire's faults.
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
        """Open the device's end of the wire.

        Args:
            emulator: the device.
            listen: address as of `ends.open_end`; "": by the kind of wire.
            faults: of the wire and of the device, by name.
            seed: of the random ones.
            clock: steady time [s].

        Raises:
            TransportError: the address cannot be listened on, or is of the other kind of wire.
            InputError: an unknown fault, or a value that it cannot have.
        """
        self._clock = clock
        self.line = EmulatedLine(emulator, clock(), faults=faults, seed=seed)
        self._end: End = open_end(emulator.WIRE, listen)
        self._controls: list[Control] = []
        self._is_running = True
        self._follow_cable()

    @property
    def url(self) -> str:
        """Address that a driver opens; a new pseudo-terminal has a new one."""
        return self._end.url

    def add(self, control: Control) -> None:
        """Add an input to the loop."""
        self._controls.append(control)

    def fault(self, name: str, value: float) -> None:
        """Switch a fault on, or with 0 off; called by the loop's thread.

        Raises:
            InputError: there is no such fault, or it cannot have this value.
            TransportError: the port cannot be opened again after a disconnect.
        """
        self.line.run(self._clock())
        self.line.fault(name, value)
        self._follow_cable()

    def clear(self) -> None:
        """Switch all faults off; as `fault`."""
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
        """Wait for input or a due answer, at most `longest` [s], and handle it."""
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
        """Free the wire."""
        self._end.close()

    def _follow_cable(self) -> None:
        if self.line.faults.is_disconnected:
            self._end.disconnect()
        else:
            self._end.reconnect()
