# SPDX-License-Identifier: Apache-2.0
"""Base of the emulated force/torque sensors: load, faults, zero, stream of records."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TypeVar

from numpy.typing import ArrayLike

from ada_hardware.emulation.emulator import Emulator, Reply
from ada_hardware.force_torque.sensed_load import AXES, SensedLoad
from ada_robot.settings import setting


@dataclass(frozen=True)
class SensorEmulatorSettings:
    """Settings of an emulated sensor."""

    noise: float = setting(2.0, "largest error of an axis", unit="counts", lower=0.0)
    seed: int = setting(0, "seed of the noise")


S = TypeVar("S", bound=SensorEmulatorSettings)


class SensorEmulator(Emulator[S]):
    """Sensor under a load; silent until a stream is requested.

    Attributes:
        load: load on the sensor.
    """

    def __init__(self, settings: S, scale: ArrayLike, rate: float) -> None:
        """Create the emulator.

        Args:
            settings: settings in use.
            scale: counts per newton, three times, and per newton metre.
            rate: records per second of a stream [Hz].
        """
        super().__init__(settings)
        self.load = SensedLoad(scale, settings.noise, settings.seed)
        self._period = 1.0 / rate
        self._begin()

    @property
    def tick(self) -> float:
        """Period of the records of a stream [s]."""
        return self._period

    def set_wrench(self, wrench: ArrayLike) -> None:
        """Set the load [f, n], in the sensor frame [N, N m].

        Raises:
            InputError: the wrench is not six finite numbers.
        """
        self.load.set(wrench)

    def _begin(self) -> None:
        """Reset to the state after power-on."""
        self.load.clear_zero()
        self._is_streaming, self._next = False, 0.0

    def _stream(self, now: float) -> None:
        """Start the stream."""
        self._is_streaming, self._next = True, now + self._period

    def advance(self, now: float) -> list[Reply]:
        """Return the records of a stream that are due."""
        if not self._is_streaming or now < self._next - 1e-9:
            return []
        due = int((now - self._next) / self._period + 1e-6) + 1  # tolerates rounding errors of the time
        self._next += due * self._period
        return self._records(due)

    @abstractmethod
    def _records(self, due: int) -> list[Reply]:
        """Return the next `due` records of a stream."""

    @property
    def _is_frozen(self) -> bool:
        return self._faults["frozen"] != 0.0

    def fault(self, name: str, value: float) -> None:
        """Set or clear a fault, or set an axis of the load."""
        super().fault(name, value)
        if name in AXES:
            self.load.set_axis(name, value)
        elif name == "reboot" and value:
            self._begin()

    def state(self) -> dict[str, object]:
        """State of load and stream."""
        return {"is_streaming": self._is_streaming, "wrench": self.load.wrench.tolist()}
