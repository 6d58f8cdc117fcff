# SPDX-License-Identifier: Apache-2.0
"""Emulated DynPick, current or older unit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ada_dynamics.errors import InputError
from ada_hardware.emulation.emulator import TimedReply
from ada_hardware.force_torque.dynpick import codec
from ada_hardware.force_torque.sensor_emulator import AXES, SensorEmulator, SensorEmulatorSettings
from ada_robot.settings import setting

_MOST_AT_ONCE = 1000  # records returned by one call
_ANSWER_TIME = 0.35e-3  # [s] delay of a record: 27 characters on the line


@dataclass(frozen=True)
class DynPickEmulatorSettings(SensorEmulatorSettings):
    """Settings of an emulated DynPick."""

    sensitivity: tuple[float, ...] = setting(
        (24.9, 24.6, 24.5, 1664.7, 1639.7, 1638.0), "counts per N (three) and per N m (three)", lower=1e-6
    )
    rate: float = setting(1000.0, "records per second of a stream (assumed)", unit="Hz", lower=1.0, upper=1e4)
    is_old: bool = setting(False, "older unit without the command p")
    version: str = setting("DynPick emulated 1.0", "reply to V")

    def __post_init__(self) -> None:
        """Check the number of sensitivities; raises InputError."""
        if len(self.sensitivity) != 6:
            text = f"sensitivity is {list(self.sensitivity)}; required are six numbers."
            raise InputError(text, field="sensitivity", value=self.sensitivity)


class DynPickEmulator(SensorEmulator[DynPickEmulatorSettings]):
    """Emulated DynPick."""

    NAME = "dynpick"
    SETTINGS: ClassVar[type] = DynPickEmulatorSettings
    WIRE: ClassVar[str] = "stream"
    FAULTS: ClassVar[Mapping[str, str]] = {
        **AXES,
        "frozen": "1: sends no records",
        "reboot": "1: restart: no stream, record numbers from 0",
    }

    def __init__(self, settings: DynPickEmulatorSettings) -> None:
        super().__init__(settings, settings.sensitivity, settings.rate)

    def _begin(self) -> None:
        self._number = 0
        super()._begin()

    def receive(self, data: bytes, now: float) -> list[TimedReply]:
        """Execute commands and return the replies."""
        self._time = now
        replies = self.advance(now)
        for i in range(len(data)):
            replies += self._execute(data[i : i + 1], now)
        return replies

    def _execute(self, command: bytes, now: float) -> list[TimedReply]:
        if command == codec.READ:
            return self._record(_ANSWER_TIME)
        if command == codec.START:
            self._stream(now)
        elif command == codec.STOP:
            self._is_streaming = False
        elif command == codec.VERSION:
            return [TimedReply(self.settings.version.encode() + codec.END, _ANSWER_TIME)]
        elif command == codec.SENSITIVITY:
            data = codec.encode_sensitivity(self.settings.sensitivity)
            return [] if self.settings.is_old else [TimedReply(data, _ANSWER_TIME)]
        elif command not in (b"\r", b"\n"):
            self._report_violation(f"unknown command {command!r}")
        return []

    def _records(self, due: int) -> list[TimedReply]:
        self._number = (self._number + max(due - _MOST_AT_ONCE, 0)) % 10
        return [reply for _ in range(min(due, _MOST_AT_ONCE)) for reply in self._record(0.0)]

    def _record(self, delay: float) -> list[TimedReply]:
        if self.faults["frozen"]:
            return []
        counts = self._counts(-codec.CENTRE, codec.TOP - codec.CENTRE)[0]
        data = codec.encode_record(self._number, [one + codec.CENTRE for one in counts])
        self._number = (self._number + 1) % 10
        return [TimedReply(data, delay)]
