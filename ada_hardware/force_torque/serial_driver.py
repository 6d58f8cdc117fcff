# SPDX-License-Identifier: Apache-2.0
"""Base of the drivers of sensors on serial lines: a stream that is ended, frames, damage that is counted."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from ada_hardware.force_torque.sensor_driver import R, S, SensorDriver
from ada_hardware.opening import open_device_stream
from ada_hardware.transport.wires import ByteStream, Serial

_CHUNK = 4096  # [bytes]
_LONGEST_TALK = 0.5  # [s] that an earlier stream may take to end


class SerialSensorDriver(SensorDriver[S, ByteStream, R]):
    """A sensor on a serial line."""

    STOP: ClassVar[bytes]  # ends its stream
    QUIET: ClassVar[float]  # [s] of silence after which a stream has ended

    @property
    @abstractmethod
    def _line(self) -> Serial:
        """Settings of the line."""

    def _emulator_settings(self) -> dict[str, object]:
        """Settings of the emulated sensor of a dry run, by those of the driver."""
        return {}

    @abstractmethod
    def _feed(self, data: bytes) -> int:
        """Keep the records in what came; how often something in it was damaged."""

    @abstractmethod
    def _forget(self) -> None:
        """Drop all received bytes."""

    def _open_wire(self) -> ByteStream:
        settings = self._emulator_settings()
        return open_device_stream(self.NAME, self.settings.url, self._line, emulator_settings=settings)

    def _end_stream(self, wire: ByteStream) -> None:
        """End a stream that an earlier program left on."""
        wire.write(self.STOP)
        end = self._clock() + _LONGEST_TALK
        while wire.read(_CHUNK, self.QUIET) and self._clock() < end:
            pass
        self._forget()

    def _take(self, wire: ByteStream, timeout: float) -> bool:
        data = wire.read(_CHUNK, timeout)
        if data:
            self._count_damage(self._feed(data))
        return bool(data)

    def _count_damage(self, times: int) -> None:
        if times:
            self.counts.refused += times
            self.counts.last_problem = "a damaged record came, or part of one"

    def _end(self, wire: ByteStream) -> None:
        wire.write(self.STOP)
