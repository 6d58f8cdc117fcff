# SPDX-License-Identifier: Apache-2.0
"""How well the loops of a mechanism hold in one state: gaps, velocities across them, distance from a singular pose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.loops.singular import SINGULAR
from ada_dynamics.loops.study import Study


@dataclass(frozen=True)
class LoopState:
    """The loops in one state.

    Attributes:
        gap: by loop, how far each of its conditions is from holding [m, rad].
        drift: by loop, how fast [m/s, rad/s]; zero without a velocity.
        sigma: smallest singular value of the conditions, weighted by the mass matrix, by the largest: 0 in a singular
            pose, where the loops lose rank.
        mobility: degrees of freedom in this pose.
    """

    gap: dict[str, Array]
    drift: dict[str, Array]
    sigma: float
    mobility: int

    @property
    def worst_gap(self) -> float:
        """The largest one."""
        return max((float(np.max(np.abs(g), initial=0.0)) for g in self.gap.values()), default=0.0)

    @property
    def is_singular(self) -> bool:
        """True if the pose counts as singular."""
        return self.sigma < SINGULAR


def loop_state(study: Study, q: Array, v: Array | None) -> LoopState:
    """Look at one state.

    Args:
        study: of the model.
        q: positions.
        v: velocities, or None.
    """
    numbers = study.numbers
    gaps = numbers.gap(q)
    drifts = np.zeros(len(gaps)) if v is None else numbers.jacobian(q) @ v
    names = np.array([loop for loop, _, _ in numbers.conditions])
    acting = sorted((*study.used, *study.spare))
    s = np.linalg.svd(numbers.whitened(q)[:, acting], compute_uv=False)
    kept = min(int(np.sum(s > SINGULAR * np.max(s, initial=0.0))), study.rank)
    return LoopState(
        {name: gaps[names == name] for name in numbers.model.loop_names},
        {name: drifts[names == name] for name in numbers.model.loop_names},
        float(s[study.rank - 1] / s[0]) if study.rank else 1.0,
        numbers.model.nv - kept,
    )
