# SPDX-License-Identifier: Apache-2.0
"""The last state of all joints that a device reported, and velocities where it reports none."""

from __future__ import annotations

import math

import numpy as np

from ada_robot.driver import Feedback

SMOOTHED = 0.5  # [s] over which differences of positions count: a step of a coarse sensor is no motion


class Measured:
    """The newest known state of the joints.

    Attributes:
        position: all finite once there was one such answer [rad, m].
        velocity: as reported; NaN where the device does not say.
        speed: likewise, with differences of positions where it does not say.
        effort: as reported; NaN where the device does not say.
        at: time of that answer, by the cycle's clock [s]; -inf before the first.
    """

    def __init__(self, joints: int) -> None:
        """Start with nothing known.

        Args:
            joints: how many there are.
        """
        self.position = self.velocity = self.effort = np.full(joints, math.nan)
        self.speed = np.zeros(joints)
        self.at = -math.inf

    def take(self, feedback: Feedback, now: float) -> bool:
        """Take an answer.

        Returns:
            True if it is fresh, and has the positions of all joints.
        """
        if not feedback.is_fresh or not np.isfinite(feedback.position).all():
            return False
        known = np.isfinite(feedback.velocity)
        if known.all():
            self.speed = feedback.velocity
        else:
            passed = now - self.at
            estimated = np.zeros(len(known))
            if 0.0 < passed < math.inf:
                before = np.where(np.isfinite(self.speed), self.speed, 0.0)
                share = min(1.0, passed / SMOOTHED)
                estimated = before + share * ((feedback.position - self.position) / passed - before)
            self.speed = np.where(known, feedback.velocity, estimated)
        self.position, self.velocity, self.effort = feedback.position, feedback.velocity, feedback.effort
        self.at = now
        return True
