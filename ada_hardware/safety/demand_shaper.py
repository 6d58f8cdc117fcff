# SPDX-License-Identifier: Apache-2.0
"""From accepted commands to what joints are told in each cycle: bounded speed and acceleration, rest before limits.

A joint whose speed falls by a T in each cycle of T seconds, from v to rest, goes on for

    d = T ((k + 1) v - k (k + 1)/2 a T),   k = floor(v / (a T))

from now on. `Braking.speed` is the inverse of that: the greatest speed that still ends within d. Who keeps it in one
cycle can keep it in the next one by slowing down by a T, so that a limit is never passed, and a target is reached
without overshoot.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.commanding.rules import ROUNDING
from ada_hardware.safety.joint_rules import JointRules

Array = NDArray[np.float64]

_RESIDUE = 1e-6
_FAR = 1e6  # [rad, m] stands for a limit that is not there


class Braking:
    """Comes to rest with a deceleration per joint, in whole cycles."""

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

    def speed(self, distance: Array) -> Array:
        """The greatest speed from which each joint comes to rest within a distance.

        Args:
            distance: per joint, also a row for each of several [rad, m]; below zero counts as zero.
        """
        room = np.minimum(np.maximum(distance, 0.0), _FAR)
        cycles = room / self._way
        whole = np.floor(0.5 * np.sqrt(8.0 * cycles + 1.0) - 0.5)
        speed = np.asarray(self._loss * (cycles / (whole + 1.0) + 0.5 * whole))
        return speed if self._is_plain else np.where(self._is_gradual, speed, room / self._period)


class DemandShaper:
    """Where joints are told to be and how fast to move.

    Attributes:
        position: demanded (in VELOCITY and EFFORT: measured) [rad, m].
        velocity: with which the demand moves [rad/s, m/s].
    """

    def __init__(self, rules: JointRules, period: float) -> None:
        """Begin at rest nowhere; `rest_at` says where.

        Args:
            rules: limits.
            period: of the cycle [s].
        """
        self._rules, self._period = rules, period
        self._braking = Braking(rules.deceleration, period)
        self._arriving = Braking(np.minimum(rules.acceleration, rules.deceleration), period)
        self._gain, self._loss = rules.acceleration * period, rules.deceleration * period
        self._none = np.zeros(len(rules.names))
        self.position = self.velocity = self._reference = self._target = self._rate = self._none
        self._left = 0  # cycles until the reference is at the target
        self._is_coasting = False  # moving without a target

    def rest_at(self, position: Array) -> None:
        """Be at rest somewhere."""
        self.position = np.array(position, dtype=np.float64)
        self.velocity = self._none.copy()
        self._is_coasting = False
        self._hold_reference()

    def move_at(self, position: Array, velocity: Array) -> None:
        """Be moving somewhere, as measured; unknown velocities count as zero. Without a target: on the way to rest."""
        self.rest_at(position)
        self._is_coasting = True
        fastest = self._rules.velocity
        self.velocity = np.clip(np.nan_to_num(velocity, nan=0.0, posinf=0.0, neginf=0.0), -fastest, fastest)

    @property
    def is_at_rest(self) -> bool:
        """Whether the demand stands still."""
        return not self.velocity.any()

    # --- positions ------------------------------------------------------------------------------------------------
    def aim(self, target: Array, interval: float) -> None:
        """Take a new target: the reference goes there evenly within the time between commands.

        Args:
            target: inside the limits.
            interval: since the command before [s].
        """
        self._is_coasting = False
        self._target = np.clip(target, self._rules.lower, self._rules.upper)
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
        wanted = rate + np.sign(behind) * self._arriving.speed(np.abs(behind))
        velocity = self._bounded(wanted, self.position)
        there = self.position + velocity * period
        # what rounding leaves open is closed: a demand that arrives is the target itself, bit for bit
        arrived = np.abs(there - self._reference) <= ROUNDING * period
        self.position = np.where(arrived, self._reference, there)
        self.velocity = velocity
        return self.position

    def slow_down(self) -> Array:
        """Positions of the next cycle while the demand comes to rest; `follow` would go on to the last target."""
        self.velocity = self._slower()
        self.position = self.position + self.velocity * self._period
        return self.position

    # --- velocities -----------------------------------------------------------------------------------------------
    def approach(self, wanted: Array, position: Array, moved: Array) -> Array:
        """Velocities of the next cycle: towards the wanted ones, and to rest before the position limits.

        Args:
            wanted: by the command.
            position: measured.
            moved: way that each joint goes on by itself before a demand takes effect: lag of the drives and age of
                the measurement times speed, with its sign.
        """
        self.velocity = self._bounded(wanted, position + moved)
        self.position = position
        self._hold_reference()
        return self.velocity

    def brake(self, position: Array) -> Array:
        """Velocities of the next cycle on the way to rest."""
        self.velocity = self._slower()
        self.position = position
        self._hold_reference()
        return self.velocity

    # --- both -----------------------------------------------------------------------------------------------------
    def _hold_reference(self) -> None:
        self._reference = self._target = self.position
        self._rate, self._left = self._none, 0

    def _bounded(self, wanted: Array, position: Array) -> Array:
        """Within limits of speed, acceleration, and of the way that is left to the position limits."""
        rules = self._rules
        room = np.array((rules.upper - position, position - rules.lower))
        up, down = np.minimum(rules.velocity, self._braking.speed(room))
        velocity = np.minimum(np.maximum(wanted, -down), up)
        before, gain, loss = self.velocity, self._gain, self._loss
        least = before - np.where(before > 0.0, loss, gain)
        greatest = before + np.where(before < 0.0, loss, gain)
        return np.asarray(np.minimum(np.maximum(velocity, least), greatest))

    def _slower(self) -> Array:
        left = np.abs(self.velocity) - self._loss
        # less than a millionth of a step is what rounding leaves: no further cycle is spent on it
        return np.where(left > _RESIDUE * self._loss, np.sign(self.velocity) * left, 0.0)
