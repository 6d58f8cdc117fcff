# SPDX-License-Identifier: Apache-2.0
"""Prediction of a motion over the loop delay, sent to the table instead of the present pose.

Effect of a delay: a body of mass m hits a spring k whose force is delayed by T. Then

    F = k x(t - T) ≈ k x - k T ẋ,    damping ratio -½ ω T,    energy after a contact / before = exp(π ω T),  ω = √(k/m)

so that every contact adds energy, however small T is (Zebenay et al., arXiv:1309.3512, give the critical damping).
Sending x(t) + ẋ T + ½ ẍ T² instead, second-order phase lead of the position (as in "Low-order model based divergence
compensation for hardware-in-the-loop simulation of space discrete contact", J. Intell. Robot. Syst. 2016), changes an
oscillation with ω to

    k (x + ⅙ ω² T³ ẋ + ...),         energy after / before = exp(-⅙ π ω³ T³) ≤ 1

which is a lead instead of a lag and dissipates a small amount of energy. T is measured from the packets
(`delay_meter`); no contact model is required.

These expansions hold for small ω T. The predicted acceleration results from the delayed force, so that

    s² + ω² exp(-s T) (1 + s T + ½ s² T²) = 0

limits the delay: a lasting contact is unstable from ω T = 1.348 (the root s = jφ / T with tan φ = φ / (1 - ½ φ²), φ =
2.082), the highest frequencies from √2 (½ ω² T² = 1, an equation of neutral type). A contact of half an oscillation
returns all absorbed energy at ω T = 1.224 (`PASSIVE_TO`), by integration of the delayed equation.
"""

from __future__ import annotations

import numpy as np

from ada_experiments.motion_simulation.frames import Motion, rotation_of

PASSIVE_TO = 1.224  # ω T [rad]


def longest_passive_delay(stiffness: float, mass: float) -> float:
    """Delay up to which a contact with prediction by acceleration returns no more energy than it absorbed [s].

    It applies to an ideal spring; the lag of a table servo counts as additional delay.

    Args:
        stiffness: contact stiffness [N/m].
        mass: effective mass of both bodies [kg].
    """
    return PASSIVE_TO * float(np.sqrt(mass / stiffness))


def predicted(motion: Motion, horizon: float, order: int = 2) -> Motion:
    """Motion after a time, by a Taylor series.

    Args:
        motion: present motion.
        horizon: prediction time [s].
        order: 0: no prediction; 1: by velocity; 2: by velocity and acceleration.
    """
    if order == 0 or horizon == 0.0:
        return motion
    a = motion.acceleration if order > 1 else np.zeros(6)
    moved = horizon * motion.twist + 0.5 * horizon**2 * a
    pose = motion.pose.copy()
    pose[:3, 3] += moved[:3]
    pose[:3, :3] = rotation_of(moved[3:]) @ motion.pose[:3, :3]
    return Motion(pose, motion.twist + horizon * a, motion.acceleration)
