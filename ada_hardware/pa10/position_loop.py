# SPDX-License-Identifier: Apache-2.0
"""Speeds that lead the joints of a PA-10 to commanded positions: its controller takes speeds and torques alone."""

from __future__ import annotations

import numpy as np

from ada_hardware.driver import Array
from ada_hardware.safety.joint_bounds import JointBounds, SpeedBounds

WITHIN = 0.1  # [s] in which a joint may come to its velocity limit, where nothing else is said
_SLOWEST_COMMANDS = 0.1  # [s] between two commands whose difference still tells a speed


class PositionLoop:
    """Speed = speed of the commands + gain times what is left of the way, within limits of speed and acceleration.

    Commands come at the host's pace and stay the same between: their speed is how far two different ones are apart, by
    the time between them. Far from its command, as after it was held, a joint comes no faster than it can brake.
    """

    def __init__(
        self, bounds: JointBounds, period: float, gain: float, feedforward: float, acceleration: float
    ) -> None:
        """Prepare.

        Args:
            bounds: of the joints.
            period: between cycles [s].
            gain: [1/s].
            feedforward: share of the commands' speed that is added.
            acceleration: greatest [rad/s²]; 0: the velocity limit within `WITHIN`.
        """
        self._bounds = bounds
        self._period, self._gain, self._feedforward = period, gain, feedforward
        count = len(bounds.names)
        self._acceleration = np.full(count, acceleration) if acceleration else bounds.velocity / WITHIN
        self._speeds = SpeedBounds(bounds, self._acceleration, self._acceleration, period)
        self._fastest, self._lag = bounds.velocity, 2.0 * period
        self._command: Array | None = None
        self._speed_of_commands = np.zeros(count)
        self._since, self._between = 0, 0  # cycles

    def keep(self, velocity: Array, acceleration: Array, deceleration: Array, drive_lag: float) -> None:
        """Keep the user's bounds too; see `RobotDriver.keep`."""
        own, self._lag = self._acceleration, drive_lag + self._period
        self._fastest = np.minimum(velocity, self._bounds.velocity)
        self._speeds = SpeedBounds(
            self._bounds, np.minimum(acceleration, own), np.minimum(deceleration, own), self._period
        )

    def begin(self) -> None:
        """Forget the commands before."""
        self._command = None
        self._since = self._between = 0
        self._speed_of_commands = np.zeros(len(self._fastest))

    def __call__(self, command: Array, measured: Array, told: Array) -> Array:
        """Speeds to tell the arm [rad/s].

        Args:
            command: positions wanted [rad].
            measured: positions [rad].
            told: speeds that were told last [rad/s].
        """
        self._follow(command)
        away = command - measured
        onward = np.sign(away) * np.minimum(self._gain * np.abs(away), self._speeds.arriving(np.abs(away)))
        wanted = np.clip(self._feedforward * self._speed_of_commands + onward, -self._fastest, self._fastest)
        return self._speeds.next(told, wanted, measured + told * self._lag)

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
        elif self._since > 2 * self._between:  # they have come to rest
            self._speed_of_commands = np.zeros_like(command)
