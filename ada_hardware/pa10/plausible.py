# SPDX-License-Identifier: Apache-2.0
"""Whether measured angles can be true: an arm does not jump. Beside the check sum of ARCNET, which UDP has not.

Nor does an axis stand still that tells a speed: position mode would chase it for ever.

What is not believed at first is believed once it was told several times in a row, each time near the time before: then
it is the robot, or its zero, that is elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics.arrays import Array
from ada_robot.contract import JointLimit

_FASTER = 2.0  # than its limit an axis may really be, an arm in teach mode or with an alarm included [-]
_NEAR = 0.01  # [rad] for the rounding of times, and resolvers
_TIMES = 3  # in a row
_MOVES = 0.05  # [rad/s]: slower axes count as standing still
_LONGEST_STILL = 0.01  # [rad] that an axis may go by its speed while its angle stays the same
_LONGEST_STEP = 0.02  # [s] between two answers over which a speed says how far an axis went


class Plausibility:
    """Remembers where the axes were."""

    def __init__(self, limits: Sequence[JointLimit]) -> None:
        """Args: what the axes can do."""
        self._speed = _FASTER * np.array([limit.velocity for limit in limits])
        self._trusted: tuple[float, Array] | None = None
        self._doubted: tuple[float, Array] | None = None
        self._doubts = 0
        self._gone = np.zeros(len(limits))  # [rad] by the speeds, since the angles changed
        self._before: tuple[float, Array] | None = None

    def forget(self) -> None:
        """The next angles are believed."""
        self._trusted = self._doubted = self._before = None
        self._doubts = 0
        self._gone[:] = 0.0

    def believes(self, time: float, angles: Array, speeds: Array | None) -> bool:
        """Whether angles [rad], told at a time [s] with speeds [rad/s] (None: it tells none), can be true."""
        if speeds is not None and self._stand_still(time, angles, speeds):
            return False
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

    def _stand_still(self, time: float, angles: Array, speeds: Array) -> bool:
        """Whether an axis tells a speed, and the same angle for too long."""
        if self._before is not None:
            then, there = self._before
            step = min(max(time - then, 0.0), _LONGEST_STEP)
            stays = (angles == there) & (np.abs(speeds) > _MOVES)
            self._gone = np.where(stays, self._gone + np.abs(speeds) * step, 0.0)
        self._before = time, angles
        return bool((self._gone > _LONGEST_STILL).any())
