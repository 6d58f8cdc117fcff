# SPDX-License-Identifier: Apache-2.0
"""Driver of the Robotiq FT 300: a stream of 100 frames per second."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from ada_hardware.force_torque.ft300 import codec
from ada_hardware.force_torque.sensor_driver import Sample, SensorDriver, SensorIdentity, SensorSettings
from ada_hardware.transport.wires import Serial, Wire


class Ft300Driver(SensorDriver[SensorSettings, tuple[int, ...]]):
    """FT 300 driver; frames have no numbers, so lost ones show in the rate only."""

    NAME = "ft300"
    START, STOP, TRIES, WAIT = codec.START, codec.STOP, 3, 0.5
    REMEDY = "Check the 24 V supply, lines A and B of the RS-485 connection (swapped?), and the port."

    def __init__(
        self, settings: SensorSettings, *, wire: Wire | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(settings, wire=wire, clock=clock)
        self._parser, self._backlog = codec.frame_parser(), 16

    @property
    def period(self) -> float:  # noqa: D102
        return 1.0 / codec.RATE

    @property
    def _serial(self) -> Serial:
        return Serial(baud=codec.BAUD)

    def _prepare(self) -> SensorIdentity:
        self._end_stream()
        return SensorIdentity("Robotiq FT 300", codec.SCALE, "protocol")

    def _feed(self, data: bytes) -> int:
        before, now = self._parser.runs, self._clock()
        self._records.extend((now, one) for one in self._parser.feed(data))
        return self._parser.runs - before

    def _forget(self) -> None:
        super()._forget()
        self._parser.forget()

    def _sample(self, when: float, record: tuple[int, ...]) -> Sample:
        is_at_end = min(record) <= codec.LOWEST or max(record) >= codec.HIGHEST
        return Sample(when, np.array(record, dtype=np.float64) / self._scale, is_saturated=is_at_end)
