# SPDX-License-Identifier: Apache-2.0
"""Bounded speeds: how fast joints may move in the next cycle, so that each limit can still be kept afterwards."""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_robot.limits import Limits
from ada_robot.safety.tool_rules import ToolRules

_RESIDUE = 1e-6
_FAR = 1e6  # [rad, m] stands for a limit that is not there


class Braking:
    """Comes to rest with a deceleration per joint, in whole cycles.

    A joint whose speed falls by a T in each cycle of T seconds, from v to rest, goes on for

        d = T ((k + 1) v - k (k + 1)/2 a T),   k = floor(v / (a T))

    from now on. `speed` is the inverse of that: the greatest speed that still ends within d. If it is kept in
    one cycle it can be kept in the next one by slowing down by a T: a limit is never passed, and a target is reached
    without overshoot. Where the next cycle may be late by L T, the joint goes on for L T v more at first.
    """

    def __init__(self, deceleration: Array, period: float) -> None:
        """Prepare.

        Args:
            deceleration: per joint [rad/s^2, m/s^2]; infinite, or 0 of a joint that may not move: at once.
            period: of the cycle [s].
        """
        loss = np.asarray(deceleration * period, dtype=np.float64)  # of speed in a cycle
        self._is_gradual = np.isfinite(loss) & (loss > 0.0)
        self._is_plain = bool(self._is_gradual.all())
        self._loss = np.where(self._is_gradual, loss, 1.0)
        self._way, self._period = self._loss * period, period

    def speed(self, distance: Array, late: float = 0.0) -> Array:
        """The greatest speed from which each joint comes to rest within a distance.

        Args:
            distance: per joint, also a row for each of several [rad, m]; below zero counts as zero.
            late: how long the joint may go on before it begins to brake [s].
        """
        room = np.minimum(np.maximum(distance, 0.0), _FAR)
        cycles, L = room / self._way, late / self._period
        whole = np.floor(np.sqrt(2.0 * cycles + (L + 0.5) ** 2) - (L + 0.5))
        speed = np.asarray(self._loss * (cycles + 0.5 * whole * (whole + 1.0)) / (whole + 1.0 + L))
        return speed if self._is_plain else np.where(self._is_gradual, speed, room / (self._period + late))


class SpeedBounds:
    """Greatest demanded speeds of the next cycle, by those of this one."""

    def __init__(
        self, bounds: Limits, acceleration: Array, deceleration: Array, period: float, tool: ToolRules | None = None
    ) -> None:
        """Prepare.

        Args:
            bounds: limits of positions and speeds.
            acceleration: greatest [rad/s^2, m/s^2].
            deceleration: greatest, on the way to rest.
            period: of the cycle [s].
            tool: limits of the point that the robot carries; None: it has none.
        """
        self._bounds, self._period = bounds, period
        self._tool = tool if tool is not None and tool.is_limiting else None
        self._braking = Braking(deceleration, period)
        self._arriving = Braking(np.minimum(acceleration, deceleration), period)
        self._gain, self._loss = np.minimum(acceleration * period, _FAR), deceleration * period
        self._shares = np.where(self._loss > 0.0, self._loss, 1.0)

    def arriving(self, distance: Array) -> Array:
        """The greatest speed towards targets that are so far away; none is overshot."""
        return self._arriving.speed(distance)

    def next(self, before: Array, wanted: Array, position: Array, late: float = 0.0) -> Array:
        """Speeds nearest to the wanted ones, within limits of speed, acceleration, and the way to position limits.

        Args:
            before: speeds of this cycle.
            wanted: speeds.
            position: where the joints will be when these speeds take effect.
            late: how late the cycle after that may be [s]; until then joints go on with these speeds.
        """
        bounds, tool = self._bounds, self._tool
        if tool is not None:
            wanted = tool.slowed(position, wanted)
        room = np.array((bounds.upper - position, position - bounds.lower))
        up, down = np.minimum(bounds.velocity, self._braking.speed(room, late))
        velocity = np.minimum(np.maximum(wanted, -down), up)
        least, greatest = self._least(before), -self._least(-before)
        velocity = np.minimum(np.maximum(velocity, least), greatest)
        return velocity if tool is None else tool.within(position, self.slower(before), velocity)

    def _least(self, before: Array) -> Array:
        """Least speeds: a joint that reverses decelerates for a part of the cycle, and accelerates for the rest."""
        gain, loss = self._gain, self._loss
        turned = -gain * (1.0 - np.minimum(np.abs(before) / self._shares, 1.0))
        return np.asarray(np.where(before > 0.0, np.where(before >= loss, before - loss, turned), before - gain))

    def slower(self, before: Array) -> Array:
        """Speeds of the next cycle on the way to rest."""
        left = np.abs(before) - self._loss
        # less than a millionth of a step is rounding: it needs no further cycle
        return np.where(left > _RESIDUE * self._loss, np.sign(before) * left, 0.0)
