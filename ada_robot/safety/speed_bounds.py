# SPDX-License-Identifier: Apache-2.0
"""Velocity limits of the next cycle that allow all later limits to be kept."""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_robot.limits import Limits
from ada_robot.safety.tool_rules import ToolRules

_RESIDUE = 1e-6
_FAR = 1e6  # distance of a missing limit [rad, m]


class Braking:
    """Braking distances with a constant deceleration per joint, in whole cycles.

    A joint whose speed falls by a T in each cycle of T seconds, from v to rest, moves by

        d = T ((k + 1) v - k (k + 1)/2 a T),   k = floor(v / (a T))

    `speed` is the inverse: the maximum speed that comes to rest within d. If it is kept in one cycle, slowing down by
    a T keeps it in the next one, so that a limit is never exceeded and a target is reached without overshoot. If the
    next cycle may be late by L T, the joint first moves by L T v more.
    """

    def __init__(self, deceleration: Array, period: float) -> None:
        """Set the deceleration.

        Args:
            deceleration: per joint [rad/s^2, m/s^2]; infinite, or 0 for a locked joint: stops within one cycle.
            period: cycle time [s].
        """
        loss = np.asarray(deceleration * period, dtype=np.float64)  # speed reduction per cycle
        self._is_gradual = np.isfinite(loss) & (loss > 0.0)
        self._is_plain = bool(self._is_gradual.all())
        self._loss = np.where(self._is_gradual, loss, 1.0)
        self._way, self._period = self._loss * period, period

    def speed(self, distance: Array, late: float = 0.0) -> Array:
        """Return the maximum speeds from which the joints come to rest within a distance.

        Args:
            distance: per joint, or one row per set of distances [rad, m]; negative values count as zero.
            late: delay before the joint starts to brake [s].
        """
        room = np.minimum(np.maximum(distance, 0.0), _FAR)
        cycles, L = room / self._way, late / self._period
        whole = np.floor(np.sqrt(2.0 * cycles + (L + 0.5) ** 2) - (L + 0.5))
        speed = np.asarray(self._loss * (cycles + 0.5 * whole * (whole + 1.0)) / (whole + 1.0 + L))
        return speed if self._is_plain else np.where(self._is_gradual, speed, room / (self._period + late))


class SpeedBounds:
    """Bounds of the demanded velocities of the next cycle, given those of the present cycle."""

    def __init__(
        self, bounds: Limits, acceleration: Array, deceleration: Array, period: float, tool: ToolRules | None = None
    ) -> None:
        """Set the limits.

        Args:
            bounds: position and velocity limits.
            acceleration: maximum accelerations [rad/s^2, m/s^2].
            deceleration: maximum decelerations.
            period: cycle time [s].
            tool: limits of the tool point; None for none.
        """
        self._bounds, self._period = bounds, period
        self._tool = tool if tool is not None and tool.is_limiting else None
        self._braking = Braking(deceleration, period)
        self._arriving = Braking(np.minimum(acceleration, deceleration), period)
        self._gain, self._loss = np.minimum(acceleration * period, _FAR), deceleration * period
        self._shares = np.where(self._loss > 0.0, self._loss, 1.0)

    def arriving(self, distance: Array) -> Array:
        """Return the maximum speeds towards targets at a distance, without overshoot."""
        return self._arriving.speed(distance)

    def next(self, before: Array, desired: Array, position: Array, late: float = 0.0) -> Array:
        """Return the velocities nearest to the commanded ones within velocity, acceleration and position limits.

        Args:
            before: velocities of the present cycle.
            desired: commanded velocities.
            position: joint positions when the new velocities take effect.
            late: possible delay of the following cycle, during which the joints keep these velocities [s].
        """
        bounds, tool = self._bounds, self._tool
        if tool is not None:
            desired = tool.slowed(position, desired)
        room = np.array((bounds.upper - position, position - bounds.lower))
        up, down = np.minimum(bounds.velocity, self._braking.speed(room, late))
        velocity = np.minimum(np.maximum(desired, -down), up)
        least, greatest = self._least(before), -self._least(-before)
        velocity = np.minimum(np.maximum(velocity, least), greatest)
        return velocity if tool is None else tool.within(position, self.slower(before), velocity)

    def _least(self, before: Array) -> Array:
        """Return the lower velocity bounds: a reversing joint decelerates for a part of the cycle, then accelerates."""
        gain, loss = self._gain, self._loss
        turned = -gain * (1.0 - np.minimum(np.abs(before) / self._shares, 1.0))
        return np.asarray(np.where(before > 0.0, np.where(before >= loss, before - loss, turned), before - gain))

    def slower(self, before: Array) -> Array:
        """Return the velocities of the next cycle on the ramp to rest."""
        left = np.abs(before) - self._loss
        # less than a millionth of a step is a rounding error
        return np.where(left > _RESIDUE * self._loss, np.sign(before) * left, 0.0)
