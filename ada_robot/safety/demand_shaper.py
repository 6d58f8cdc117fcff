# SPDX-License-Identifier: Apache-2.0
"""From accepted commands to the demand of each cycle: bounded speed, acceleration and rate of efforts."""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_robot.limits import ROUNDING
from ada_robot.safety.joint_rules import JointRules
from ada_robot.safety.speed_bounds import SpeedBounds


class DemandShaper:
    """The demanded positions, speeds and efforts.

    Attributes:
        position: demanded (in VELOCITY and EFFORT: measured) [rad, m].
        velocity: with which the demand moves [rad/s, m/s].
        effort: demanded last [N m, N].
    """

    def __init__(self, rules: JointRules, period: float) -> None:
        """Begin at rest nowhere; `rest_at` says where.

        Args:
            rules: limits.
            period: of the cycle [s].
        """
        self._rules, self._period = rules, period
        self._speeds = SpeedBounds(rules.bounds, rules.acceleration, rules.deceleration, period, rules.tool)
        self._none = self.effort = np.zeros(len(rules.names))
        self.position = self.velocity = self._reference = self._target = self._rate = self._none
        self._left = 0  # cycles until the reference is at the target
        self._is_coasting = False  # moving without a target

    def rest_at(self, position: Array) -> None:
        """Set a pose at rest."""
        self.position = np.array(position, dtype=np.float64)
        self.velocity = self._none.copy()
        self._is_coasting = False
        self._hold_reference()

    def move_at(self, position: Array, velocity: Array) -> None:
        """Set a measured motion, on the way to rest without a target; unknown velocities count as zero."""
        self.rest_at(position)
        self._is_coasting = True
        fastest = self._rules.velocity
        self.velocity = np.clip(np.nan_to_num(velocity, nan=0.0, posinf=0.0, neginf=0.0), -fastest, fastest)

    @property
    def is_at_rest(self) -> bool:
        """True if the demand stands still."""
        return not self.velocity.any()

    # --- positions ------------------------------------------------------------------------------------------------
    def aim(self, target: Array, interval: float) -> None:
        """Take a new target: the reference goes there evenly within the time between commands.

        Args:
            target: of joints beyond a limit no farther out than demanded.
            interval: since the command before [s].
        """
        self._is_coasting = False
        self._target = self._rules.bounds.inside(target, self.position)
        self._left = max(1, round(interval / self._period))
        self._rate = (self._target - self._reference) / (self._left * self._period)

    def follow(self) -> Array:
        """Positions of the next cycle: towards the reference, as fast as speed and acceleration allow."""
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
        wanted = rate + np.sign(behind) * self._speeds.arriving(np.abs(behind))
        velocity = self._speeds.next(self.velocity, wanted, self.position)
        there = self.position + velocity * period
        # remove rounding: a demand that arrives is the target itself, bit for bit
        arrived = np.abs(there - self._reference) <= ROUNDING * period
        self.position = np.where(arrived, self._reference, there)
        self.velocity = velocity
        return self.position

    def slow_down(self) -> Array:
        """Positions of the next cycle while the demand comes to rest; `follow` would go on to the last target.

        No device follows a position beyond its limit: a demand that comes there too fast, as after efforts, ends there.
        """
        self.velocity = self._speeds.slower(self.velocity)
        there = self.position + self.velocity * self._period
        inside = self._rules.bounds.inside(there, self.position)
        self.velocity = np.where(inside == there, self.velocity, 0.0)
        self.position = inside
        return self.position

    # --- velocities -----------------------------------------------------------------------------------------------
    def approach(self, wanted: Array, position: Array, moved: Array, late: float = 0.0) -> Array:
        """Velocities of the next cycle: towards the wanted ones, and to rest before the position limits.

        Args:
            wanted: by the command.
            position: measured.
            moved: way that each joint goes on by itself before a demand takes effect: lag of the drives and age of
                the measurement times speed, with its sign.
            late: see `SpeedBounds.next`.
        """
        self.velocity = self._speeds.next(self.velocity, wanted, position + moved, late)
        self.position = position
        self._hold_reference()
        return self.velocity

    def brake(self, position: Array) -> Array:
        """Velocities of the next cycle on the way to rest."""
        self.velocity = self._speeds.slower(self.velocity)
        self.position = position
        self._hold_reference()
        return self.velocity

    # --- efforts --------------------------------------------------------------------------------------------------
    def exert_from(self, effort: Array) -> None:
        """Begin with the efforts that the motors give; unknown ones count as the last demand."""
        greatest = self._rules.effort
        self.effort = np.clip(np.where(np.isfinite(effort), effort, self.effort), -greatest, greatest)

    def exert(self, wanted: Array) -> Array:
        """Efforts of the next cycle: towards the wanted ones, no faster than the rate allows."""
        step = self._rules.effort_rate * self._period
        self.effort = np.clip(wanted, self.effort - step, self.effort + step)
        return self.effort

    # --- both -----------------------------------------------------------------------------------------------------
    def _hold_reference(self) -> None:
        self._reference = self._target = self.position
        self._rate, self._left = self._none, 0
