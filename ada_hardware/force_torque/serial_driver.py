# SPDX-License-Identifier: Apache-2.0
"""Base of the drivers of serial sensors: end of old streams, frames, damaged data."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from ada_hardware.force_torque.sensor_driver import R, S, SensorDriver
from ada_hardware.opening import open_device_stream
from ada_hardware.transport.wires import ByteStream, Serial

_CHUNK = 4096  # [bytes]
_LONGEST_TALK = 0.5  # [s] limit of waiting for the end of an earlier stream


class SerialSensorDriver(SensorDriver[S, ByteStream, R]):
    """Sensor on a serial line."""

    STOP: ClassVar[bytes]  # command that ends the stream
    QUIET: ClassVar[float]  # [s] without input that indicates the end of a stream

    @property
    @abstractmethod
    def _line(self) -> Serial:
        """Settings of the line."""

    def _emulator_settings(self) -> dict[str, object]:
        """Settings of the emulator in a dry run."""
        return {}

    @abstractmethod
    def _feed(self, data: bytes) -> int:
        """Store the records in `data`; return the number of damaged parts."""

    @abstractmethod
    def _forget(self) -> None:
        """Discard all received data."""

    def _open_wire(self) -> ByteStream:
        settings = self._emulator_settings()
        return open_device_stream(self.NAME, self.settings.url, self._line, emulator_settings=settings)

    def _end_stream(self, wire: ByteStream) -> None:
        """End a stream left on by an earlier program."""
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
            self.counts.last_problem = "damaged or incomplete record received"

    def _end(self, wire: ByteStream) -> None:
        wire.write(self.STOP)
