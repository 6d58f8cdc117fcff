# SPDX-License-Identifier: Apache-2.0
"""Base of the emulated devices: bytes in, timed bytes out. No I/O and no clock.

`emulation.host` connects one to a pseudo-terminal or a UDP port and applies faults of the line (truncation,
loss, reordering, silence); tests call it directly.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from ada_hardware.registry import DEVICES, find
from ada_robot.driver import load_class
from ada_robot.settings import checked

S = TypeVar("S")
_MOST_VIOLATIONS = 1000  # recorded ones


class TimedReply(NamedTuple):
    """Bytes sent by a device."""

    data: bytes  # bytes; on packet connections one packet
    delay: float = 0.0  # delay from the call that returned it [s]


class Violation(NamedTuple):
    """Command that a host must never send to a real device."""

    time: float  # time of reception [s]
    text: str  # description


class Emulator(ABC, Generic[S]):
    """Emulated device.

    Attributes:
        settings: settings in use.
        violations: recorded violations of the host; checked by all safety tests.
        faults: values of all FAULTS, set by `fault`.
        tick: longest time between two calls of `advance` [s].
    """

    NAME: ClassVar[str]
    SETTINGS: ClassVar[type]
    WIRE: ClassVar[str]
    """"stream" or "packets"."""
    FAULTS: ClassVar[Mapping[str, str]] = {}
    """Faults of the device (not of the line) by name, with descriptions."""
    tick = 0.01

    def __init__(self, settings: S) -> None:
        self.settings = settings
        self.violations: list[Violation] = []
        self.faults = dict.fromkeys(self.FAULTS, 0.0)
        self._time = 0.0

    @abstractmethod
    def receive(self, data: bytes, now: float) -> list[TimedReply]:
        """Process bytes (or a packet) of the host.

        Args:
            data: bytes; on streams any part of the sent bytes.
            now: present time [s], not less than in the last call.
        """

    def advance(self, now: float) -> list[TimedReply]:
        """Advance to the time `now`; return unrequested replies. Called at least every `tick` seconds."""
        return []

    def fault(self, name: str, value: float) -> None:
        """Set a fault of FAULTS to a value, or clear it (0)."""
        if name not in self.FAULTS:
            raise KeyError(name)
        self.faults[name] = value

    def _report_violation(self, text: str) -> None:
        """Record a violation of the host at the present time."""
        if len(self.violations) < _MOST_VIOLATIONS:
            self.violations.append(Violation(self._time, text))

    def state(self) -> dict[str, object]:
        """State of the device as JSON-compatible values."""
        return {}


def emulator_class(name: str) -> type[Emulator[Any]]:
    """Return the emulator class of a device, by its name in the registry or "module:class".

    Raises:
        UnknownDevice: no such emulator.
    """
    return load_class(name, Emulator, "emulator", DEVICES) if ":" in name else find(name).emulator_class()


def made_emulator(name: str, settings: Mapping[str, object] | None = None) -> Emulator[Any]:
    """Create an emulator.

    Args:
        name: as of `emulator_class`.
        settings: settings by name; missing ones have their defaults.

    Raises:
        UnknownDevice: no such emulator.
        InputError: unknown setting or invalid value.
    """
    kind = emulator_class(name)
    return kind(checked(kind.SETTINGS, settings or {}))
