# SPDX-License-Identifier: Apache-2.0
"""Setpoint generation from accepted commands with bounded velocity, acceleration and effort rate."""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_robot.limits import ROUNDING
from ada_robot.safety.joint_rules import JointRules
from ada_robot.safety.speed_bounds import SpeedBounds


class DemandShaper:
    """Demanded positions, velocities and efforts.

    Attributes:
        position: demanded positions (in VELOCITY and EFFORT: measured) [rad, m].
        velocity: velocities of the demand [rad/s, m/s].
        effort: last demanded efforts [N m, N].
    """

    def __init__(self, rules: JointRules, period: float) -> None:
        """Args: joint rules; cycle time [s]. `rest_at` sets the initial positions."""
        self._rules, self._period = rules, period
        self._speeds = SpeedBounds(rules.bounds, rules.acceleration, rules.deceleration, period, rules.tool)
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
        self._target = self._rules.bounds.inside(target, self.position)
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
        inside = self._rules.bounds.inside(there, self.position)
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
        """Start from the measured efforts; unknown ones are taken from the last demand."""
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
