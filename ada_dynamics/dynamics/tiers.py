# SPDX-License-Identifier: Apache-2.0
"""How the motion of a mechanism with loops was found: by the fastest way that could."""

from __future__ import annotations

from dataclasses import dataclass

from ada_dynamics.arrays import Array
from ada_dynamics.constraints import singular

FAST, ROBUST, RANK_REVEALING = TIERS = "fast", "robust", "rank-revealing"


@dataclass(frozen=True)
class Motion:
    """Accelerations of one state, the multipliers of the conditions in use, and how they were found."""

    accelerations: Array
    multipliers: Array
    tier: str
    solution: singular.Solution | None = None  # of the rank-revealing tier
