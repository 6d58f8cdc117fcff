# SPDX-License-Identifier: Apache-2.0
"""Plausibility check of measured PA-10 angles: jumps, and constant angles at a nonzero reported speed.

In position mode, a stuck angle would drive its axis without end.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics.arrays import Array
from ada_hardware.plausibility import PlausibilityCheck
from ada_robot.contract import JointLimit

_FASTER = 2.0  # plausible speed over the velocity limit, for teach mode and alarms [-]
_NEAR = 0.01  # [rad] tolerance for timing and resolver errors
_TIMES = 3  # successive readings
_MOVES = 0.05  # [rad/s] speed above which an axis is moving
_LONGEST_STILL = 0.01  # [rad] integrated speed at which a constant angle is implausible
_LONGEST_STEP = 0.02  # [s] longest interval over which a speed is integrated


class AnglePlausibility:
    """Checks angles against earlier ones."""

    def __init__(self, limits: Sequence[JointLimit]) -> None:
        """Args: limits of the axes."""
        fastest = _FASTER * np.array([limit.velocity for limit in limits])
        self._readings = PlausibilityCheck(fastest, _NEAR, in_a_row=_TIMES, accepts_first=True)
        self._gone = np.zeros(len(limits))  # [rad] integrated speed since the angle last changed
        self._before: tuple[float, Array] | None = None

    def forget(self) -> None:
        """Restart: accept the next angles."""
        self._readings.forget()
        self._before = None
        self._gone[:] = 0.0

    def accepts(self, time: float, angles: Array, speeds: Array | None) -> bool:
        """Return True if angles [rad] at a time [s] are plausible; `speeds`: reported speeds [rad/s] or None."""
        if speeds is not None and self._stand_still(time, angles, speeds):
            return False
        return self._readings.take(angles, time)

    def _stand_still(self, time: float, angles: Array, speeds: Array) -> bool:
        """Return True if an axis reports a speed but a constant angle for too long."""
        if self._before is not None:
            then, there = self._before
            step = min(max(time - then, 0.0), _LONGEST_STEP)
            stays = (angles == there) & (np.abs(speeds) > _MOVES)
            self._gone = np.where(stays, self._gone + np.abs(speeds) * step, 0.0)
        self._before = time, angles
        return bool((self._gone > _LONGEST_STILL).any())
