# SPDX-License-Identifier: Apache-2.0
"""Where a motion will be after the loop's delay: what is sent to the table in place of where it is now.

What a loop does that answers late: a body of mass m meets a spring k whose force comes T late. Then

    F = k x(t - T) ≈ k x - k T ẋ,    damping ratio -½ ω T,    energy after a touch / before = exp(π ω T),  ω = √(k/m)

so that every touch feeds in energy, whatever small T is (Zebenay et al., arXiv:1309.3512, give the critical damping).
Sending x(t) + ẋ T + ½ ẍ T² instead, second-order phase lead of the position (as in "Low-order model based divergence
compensation for hardware-in-the-loop simulation of space discrete contact", J. Intell. Robot. Syst. 2016), leaves of a
swing with ω

    k (x + ⅙ ω² T³ ẋ + ...),         energy after / before = exp(-⅙ π ω³ T³) ≤ 1

a lead instead of a lag, which takes a little energy. T is what the loop's packets say about themselves
(`delay_meter`), and nothing needs to be known of the contact.

All that is for small ω T. The acceleration that is predicted with comes of the late force itself, so that

    s² + ω² exp(-s T) (1 + s T + ½ s² T²) = 0

sets an end: a lasting contact swings up from ω T = 1.348 on (the root s = jφ / T with tan φ = φ / (1 - ½ φ²), φ =
2.082), the highest frequencies from √2 on (½ ω² T² = 1, an equation of neutral type). A touch, half a swing with a
begin and an end, gives back all that it took at ω T = 1.224 (`PASSIVE_TO`), by integration of the delayed equation.
"""

from __future__ import annotations

import numpy as np

from ada_experiments.motion_simulation.frames import Motion, rotation_of

PASSIVE_TO = 1.224  # ω T [rad]


def longest_passive_delay(stiffness: float, mass: float) -> float:
    """Delay up to which a touch predicted by acceleration gives back no more energy than it took [s].

    Of an ideal spring; the lag of a real table's servo counts as delay, too.

    Args:
        stiffness: of the touch [N/m].
        mass: effective mass of both bodies [kg].
    """
    return PASSIVE_TO * float(np.sqrt(mass / stiffness))


def predicted(motion: Motion, horizon: float, order: int = 2) -> Motion:
    """The motion after some time, by a Taylor series.

    Args:
        motion: now.
        horizon: how far ahead [s].
        order: 0: as it is now; 1: by its velocity; 2: by its acceleration, too.
    """
    if order == 0 or horizon == 0.0:
        return motion
    a = motion.acceleration if order > 1 else np.zeros(6)
    moved = horizon * motion.twist + 0.5 * horizon**2 * a
    pose = motion.pose.copy()
    pose[:3, 3] += moved[:3]
    pose[:3, :3] = rotation_of(moved[3:]) @ motion.pose[:3, :3]
    return Motion(pose, motion.twist + horizon * a, motion.acceleration)
