# SPDX-License-Identifier: Apache-2.0
"""Model with three joints of Takahashi 2012, fig. 6.7: an ankle, and a hip that rotates about the vertical and bends.

Joints a (ankle, about y), h1 (hip, about z) and h2 (hip, about y) from the ground up; at zero the model is upright
along +z. Its coupling inertia with the foot is one row, the momentum along x per joint velocity, and leaves two joint
motions without force on the foot along x (eq. 6.11).

As printed, n31 ends in "- S_a S_h1 S_h2". From the model that term is -m2 lg2 S_a C_h1 S_h2: the factor m2 lg2 is
missing, and at h1 = 0, where the model is a planar double pendulum with the moment of m2 proportional to C_(a+h2), it
must not vanish. The printed m_h1 is the mass carried by the hip: its own mass and that of the upper body.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ada_dynamics import expr
from ada_dynamics.spatial.vector import Scalar


@dataclass(frozen=True)
class AnkleHipModel:
    """Masses and lengths of fig. 6.7."""

    m1: float  # mass of the leg [kg]
    lg1: float  # height of its centre of mass above the ankle [m]
    l1: float  # height of the hip above the ankle [m]
    mh: float  # mass at the hip [kg]
    m2: float  # mass of the upper body [kg]
    lg2: float  # height of its centre of mass above the hip [m]

    def coupling(self, angles: Sequence[Scalar]) -> tuple[Scalar, Scalar, Scalar]:
        """Return M_fl, the momentum along x per velocity of a, h1 and h2 [kg m].

        Args:
            angles: angles of a, h1 and h2 [rad].
        """
        sa, s1, s2 = (expr.sin(x) for x in angles)
        ca, c1, c2 = (expr.cos(x) for x in angles)
        upper = self.m2 * self.lg2
        hip = self.m1 * self.lg1 + (self.mh + self.m2) * self.l1
        return (
            hip * ca + upper * (ca * c2 - sa * c1 * s2),
            -upper * ca * s1 * s2,
            upper * (ca * c1 * c2 - sa * s2),
        )

    def motions(self, angles: Sequence[Scalar]) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...]]:
        """Return n_1 = [n11, 0, n31] and n_2 = [n12, n22, 0] of eq. 6.11: motions without force on the foot."""
        a, h1, h2 = self.coupling(angles)
        return (-h2, 0.0, a), (-h1, a, 0.0)

    def ankle_per_hip(self, angles: Sequence[Scalar]) -> Scalar:
        """Return n11/n31 of eq. 6.12, the velocity of the ankle per velocity of h2."""
        (n11, _, n31), _ = self.motions(angles)
        return n11 / n31
