# SPDX-License-Identifier: Apache-2.0
"""Plausibility of measured angles of a PA-10: an arm does not jump, nor stand still while it reports a speed.

Position mode would drive an axis with a stuck angle without end.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics.arrays import Array
from ada_hardware.plausible import PlausibleReadings
from ada_robot.contract import JointLimit

_FASTER = 2.0  # than its limit an axis may really be, an arm in teach mode or with an alarm included [-]
_NEAR = 0.01  # [rad] for the rounding of times, and resolvers
_TIMES = 3  # in a row
_MOVES = 0.05  # [rad/s]: slower axes count as standing still
_LONGEST_STILL = 0.01  # [rad] that an axis may go by its speed while its angle stays the same
_LONGEST_STEP = 0.02  # [s] between two answers over which a speed says how far an axis went


class Plausibility:
    """Checks angles against earlier ones."""

    def __init__(self, limits: Sequence[JointLimit]) -> None:
        """Args: limits of the axes."""
        fastest = _FASTER * np.array([limit.velocity for limit in limits])
        self._readings = PlausibleReadings(fastest, _NEAR, in_a_row=_TIMES, trusts=True)
        self._gone = np.zeros(len(limits))  # [rad] by the speeds, since the angles changed
        self._before: tuple[float, Array] | None = None

    def forget(self) -> None:
        """The next angles are believed."""
        self._readings.forget()
        self._before = None
        self._gone[:] = 0.0

    def believes(self, time: float, angles: Array, speeds: Array | None) -> bool:
        """True if angles [rad], reported at a time [s] with speeds [rad/s] (None: not reported), are plausible."""
        if speeds is not None and self._stand_still(time, angles, speeds):
            return False
        return self._readings.take(angles, time)

    def _stand_still(self, time: float, angles: Array, speeds: Array) -> bool:
        """True if an axis reports a speed, and the same angle for too long."""
        if self._before is not None:
            then, there = self._before
            step = min(max(time - then, 0.0), _LONGEST_STEP)
            stays = (angles == there) & (np.abs(speeds) > _MOVES)
            self._gone = np.where(stays, self._gone + np.abs(speeds) * step, 0.0)
        self._before = time, angles
        return bool((self._gone > _LONGEST_STILL).any())
