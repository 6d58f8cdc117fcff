# SPDX-License-Identifier: Apache-2.0
"""An FT 300, byte for byte, as far as its stream goes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ada_dynamics.settings import setting
from ada_hardware.emulation.emulator import Reply
from ada_hardware.force_torque.ft300 import codec
from ada_hardware.force_torque.sensed_load import AXES, SensedLoad
from ada_hardware.force_torque.sensor_emulator import SensorEmulator

_FEWEST_TO_STOP = 30  # bytes 0xFF in a row; hosts send about 50, how many it needs is an assumption
_LONGEST_REQUEST = 64  # [bytes] that are kept
_MOST_AT_ONCE = 100  # frames sent in one call


@dataclass(frozen=True)
class Ft300EmulatorSettings:
    """How an emulated FT 300 measures."""

    noise: float = setting(2.0, "greatest error of an axis", unit="counts", lower=0.0)
    seed: int = setting(0, "of the noise")


class Ft300Emulator(SensorEmulator[Ft300EmulatorSettings]):
    """One FT 300."""

    NAME = "ft300"
    SUMMARY = "emulated Robotiq FT 300"
    SETTINGS: ClassVar[type] = Ft300EmulatorSettings
    WIRE: ClassVar[str] = "stream"
    FAULTS: ClassVar[Mapping[str, str]] = {**AXES, "frozen": "1: it sends no frames, though it should"}

    def __init__(self, settings: Ft300EmulatorSettings) -> None:
        """Switch it on."""
        super().__init__(settings)
        scale = [codec.FORCE_SCALE] * 3 + [codec.MOMENT_SCALE] * 3
        self.load = SensedLoad(scale, settings.noise, settings.seed)
        self._heard, self._is_streaming, self._next = b"", False, 0.0

    def receive(self, data: bytes, now: float) -> list[Reply]:
        """Bytes came from the host."""
        self._time = now
        replies = self.advance(now)
        for byte in data:
            self._heard += bytes([byte])
            if self._heard.endswith(codec.START):
                self._heard, self._is_streaming, self._next = b"", True, now + 1.0 / codec.RATE
                replies.append(Reply(codec.START_ANSWER))
            elif self._heard.endswith(b"\xff" * _FEWEST_TO_STOP):
                self._heard, self._is_streaming = b"", False
            elif len(self._heard) > _LONGEST_REQUEST:
                self._accuse(f"no request: {self._heard[:12].hex(' ')} ...")
                self._heard = b""
        return replies

    def advance(self, now: float) -> list[Reply]:
        """Send the frames that are due."""
        if not self._is_streaming or now < self._next - 1e-9:
            return []
        due = int((now - self._next) * codec.RATE + 1e-6) + 1
        self._next += due / codec.RATE
        if self._is_frozen:
            return []
        measured = (self.load.counts(codec.LOWEST, codec.HIGHEST)[0] for _ in range(min(due, _MOST_AT_ONCE)))
        return [Reply(codec.encode_frame(counts)) for counts in measured]

    def state(self) -> dict[str, object]:
        """What it is doing."""
        return {"is_streaming": self._is_streaming, "wrench": self.load.wrench.tolist()}
