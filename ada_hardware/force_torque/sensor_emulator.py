# SPDX-License-Identifier: Apache-2.0
"""Base of all emulated force/torque sensors: a load, its faults, a zero, a stream of records."""

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
    """How an emulated sensor measures."""

    noise: float = setting(2.0, "greatest error of an axis", unit="counts", lower=0.0)
    seed: int = setting(0, "of the noise")


S = TypeVar("S", bound=SensorEmulatorSettings)


class SensorEmulator(Emulator[S]):
    """A sensor under a load, silent until a stream is requested.

    Attributes:
        load: that acts on it.
    """

    def __init__(self, settings: S, scale: ArrayLike, rate: float) -> None:
        """Switch it on.

        Args:
            settings: in use.
            scale: counts per newton, three times, and per newton metre.
            rate: of a stream's records [Hz].
        """
        super().__init__(settings)
        self.load = SensedLoad(scale, settings.noise, settings.seed)
        self._period = 1.0 / rate
        self._begin()

    @property
    def tick(self) -> float:
        """Between two records of a stream [s]."""
        return self._period

    def set_wrench(self, wrench: ArrayLike) -> None:
        """Let [f, n] act on the sensor, in its own axes [N, N m].

        Raises:
            InputError: these are not six finite numbers.
        """
        self.load.set(wrench)

    def _begin(self) -> None:
        """Reset to the state after power-on."""
        self.load.clear_zero()
        self._is_streaming, self._next = False, 0.0

    def _stream(self, now: float) -> None:
        """Begin to send records."""
        self._is_streaming, self._next = True, now + self._period

    def advance(self, now: float) -> list[Reply]:
        """Send the records of a stream that are due."""
        if not self._is_streaming or now < self._next - 1e-9:
            return []
        due = int((now - self._next) / self._period + 1e-6) + 1  # rounding of times must not drop a record
        self._next += due * self._period
        return self._records(due)

    @abstractmethod
    def _records(self, due: int) -> list[Reply]:
        """The next so many records of a stream."""

    @property
    def _is_frozen(self) -> bool:
        return self._faults["frozen"] != 0.0

    def fault(self, name: str, value: float) -> None:
        """Switch a fault of FAULTS on or off, or set an axis of the load."""
        super().fault(name, value)
        if name in AXES:
            self.load.set_axis(name, value)
        elif name == "reboot" and value:
            self._begin()

    def state(self) -> dict[str, object]:
        """Its state, for tests and people."""
        return {"is_streaming": self._is_streaming, "wrench": self.load.wrench.tolist()}
