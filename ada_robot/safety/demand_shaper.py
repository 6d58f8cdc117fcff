# SPDX-License-Identifier: Apache-2.0
"""Setpoint generation from accepted commands with bounded velocity, acceleration and effort rate.

The velocity limits of a cycle allow all later limits to be kept.
"""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_robot.limits import ROUNDING, Limits
from ada_robot.safety.joint_rules import JointRules
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
        self._tool = tool if tool is not None and tool.tool is not None else None
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
        """Return the lower velocity bounds of the next cycle, in which a joint may decelerate to rest and reverse."""
        gain, loss = self._gain, self._loss
        turned = -gain * (1.0 - np.minimum(np.abs(before) / self._shares, 1.0))
        return np.asarray(np.where(before > 0.0, np.where(before >= loss, before - loss, turned), before - gain))

    def slower(self, before: Array) -> Array:
        """Return the velocities of the next cycle on the ramp to rest."""
        left = np.abs(before) - self._loss
        # less than a millionth of a step is a rounding error
        return np.where(left > _RESIDUE * self._loss, np.sign(before) * left, 0.0)


class DemandShaper:
    """Demanded positions, velocities and efforts.

    Attributes:
        position: demanded positions (in VELOCITY and EFFORT: measured) [rad, m].
        velocity: velocities of the demand [rad/s, m/s].
        effort: last demanded efforts [N m, N].
    """

    def __init__(self, rules: JointRules, period: float) -> None:
        """Set joint rules and cycle time [s]; `rest_at` sets the initial positions."""
        self._rules, self._period = rules, period
        self._speeds = SpeedBounds(rules, rules.acceleration, rules.deceleration, period, rules.tool)
        self._none = self.effort = np.zeros(len(rules.names))
        self.position = self.velocity = self._reference = self._target = self._rate = self._none
        self._left = 0  # cycles until the reference reaches the target
        self._is_coasting = False  # decelerating without a target

    def rest_at(self, position: Array) -> None:
        """Start at rest at given positions."""
        self.position = np.array(position, dtype=np.float64)
        self.velocity = self._none.copy()
        self._is_coasting = False
        self._hold_reference()

    def move_at(self, position: Array, velocity: Array) -> None:
        """Start from a measured motion and decelerate without a target; unknown velocities count as zero."""
        self.rest_at(position)
        self._is_coasting = True
        fastest = self._rules.velocity
        self.velocity = np.clip(np.nan_to_num(velocity, nan=0.0, posinf=0.0, neginf=0.0), -fastest, fastest)

    @property
    def is_at_rest(self) -> bool:
        """True if the demanded velocity is zero."""
        return not self.velocity.any()

    # --- positions ------------------------------------------------------------------------------------------------
    def aim(self, target: Array, interval: float) -> None:
        """Set a new target, which the reference reaches linearly within the command interval.

        Args:
            target: positions; of joints outside a limit no farther out than the present demand.
            interval: time since the previous command [s].
        """
        self._is_coasting = False
        self._target = self._rules.inside(target, self.position)
        self._left = max(1, round(interval / self._period))
        self._rate = (self._target - self._reference) / (self._left * self._period)

    def follow(self) -> Array:
        """Advance one cycle towards the reference within the velocity and acceleration limits."""
        if self._is_coasting:
            self._is_coasting = not self.is_at_rest
            position = self.slow_down()
            self._hold_reference()
            return position
        if self._left:
            self._left -= 1
            self._reference = self._reference + self._rate * self._period if self._left else self._target
            rate = self._rate
        else:
            rate = self._none
        period = self._period
        behind = self._reference - rate * period - self.position
        desired = rate + np.sign(behind) * self._speeds.arriving(np.abs(behind))
        velocity = self._speeds.next(self.velocity, desired, self.position)
        there = self.position + velocity * period
        # set a demand that has arrived to the exact target, without rounding errors
        arrived = np.abs(there - self._reference) <= ROUNDING * period
        self.position = np.where(arrived, self._reference, there)
        self.velocity = velocity
        return self.position

    def slow_down(self) -> Array:
        """Advance one cycle on the ramp to rest.

        Positions stop at the limits, which the device cannot exceed, even if the velocity is too high for the ramp (as
        after efforts).
        """
        self.velocity = self._speeds.slower(self.velocity)
        there = self.position + self.velocity * self._period
        inside = self._rules.inside(there, self.position)
        self.velocity = np.where(inside == there, self.velocity, 0.0)
        self.position = inside
        return self.position

    # --- velocities -----------------------------------------------------------------------------------------------
    def approach(self, desired: Array, position: Array, moved: Array, late: float = 0.0) -> Array:
        """Advance one cycle towards the commanded velocities, coming to rest before the position limits.

        Args:
            desired: commanded velocities.
            position: measured positions.
            moved: displacement until a demand takes effect: velocity times drive lag and age of the measurement.
            late: possible delay of the following cycle [s], see `SpeedBounds.next`.
        """
        self.velocity = self._speeds.next(self.velocity, desired, position + moved, late)
        self.position = position
        self._hold_reference()
        return self.velocity

    def brake(self, position: Array) -> Array:
        """Advance one cycle on the ramp to rest, in velocities."""
        self.velocity = self._speeds.slower(self.velocity)
        self.position = position
        self._hold_reference()
        return self.velocity

    # --- efforts --------------------------------------------------------------------------------------------------
    def exert_from(self, effort: Array) -> None:
        """Start from the measured efforts, or where none is measured from the last demand."""
        greatest = self._rules.effort
        self.effort = np.clip(np.where(np.isfinite(effort), effort, self.effort), -greatest, greatest)

    def exert(self, desired: Array) -> Array:
        """Advance one cycle towards the commanded efforts within the effort rate limits."""
        step = self._rules.effort_rate * self._period
        self.effort = np.clip(desired, self.effort - step, self.effort + step)
        return self.effort

    # --- common -----------------------------------------------------------------------------------------------------
    def _hold_reference(self) -> None:
        self._reference = self._target = self.position
        self._rate, self._left = self._none, 0
