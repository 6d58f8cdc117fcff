# SPDX-License-Identifier: Apache-2.0
"""What all emulated force/torque sensors have in common: a load, its faults, a zero."""

from __future__ import annotations

from typing import TypeVar

from numpy.typing import ArrayLike

from ada_hardware.emulation.emulator import Emulator
from ada_hardware.force_torque.sensed_load import AXES, SensedLoad

S = TypeVar("S")


class SensorEmulator(Emulator[S]):
    """A sensor under a load.

    Attributes:
        load: that acts on it.
    """

    load: SensedLoad

    def set_wrench(self, wrench: ArrayLike) -> None:
        """Let [f, n] act on the sensor, in its own axes [N, N m].

        Raises:
            InputError: these are not six finite numbers.
        """
        self.load.set(wrench)

    def _begin(self) -> None:
        """Be as after power-on."""
        self.load.clear_zero()

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
