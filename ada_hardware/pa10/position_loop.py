# SPDX-License-Identifier: Apache-2.0
"""Position control of the PA-10 joints, whose controller supports speed and torque control only."""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_robot.limits import Limits
from ada_robot.safety.demand_shaper import SpeedBounds
from ada_robot.safety.joint_rules import JointRules

WITHIN = 0.1  # [s] default time to reach the velocity limit
_SHARE = 0.8  # fraction of the acceleration used on approach
_LEAST = 1e-6  # [rad/s²] for a joint without allowed acceleration
_SLOWEST_COMMANDS = 0.1  # [s] longest interval between commands from which a speed is computed


class PositionLoop:
    """Speed = speed of the commands + gain * position error, within limits of speed and acceleration.

    Commands arrive at the rate of the host and are constant in between; their speed is the difference of two successive
    different commands divided by their interval. At a large error, the speed is limited such that the joint can brake.
    """

    def __init__(self, bounds: Limits, period: float, gain: float, acceleration: float) -> None:
        """Create the controller.

        Args:
            bounds: limits of the joints.
            period: cycle period [s].
            gain: position gain [1/s].
            acceleration: acceleration limit [rad/s²]; 0: velocity limit within `WITHIN`.
        """
        self._bounds = bounds
        self._period, self._gain = period, gain
        count = len(bounds.names)
        self._acceleration = np.full(count, acceleration) if acceleration else bounds.velocity / WITHIN
        self._speeds = SpeedBounds(bounds, self._acceleration, self._acceleration, period)
        self._fastest, self._lag, self._gentlest = bounds.velocity, 2.0 * period, self._acceleration
        self._late = 0.0
        self._command: Array | None = None
        self._speed_of_commands = np.zeros(count)
        self._since, self._between = 0, 0  # cycles

    def keep(self, rules: JointRules, drive_lag: float, lateness: float) -> None:
        """Apply the bounds of the user; see `RobotDriver.keep`."""
        own, self._lag, self._late = self._acceleration, drive_lag + self._period, lateness
        self._fastest = np.minimum(rules.velocity, self._bounds.velocity)
        acceleration, deceleration = np.minimum(rules.acceleration, own), np.minimum(rules.deceleration, own)
        self._gentlest = np.maximum(np.minimum(acceleration, deceleration), _LEAST)
        self._speeds = SpeedBounds(self._bounds, acceleration, deceleration, self._period, rules.tool)

    def begin(self) -> None:
        """Reset the command history."""
        self._command = None
        self._since = self._between = 0
        self._speed_of_commands = np.zeros(len(self._fastest))

    def __call__(self, command: Array, measured: Array, last_speeds: Array) -> Array:
        """Return the joint speeds to command [rad/s].

        Args:
            command: commanded positions [rad].
            measured: measured positions [rad].
            last_speeds: last commanded speeds [rad/s].
        """
        self._follow(command)
        wanted = self._towards(command - measured, self._speed_of_commands, last_speeds)
        wanted = np.clip(wanted, -self._fastest, self._fastest)
        return self._speeds.next(last_speeds, wanted, measured + last_speeds * self._lag, self._late)

    def _towards(self, away: Array, commands: Array, last_speeds: Array) -> Array:
        """Speed of the commands plus an approach speed such that both can be decelerated together.

        The approach speed is gain * error near the command, and the square-root braking profile with `_SHARE` of the
        acceleration farther away; the rest compensates the lag of the drives. Both require the same deceleration where
        they meet.

        Args:
            away: position errors [rad].
            commands: speed of the commands [rad/s].
            last_speeds: last commanded speeds [rad/s].
        """
        side = np.where(away < 0.0, -1.0, 1.0)
        left = np.maximum(np.abs(away) - np.maximum(side * (last_speeds - commands), 0.0) * self._lag, 0.0)
        near = _SHARE * self._gentlest / self._gain**2
        more = np.where(left > near, self._speeds.arriving(_SHARE * (left - 0.5 * near)), self._gain * left)
        ahead = np.maximum(side * commands, 0.0)
        way = ahead * (0.5 * ahead / self._gentlest + 0.5 * self._period)  # stopping distance of the commands
        return np.asarray(side * np.minimum(side * commands + more, self._speeds.arriving(_SHARE * left + way)))

    def _follow(self, command: Array) -> None:
        self._since += 1
        if self._command is None:
            self._command, self._since = command.copy(), 0
            return
        if not np.array_equal(command, self._command):
            time = self._since * self._period
            is_stream = time <= _SLOWEST_COMMANDS
            self._speed_of_commands = (command - self._command) / time if is_stream else np.zeros_like(command)
            self._between, self._since, self._command = self._since, 0, command.copy()
        elif self._since > 2 * self._between:  # the commands have stopped changing
            self._speed_of_commands = np.zeros_like(command)
