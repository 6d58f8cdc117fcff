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
"""

from __future__ import annotations

import numpy as np

from ada_experiments.motion_simulation.frames import Motion, rotation_of


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
