# SPDX-License-Identifier: Apache-2.0
"""How regular the exchanges with a device are, seen from its own watchdog."""

from __future__ import annotations

import math


class Pace:
    """Gaps between exchanges.

    A cycle that is late by more than half of what the device waits is a warning: the machine is overloaded, and the
    next delay may be longer. For as many cycles as were lost the robot then slows down before it follows commands
    again, so that a machine that stays late brings it to rest before the device's own watchdog has to.

    Attributes:
        late: cycles that came so late.
        longest: gap while the motors followed demands [s].
        beyond: gaps longer than the device waits.
        brake: cycles in which the robot still slows down, this one among them.
    """

    def __init__(self, period: float, device_timeout: float) -> None:
        """Prepare.

        Args:
            period: between cycles [s].
            device_timeout: silence after which the device stops by itself [s]; may be infinite.
        """
        self._period, self._timeout = period, device_timeout
        self.late = self.beyond = self.brake = 0
        self.longest = 0.0
        self._last = math.nan

    def begin(self) -> None:
        """Count the next gap from the next cycle on: what came before was no cycle."""
        self._last = math.nan
        self.brake = 0

    def count(self, now: float, is_driven: bool) -> float:
        """Count a cycle.

        Args:
            now: its time [s].
            is_driven: whether the motors follow demands.

        Returns:
            Time since the cycle before [s]; 0 for the first.
        """
        gap = now - self._last if math.isfinite(self._last) else 0.0
        self._last = now
        self.brake = max(0, self.brake - 1)
        if not is_driven:
            self.brake = 0
            return gap
        self.longest = max(self.longest, gap)
        late = gap - self._period
        if gap > self._timeout:
            self.beyond += 1
        if late > 0.5 * self._timeout:
            self.late += 1
            self.brake = max(self.brake, math.ceil(late / self._period))
        return gap
