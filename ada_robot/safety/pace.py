# SPDX-License-Identifier: Apache-2.0
"""How regular the exchanges with a device are, seen from its own watchdog."""

from __future__ import annotations

import math

from ada_dynamics.clock import SYSTEM_CLOCK, Clock

_LEAST_SLEEP = 1e-3  # [s]; the two clocks are adjusted alike


class Suspends:
    """Time in which the machine was suspended: the steady clock leaves it out, the clock since the boot does not."""

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        """Begin now."""
        self._clock = clock
        self._most = math.inf  # largest possible difference of the clocks before the next suspend
        self.look()

    def look(self) -> float:
        """Time suspended since the last look, as far as it is certain [s].

        This process may stand still between two readings, so that each gives bounds alone.
        """
        before = self._clock.now()
        boot = self._clock.since_boot()
        least, most = boot - self._clock.now(), boot - before
        slept = least - self._most
        if slept <= _LEAST_SLEEP:
            self._most = min(self._most, most)
            return 0.0
        self._most = most
        return slept


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
        suspended: time for which the machine was suspended before the newest cycle [s].
    """

    def __init__(self, period: float, device_timeout: float, clock: Clock = SYSTEM_CLOCK) -> None:
        """Prepare.

        Args:
            period: between cycles [s].
            device_timeout: silence after which the device stops by itself [s]; may be infinite.
            clock: shows suspends of the machine.
        """
        self._suspends = Suspends(clock)
        self.suspended = 0.0
        self._period, self._timeout = period, device_timeout
        self.late = self.beyond = self.brake = 0
        self.longest = 0.0
        self._last = math.nan

    def begin(self) -> None:
        """Count gaps from the next cycle on."""
        self._last = math.nan
        self.brake = 0

    def count(self, now: float, is_driven: bool) -> float:
        """Count a cycle.

        Args:
            now: its time [s].
            is_driven: whether the motors follow demands.

        Returns:
            Time since the cycle before, suspends of the machine counted [s]; 0 for the first.
        """
        self.suspended = self._suspends.look()
        gap = now - self._last + self.suspended if math.isfinite(self._last) else 0.0
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
