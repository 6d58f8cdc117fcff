# SPDX-License-Identifier: Apache-2.0
"""Whether measured angles can be true: an arm does not jump. Beside the check sum of ARCNET, which UDP has not.

What is not believed at first is believed once it was told several times in a row, each time near the time before: then
it is the robot, or its zero, that is elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics.commanding.rules import JointLimit
from ada_hardware.driver import Array

_FASTER = 2.0  # than its limit an axis may really be, an arm in teach mode or with an alarm included [-]
_NEAR = 0.01  # [rad] for the rounding of times, and resolvers
_TIMES = 3  # in a row


class Plausibility:
    """Remembers where the axes were."""

    def __init__(self, limits: Sequence[JointLimit]) -> None:
        """Args: what the axes can do."""
        self._speed = _FASTER * np.array([limit.velocity for limit in limits])
        self._trusted: tuple[float, Array] | None = None
        self._doubted: tuple[float, Array] | None = None
        self._doubts = 0

    def forget(self) -> None:
        """The next angles are believed."""
        self._trusted = self._doubted = None
        self._doubts = 0

    def believes(self, time: float, angles: Array) -> bool:
        """Whether angles [rad], told at a time [s], can be true."""
        if self._trusted is None or self._are_near(self._trusted, time, angles):
            self._trust(time, angles)
            return True
        is_again = self._doubted is not None and self._are_near(self._doubted, time, angles)
        self._doubted, self._doubts = (time, angles), self._doubts + 1 if is_again else 1
        if self._doubts < _TIMES:
            return False
        self._trust(time, angles)
        return True

    def _trust(self, time: float, angles: Array) -> None:
        self._trusted, self._doubted, self._doubts = (time, angles), None, 0

    def _are_near(self, before: tuple[float, Array], time: float, angles: Array) -> bool:
        then, there = before
        return bool((np.abs(angles - there) <= self._speed * max(time - then, 0.0) + _NEAR).all())
