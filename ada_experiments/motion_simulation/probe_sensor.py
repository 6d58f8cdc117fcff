# SPDX-License-Identifier: Apache-2.0
"""The force sensor under the probe, read once in each period of the table.

An emulated sensor's driver is read in place. A real one has a thread of its own (`force_torque.sensor`), and the newest
sample counts. In both the zero is the mean of some periods at rest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_hardware.force_torque.sensor import ForceSensor
from ada_hardware.force_torque.sensor_driver import SensorDriver
from ada_hardware.force_torque.zero import ZeroTaking

ZERO_PERIODS = 50
_STEADY_FORCE, _STEADY_MOMENT = 0.5, 0.05  # [N], [N m]; greatest standard deviations while the zero is taken
_OLDEST = 0.02  # [s] that a sample may be old


class Sensed(NamedTuple):
    """Reading of a sensor in a period.

    Attributes:
        wrench: [f, n] at the sensor's origin in its axes, as it came [N, N m].
        is_fresh: whether it came in this period.
        is_saturated: whether an axis is at its end.
        problem: what is wrong with it; "" where nothing is.
    """

    wrench: Array
    is_fresh: bool
    is_saturated: bool = False
    problem: str = ""


class ProbeSensor(ABC):
    """A force sensor whose zero is taken here."""

    def __init__(self) -> None:
        """Without a zero."""
        self.zero = np.zeros(6)
        self._taking: ZeroTaking | None = None

    @abstractmethod
    def open(self) -> None:
        """Find it, and let it measure. Raises TransportError, NoAnswer."""

    @abstractmethod
    def sense(self) -> Sensed:
        """Its reading in this period, with its zero still in it."""

    @abstractmethod
    def close(self) -> None:
        """End; may be called twice."""

    def begin_zero(self) -> None:
        """From now on collect samples for the zero."""
        self._taking = ZeroTaking(ZERO_PERIODS, _STEADY_FORCE, _STEADY_MOMENT)

    def take_zero(self, sensed: Sensed) -> bool:
        """Take one sample; whether there are enough, and the zero is known.

        Raises:
            Refused: they are not steady.
        """
        if self._taking is None:
            self.begin_zero()
        if self._taking is not None and sensed.is_fresh and self._taking.add(sensed.wrench):
            self.zero, self._taking = self._taking.mean(), None
            return True
        return False


class DriverSensor(ProbeSensor):
    """A sensor's driver that is read in place."""

    def __init__(self, driver: SensorDriver[Any, Any, Any], period: float, clock: Callable[[], float]) -> None:
        """Args: driver; the table's period [s], at least twice the sensor's; the driver's clock."""
        super().__init__()
        self._driver, self._period, self._clock = driver, period, clock

    def open(self) -> None:  # noqa: D102
        self._driver.open()
        if self._driver.period > 0.5 * self._period * (1.0 + 1e-6):
            text = (
                f"sensor {self._driver.NAME}: it measures every {1e3 * self._driver.period:g} ms, and the table would "
                f"wait for it. It must measure twice in the table's period of {1e3 * self._period:g} ms, or have a "
                "thread of its own."
            )
            raise InputError(text, field="period", value=self._driver.period, allowed=0.5 * self._period)

    def sense(self) -> Sensed:  # noqa: D102
        now = self._clock()
        sample = self._driver.read()
        while sample.is_fresh and sample.time < now:  # an older one that had waited
            sample = self._driver.read()
        return Sensed(sample.wrench, sample.is_fresh, sample.is_saturated, sample.error)

    def close(self) -> None:  # noqa: D102
        self._driver.close()


class ThreadSensor(ProbeSensor):
    """A sensor with a thread of its own."""

    def __init__(self, sensor: ForceSensor) -> None:
        """Args: the sensor."""
        super().__init__()
        self._sensor = sensor
        self._number = -1

    def open(self) -> None:  # noqa: D102
        self._sensor.open()

    def sense(self) -> Sensed:  # noqa: D102
        newest = self._sensor.newest
        if newest is None:
            return Sensed(np.zeros(6), False)
        is_new = newest.number != self._number
        self._number = newest.number
        return Sensed(newest.raw, is_new, newest.is_saturated, newest.error)

    def close(self) -> None:  # noqa: D102
        self._sensor.close()
