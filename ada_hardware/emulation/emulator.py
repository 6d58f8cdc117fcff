# SPDX-License-Identifier: Apache-2.0
"""Base of all emulated devices: bytes in, bytes out, at given times. No I/O and no clock of its own.

`emulation.host` puts one behind a pseudo-terminal or a UDP port, and does to its bytes what wires do (noise, halves,
loss, order, silence); tests call it directly.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Generic, NamedTuple, TypeVar

S = TypeVar("S")


class Reply(NamedTuple):
    """Bytes that a device sends.

    Attributes:
        data: bytes; on packet wires one packet.
        delay: until then, from the call that returned it [s].
    """

    data: bytes
    delay: float = 0.0


class Violation(NamedTuple):
    """A command that a host must never send to a real device.

    Attributes:
        time: when it came [s].
        text: what it was.
    """

    time: float
    text: str


class Emulator(ABC, Generic[S]):
    """A device that answers as the real one does.

    One with web pages has a method `http_pages() -> Mapping[str, bytes]`, pages by path, which the host serves.

    Attributes:
        settings: in use.
        violations: of the host so far; all safety tests judge by them.
    """

    NAME: ClassVar[str]
    SETTINGS: ClassVar[type]
    WIRE: ClassVar[str]
    """"stream" or "packets"."""
    FAULTS: ClassVar[Mapping[str, str]] = {}
    """Faults of the device itself (not of the wire) by name, with what each does."""

    def __init__(self, settings: S) -> None:
        """Switch it on."""
        self.settings = settings
        self.violations: list[Violation] = []
        self._faults = dict.fromkeys(self.FAULTS, 0.0)
        self._time = 0.0

    @abstractmethod
    def receive(self, data: bytes, now: float) -> list[Reply]:
        """Bytes (a packet) came from the host.

        Args:
            data: on streams any piece of what was sent.
            now: present [s]; never less than before.
        """

    def advance(self, now: float) -> list[Reply]:
        """Time passed; what the device sends by itself. Called at least every `tick` seconds."""
        return []

    @property
    def tick(self) -> float:
        """Longest time between two calls of `advance` [s]."""
        return 0.01

    def fault(self, name: str, value: float) -> None:
        """Switch a fault of FAULTS on (its value says how much) or off (0)."""
        if name not in self.FAULTS:
            raise KeyError(name)
        self._faults[name] = value

    @property
    def fault_values(self) -> Mapping[str, float]:
        """Values of all FAULTS, a copy."""
        return dict(self._faults)

    def _accuse(self, text: str) -> None:
        """Record a violation of the host, now."""
        self.violations.append(Violation(self._time, text))

    def state(self) -> dict[str, object]:
        """State of the device, as figures that JSON can hold; for tests and people."""
        return {}
