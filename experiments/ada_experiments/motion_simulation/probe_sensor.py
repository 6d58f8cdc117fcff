# SPDX-License-Identifier: Apache-2.0
"""Force sensor of the probe, read once per period of the table.

The driver of an emulated sensor is read synchronously. A real sensor has a separate thread (`force_torque.sensor`), and
its latest sample is used. The zero is the mean of some periods at rest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_hardware.force_torque.pipeline import steady_mean
from ada_hardware.force_torque.sensor import ForceSensor
from ada_hardware.force_torque.sensor_driver import SensorDriver

ZERO_PERIODS = 50
_STEADY_FORCE, _STEADY_MOMENT = 0.5, 0.05  # [N], [N m]; maximum standard deviations for zeroing
_OLDEST = 0.02  # [s] maximum age of a sample


class SensorReading(NamedTuple):
    """Sensor reading of a period.

    Attributes:
        wrench: [f, n] at the sensor origin in sensor axes, including the zero offset [N, N m].
        is_fresh: whether it is from this period.
        is_saturated: whether an axis is at the end of its range.
        problem: problem of the sensor; "" without one.
    """

    wrench: Array
    is_fresh: bool
    is_saturated: bool = False
    problem: str = ""


class ProbeSensor(ABC):
    """A force sensor with zeroing."""

    def __init__(self) -> None:
        """Initialize with a zero offset of zero."""
        self.zero = np.zeros(6)
        self._seen: list[Array] = []

    @abstractmethod
    def open(self) -> None:
        """Connect to the sensor. Raises TransportError or NoAnswer."""

    @abstractmethod
    def sense(self) -> SensorReading:
        """Reading of this period, including the zero offset."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection; idempotent."""

    def begin_zero(self) -> None:
        """Start collecting samples for the zero."""
        self._seen = []

    def take_zero(self, sensed: SensorReading) -> bool:
        """Process a sample; return True once the zero is determined.

        Raises:
            Refused: the samples are not steady.
        """
        if sensed.is_fresh:
            self._seen.append(sensed.wrench)
        if len(self._seen) < ZERO_PERIODS:
            return False
        seen, self._seen = self._seen, []
        self.zero = steady_mean(seen, _STEADY_FORCE, _STEADY_MOMENT)
        return True


class DriverSensor(ProbeSensor):
    """A sensor driver that is read synchronously."""

    def __init__(self, driver: SensorDriver[Any, Any, Any], period: float, clock: Callable[[], float]) -> None:
        """Args: driver; period of the table [s], at least twice that of the sensor; clock of the driver."""
        super().__init__()
        self._driver, self._period, self._clock = driver, period, clock

    def open(self) -> None:  # noqa: D102
        self._driver.open()
        if self._driver.period > 0.5 * self._period * (1.0 + 1e-6):
            text = (
                f"sensor {self._driver.NAME}: its period of {1e3 * self._driver.period:g} ms would delay the table. "
                f"It must be at most half the table period of {1e3 * self._period:g} ms, or use a "
                "separate thread."
            )
            raise InputError(text, field="period", value=self._driver.period, allowed=0.5 * self._period)

    def sense(self) -> SensorReading:  # noqa: D102
        now = self._clock()
        sample = self._driver.read()
        while sample.is_fresh and sample.time < now:  # an earlier queued sample
            sample = self._driver.read()
        return SensorReading(sample.wrench, sample.is_fresh, sample.is_saturated, sample.error)

    def close(self) -> None:  # noqa: D102
        self._driver.close()


class ThreadSensor(ProbeSensor):
    """A sensor with a separate thread."""

    def __init__(self, sensor: ForceSensor) -> None:
        """Args: force sensor."""
        super().__init__()
        self._sensor = sensor
        self._number = -1

    def open(self) -> None:  # noqa: D102
        self._sensor.open()

    def sense(self) -> SensorReading:  # noqa: D102
        newest = self._sensor.newest
        if newest is None:
            return SensorReading(np.zeros(6), False)
        is_new = newest.number != self._number
        self._number = newest.number
        return SensorReading(newest.raw, is_new, newest.is_saturated, newest.error)

    def close(self) -> None:  # noqa: D102
        self._sensor.close()
