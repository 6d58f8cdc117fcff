# SPDX-License-Identifier: Apache-2.0
"""Watches whether the hybrid loop makes energy: a passivity observer in the time domain (Hannaford and Ryu, 2002).

Table, sensor, network and prediction together are one port of the simulated robots: what touches them. A real touch
gives back no more than it took. With the wrench F on the tip and the twist V of the face as the tip sees it, both about
the tip,

    E(t) = ∫ Fᵀ V dt  from the first force of a touch on,    passive: E ≥ 0

is the energy that the touch has taken from the robots. Where it falls under zero, the loop has made -E of its own.
Nothing needs to be known of table, contact or delay. Each touch begins at zero: what an earlier one lost is no credit
for the next.
"""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_experiments.motion_simulation.frames import Motion, cross
from ada_experiments.motion_simulation.touch import JUMP

LEAST_ENERGY = 1e-5  # [J]: a sensor's noise does less; the documented touches hold 1.5 mJ


class ActiveLoopWarning(UserWarning):
    """A hybrid loop gives the robots energy that it never took; the message says how much, and at what delay."""


class PassivityObserver:
    """Accumulates the energy of the port between robots and table, touch by touch.

    Attributes:
        tolerance: share of `held` by which a touch may fall under zero.
        energy: taken from the robots since the touch began; negative: given to them [J].
        held: the most that a touch of this motion has taken at any time [J].
        made: energy that the loop has made of its own in a touch, by `held`: the largest since the motion began.
    """

    def __init__(self, step: float, tolerance: float) -> None:
        """Begin.

        Args:
            step: of the dynamics; a wrench is held for that long [s].
            tolerance: see above.
        """
        self.tolerance = tolerance
        self._step = step
        self.restart()

    def restart(self) -> None:
        """Another motion begins, with nothing stored in the touch."""
        self.energy = self.held = self.made = self._free = 0.0
        self._wrench, self._rate = np.zeros(6), np.zeros(6)

    @property
    def is_active(self) -> bool:
        """True if a touch of this motion has given back more than it took, beyond the tolerance."""
        return self.made > self.tolerance

    def observe(self, wrench: Array, relative: Motion) -> None:
        """A step begins.

        Args:
            wrench: on the tip in its axes, that will push during this step.
            relative: the face as the tip sees it, now.
        """
        rate = _rate_at_the_tip(relative)
        if self._wrench.any():
            # the force is held for a step, in which the speed changes evenly: its mean is that of both ends
            self.energy += 0.5 * self._step * float(self._wrench @ (self._rate + rate))
            self.held = max(self.held, self.energy)
            if -self.energy > LEAST_ENERGY:
                self.made = max(self.made, -self.energy / max(self.held, LEAST_ENERGY))
        self._free = 0.0 if wrench.any() else self._free + self._step
        if self._free > JUMP:
            self.energy = 0.0
        self._wrench, self._rate = wrench, rate


def _rate_at_the_tip(relative: Motion) -> Array:
    """Twist of the face as the tip sees it, of the point of the face that is at the tip."""
    v, turning = relative.twist[:3], relative.twist[3:]
    return np.concatenate([v + cross(relative.pose[:3, 3], turning), turning])
