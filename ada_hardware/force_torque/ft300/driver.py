# SPDX-License-Identifier: Apache-2.0
"""Robotiq FT 300: a stream of 100 frames per second."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.settings import setting
from ada_hardware.force_torque.ft300 import codec
from ada_hardware.force_torque.ft300.codec import FrameParser
from ada_hardware.force_torque.sensor_driver import Sample, SensorDriver, SensorIdentity
from ada_hardware.opening import open_device_stream
from ada_hardware.transport.wires import ByteStream, Serial
from ada_robot.errors import NoAnswer, Refused, TransportError

_TRIES, _WAIT = 3, 0.5  # [s] of a start that may get lost
_QUIET, _LONGEST_TALK = 0.05, 0.5  # [s] of silence after which a stream has ended, and the longest wait for it
_LARGEST_BACKLOG = 16  # frames that wait; a host with more of them is too late for the older ones
_CHUNK = 4096  # [bytes]
_SCALE: Array = np.array([codec.FORCE_SCALE] * 3 + [codec.MOMENT_SCALE] * 3)


@dataclass(frozen=True)
class Ft300Settings:
    """Where a sensor is."""

    url: str = setting("", "serial port of the sensor, such as /dev/ttyUSB0, or dry:")
    timeout: float = setting(0.1, "longest wait for a sample", unit="s", lower=1e-3, upper=10.0)


class Ft300Driver(SensorDriver[Ft300Settings]):
    """One FT 300; its records have no numbers, so that losses show in the rate alone."""

    NAME = "ft300"
    SUMMARY = "six-axis force/torque sensor Robotiq FT 300, serial"
    SETTINGS: ClassVar[type] = Ft300Settings

    def __init__(
        self, settings: Ft300Settings, *, wire: ByteStream | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Prepare.

        Args:
            settings: address.
            wire: to the sensor; None: it is opened by its address.
            clock: steady time [s].
        """
        super().__init__(settings)
        self._given, self._clock = wire, clock
        self._wire: ByteStream | None = None
        self._parser = FrameParser()
        self._frames: deque[tuple[float, tuple[int, ...]]] = deque()
        self._last = Sample(-np.inf, np.full(6, np.nan), is_fresh=False)

    @property
    def period(self) -> float:  # noqa: D102
        return 1.0 / codec.RATE

    def identity(self) -> SensorIdentity:  # noqa: D102
        return SensorIdentity("Robotiq FT 300", "", (codec.FORCE_SCALE,) * 3, (codec.MOMENT_SCALE,) * 3, "protocol")

    def open(self) -> None:  # noqa: D102
        self.close()
        self._wire = wire = self._given or open_device_stream(self.NAME, self.settings.url, Serial(baud=codec.BAUD))
        try:
            wire.write(codec.STOP)  # of a stream that an earlier program left on
            end = self._clock() + _LONGEST_TALK
            while wire.read(_CHUNK, _QUIET) and self._clock() < end:
                pass
            self._start(wire)
        except BaseException:
            self.close()
            raise

    def _start(self, wire: ByteStream) -> None:
        """Let frames come.

        Raises:
            NoAnswer: none does.
        """
        wire.discard_input()
        self._parser.restart()
        self._frames.clear()
        before = self.counts.refused
        for attempt in range(_TRIES):
            self.counts.retries += attempt > 0
            self.counts.sent += 1
            wire.write(codec.START)
            if self._receive(_WAIT):
                return
        came = "bytes come, but no frames of an FT 300" if self.counts.refused > before else "nothing comes"
        raise NoAnswer(
            f"{self.NAME} at {wire.url}: after {_TRIES} requests to stream at {codec.BAUD} baud {came}. Look at its "
            "24 V, at A and B of the RS-485 line (swapped?), and at the port."
        )

    def _receive(self, timeout: float) -> bool:
        """Take what comes until there is a frame; whether there is one."""
        wire, deadline = self._opened(), self._clock() + timeout
        while True:
            data = wire.read(_CHUNK, max(deadline - self._clock(), 0.0))
            if data:
                now = self._clock()
                self._frames.extend((now, one) for one in self._parser.feed(data))
                if self._parser.refused:
                    self.counts.refused += self._parser.refused
                    self.counts.last_problem = "damaged bytes came"
                    self._parser.refused = 0
            if self._frames:
                return True
            if self._clock() >= deadline:
                return False

    def read(self) -> Sample:  # noqa: D102
        if not self._frames and not self._receive(self.settings.timeout):
            self.counts.missed += 1
            self._last = replace(self._last, is_fresh=False)
            return self._last
        if len(self._frames) > _LARGEST_BACKLOG:
            self.counts.refused += len(self._frames) - 1
            self.counts.last_problem = f"the host was late: {len(self._frames) - 1} old frames were skipped"
            self._frames = deque([self._frames[-1]])
        when, counts = self._frames.popleft()
        self.counts.received += 1
        is_at_end = min(counts) <= codec.LOWEST or max(counts) >= codec.HIGHEST
        self._last = Sample(when, np.array(counts, dtype=np.float64) / _SCALE, is_saturated=is_at_end)
        return self._last

    def bias(self) -> None:
        """Refused: no command for it is known.

        Raises:
            Refused: always.
        """
        raise Refused(f"{self.NAME}: no zero inside this device is known; let the host take it (in_device=False).")

    def close(self) -> None:  # noqa: D102
        wire, self._wire = self._wire, None
        if wire is None:
            return
        try:
            wire.write(codec.STOP)
        except TransportError as problem:
            self.counts.last_problem = str(problem)
        wire.close()

    def _opened(self) -> ByteStream:
        if self._wire is None:
            raise TransportError(f"{self.NAME}: it is not open; call open() first.")
        return self._wire
