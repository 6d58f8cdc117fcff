# SPDX-License-Identifier: Apache-2.0
"""Base of the emulated force/torque sensors: load, noise, faults, stream of records."""

from __future__ import annotations

import random
from abc import abstractmethod
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_hardware.emulation.emulator import Emulator, TimedReply
from ada_robot.settings import setting

AXES = {
    "fx": "force along x [N]",
    "fy": "force along y [N]",
    "fz": "force along z [N]",
    "mx": "moment about x [N m]",
    "my": "moment about y [N m]",
    "mz": "moment about z [N m]",
}
"""Load axes, set like faults of an emulator."""


@dataclass(frozen=True)
class SensorEmulatorSettings:
    """Settings of an emulated sensor."""

    noise: float = setting(2.0, "largest error of an axis", unit="counts", lower=0.0)
    seed: int = setting(0, "seed of the noise")


S = TypeVar("S", bound=SensorEmulatorSettings)


class SensorEmulator(Emulator[S]):
    """Sensor under a load; silent until a stream is requested.

    Attributes:
        wrench: load [f, n] on the sensor, in the sensor frame [N, N m].
    """

    def __init__(self, settings: S, scale: ArrayLike, rate: float) -> None:
        """Create the emulator without a load.

        Args:
            settings: settings in use.
            scale: counts per newton, three times, and per newton metre.
            rate: records per second of a stream [Hz].
        """
        super().__init__(settings)
        self.wrench: Array = np.zeros(6)
        self._scale, self._random = np.asarray(scale, dtype=np.float64), random.Random(settings.seed)
        self.tick = 1.0 / rate  # period of the records of a stream [s]
        self._begin()

    def set_wrench(self, wrench: ArrayLike) -> None:
        """Set the load.

        Raises:
            InputError: the wrench is not six finite numbers.
        """
        values = np.array(wrench, dtype=np.float64)
        if values.shape != (6,) or not np.all(np.isfinite(values)):
            text = f"wrench is {values.tolist()!r:.120}; required is [fx, fy, fz, nx, ny, nz], all finite."
            raise InputError(text, field="wrench", value=values)
        self.wrench = values

    def _counts(self, lowest: int, highest: int) -> tuple[tuple[int, ...], bool]:
        """Return the load in counts with noise, clipped to a range, and whether an axis is at an end of the range."""
        exact, noise = self.wrench * self._scale, self.settings.noise
        noisy = [round(one + noise * (2.0 * self._random.random() - 1.0)) for one in exact.tolist()]
        found = tuple(min(max(one, lowest), highest) for one in noisy)
        return found, any(one <= lowest or one >= highest for one in found)

    def _begin(self) -> None:
        """Reset to the state after power-on."""
        self._is_streaming, self._next = False, 0.0

    def _stream(self, now: float) -> None:
        """Start the stream."""
        self._is_streaming, self._next = True, now + self.tick

    def advance(self, now: float) -> list[TimedReply]:
        """Return the records of a stream that are due."""
        if not self._is_streaming or now < self._next - 1e-9:
            return []
        due = int((now - self._next) / self.tick + 1e-6) + 1  # tolerates rounding errors of the time
        self._next += due * self.tick
        return self._records(due)

    @abstractmethod
    def _records(self, due: int) -> list[TimedReply]:
        """Return the next `due` records of a stream."""

    def fault(self, name: str, value: float) -> None:
        """Set or clear a fault, or set an axis of the load."""
        super().fault(name, value)
        if name in AXES:
            self.set_wrench([value if axis == name else one for axis, one in zip(AXES, self.wrench, strict=True)])
        elif name == "reboot" and value:
            self._begin()

    def state(self) -> dict[str, object]:
        """State of load and stream."""
        return {"is_streaming": self._is_streaming, "wrench": self.wrench.tolist()}
