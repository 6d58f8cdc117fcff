# SPDX-License-Identifier: Apache-2.0
"""Speeds that lead the joints of a PA-10 to commanded positions: its controller takes speeds and torques alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics.commanding.rules import JointLimit
from ada_hardware.driver import Array

WITHIN = 0.1  # [s] in which a joint may come to its velocity limit, where nothing else is said
_SLOWEST_COMMANDS = 0.1  # [s] between two commands whose difference still tells a speed


class PositionLoop:
    """Speed = speed of the commands + gain times what is left of the way, within limits of speed and acceleration.

    Commands come at the host's pace and stay the same between: their speed is how far two different ones are apart, by
    the time between them.
    """

    def __init__(
        self, limits: Sequence[JointLimit], period: float, gain: float, feedforward: float, acceleration: float
    ) -> None:
        """Prepare.

        Args:
            limits: of the joints.
            period: between cycles [s].
            gain: [1/s].
            feedforward: share of the commands' speed that is added.
            acceleration: greatest [rad/s²]; 0: the velocity limit within `WITHIN`.
        """
        self._fastest = np.array([limit.velocity for limit in limits])
        self._period, self._gain, self._feedforward = period, gain, feedforward
        self._step = period * (np.full(len(limits), acceleration) if acceleration else self._fastest / WITHIN)
        self._command: Array | None = None
        self._speed_of_commands = np.zeros(len(limits))
        self._since, self._between = 0, 0  # cycles

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
        wanted = self._feedforward * self._speed_of_commands + self._gain * (command - measured)
        limited = np.clip(wanted, -self._fastest, self._fastest)
        return np.asarray(np.clip(limited, told - self._step, told + self._step))

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
