# SPDX-License-Identifier: Apache-2.0
"""Driver of the Robotiq FT 300: a stream of 100 frames per second."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from ada_hardware.force_torque.ft300 import codec
from ada_hardware.force_torque.ft300.codec import FrameParser
from ada_hardware.force_torque.sensor_driver import Sample, SensorIdentity, SensorSettings, SerialSensorDriver
from ada_hardware.transport.wires import ByteStream, Serial

_TRIES, _WAIT = 3, 0.5  # tries of the start request, timeout [s]


class Ft300Driver(SerialSensorDriver[SensorSettings, tuple[int, ...]]):
    """FT 300 driver; frames have no numbers, so lost ones show in the rate only."""

    NAME = "ft300"
    STOP, QUIET = codec.STOP, 0.05
    REMEDY = "Check the 24 V supply, lines A and B of the RS-485 connection (swapped?), and the port."

    def __init__(
        self, settings: SensorSettings, *, wire: ByteStream | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(settings, wire=wire, clock=clock)
        self._parser, self._backlog = FrameParser(), 16

    @property
    def period(self) -> float:  # noqa: D102
        return 1.0 / codec.RATE

    @property
    def _line(self) -> Serial:
        return Serial(baud=codec.BAUD)

    def _prepare(self, wire: ByteStream) -> SensorIdentity:
        self._end_stream(wire)
        return SensorIdentity("Robotiq FT 300", codec.SCALE, "protocol")

    def _start(self, wire: ByteStream) -> None:
        for attempt in range(_TRIES):
            self.counts.retries += attempt > 0
            self.counts.sent += 1
            wire.write(codec.START)
            if self._receive(_WAIT):
                return
        raise self._no_records(wire, _TRIES)

    def _feed(self, data: bytes) -> int:
        before, now = self._parser.runs, self._clock()
        self._records.extend((now, one) for one in self._parser.feed(data))
        return self._parser.runs - before

    def _forget(self) -> None:
        self._opened().discard_input()
        self._parser.forget()
        self._records.clear()

    def _sample(self, when: float, record: tuple[int, ...]) -> Sample:
        is_at_end = min(record) <= codec.LOWEST or max(record) >= codec.HIGHEST
        return Sample(when, np.array(record, dtype=np.float64) / self._scale, is_saturated=is_at_end)
