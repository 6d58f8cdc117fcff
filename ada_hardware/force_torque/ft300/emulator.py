# SPDX-License-Identifier: Apache-2.0
"""Emulated stream of an FT 300."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ada_hardware.emulation.emulator import TimedReply
from ada_hardware.force_torque.ft300 import codec
from ada_hardware.force_torque.sensor_emulator import AXES, SensorEmulator, SensorEmulatorSettings

_FEWEST_TO_STOP = 30  # successive bytes 0xFF that stop the stream (assumed; hosts send about 50)
_LONGEST_REQUEST = 64  # [bytes] of the request buffer
_MOST_AT_ONCE = 100  # frames returned by one call


class Ft300Emulator(SensorEmulator[SensorEmulatorSettings]):
    """Emulated FT 300."""

    NAME = "ft300"
    SETTINGS: ClassVar[type] = SensorEmulatorSettings
    WIRE: ClassVar[str] = "stream"
    FAULTS: ClassVar[Mapping[str, str]] = {**AXES, "frozen": "1: sends no frames"}

    def __init__(self, settings: SensorEmulatorSettings) -> None:
        super().__init__(settings, codec.SCALE, codec.RATE)
        self._request = b""

    def receive(self, data: bytes, now: float) -> list[TimedReply]:
        """Process bytes of the host."""
        self._time = now
        replies = self.advance(now)
        for byte in data:
            self._request += bytes([byte])
            if self._request.endswith(codec.START):
                self._request = b""
                self._stream(now)
                replies.append(TimedReply(codec.START_ANSWER))
            elif self._request.endswith(b"\xff" * _FEWEST_TO_STOP):
                self._request, self._is_streaming = b"", False
            elif len(self._request) > _LONGEST_REQUEST:
                self._report_violation(f"invalid request: {self._request[:12].hex(' ')} ...")
                self._request = b""
        return replies

    def _records(self, due: int) -> list[TimedReply]:
        if self.faults["frozen"]:
            return []
        measured = (self._counts(codec.LOWEST, codec.HIGHEST)[0] for _ in range(min(due, _MOST_AT_ONCE)))
        return [TimedReply(codec.encode_frame(counts)) for counts in measured]
