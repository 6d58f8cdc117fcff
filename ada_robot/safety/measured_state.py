# SPDX-License-Identifier: Apache-2.0
"""Latest complete joint state reported by a device, with estimated velocities where it reports none."""

from __future__ import annotations

import math

import numpy as np

from ada_robot.driver import Feedback

SMOOTHED = 0.5  # time constant of velocities estimated from positions of coarse sensors [s]


class MeasuredState:
    """Latest known joint state.

    Attributes:
        position: joint positions; NaN before the first complete feedback [rad, m].
        velocity: reported velocities; NaN where not reported [rad/s, m/s].
        speed: reported velocities, or estimates from positions where not reported.
        effort: reported efforts; NaN where not reported [N m, N].
        at: time of the feedback on the clock of the cycle [s]; -inf before the first.
    """

    def __init__(self, joints: int) -> None:
        """Start with an unknown state. Args: number of joints."""
        self.position = self.velocity = self.effort = np.full(joints, math.nan)
        self.speed = np.zeros(joints)
        self.at = -math.inf

    def take(self, feedback: Feedback, now: float) -> bool:
        """Store a feedback.

        Returns:
            True if it is fresh and contains the positions of all joints.
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
