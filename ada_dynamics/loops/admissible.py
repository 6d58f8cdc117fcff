# SPDX-License-Identifier: Apache-2.0
"""Directions in which a mechanism can be pushed in a pose: where its motion goes on, singular poses included.

Where J loses rank, its null space holds more than motions: with u the lost combinations of the conditions, a velocity
belongs to a branch only if uᵀ γ(v) = 0. Along a branch on which the mechanism moves with v, what can vary is

    { w : J w = 0, uᵀ (J̇ + ∂γ/∂v) w = 0 },

the tangent of the branch, and what forces do is what they do along it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.loops.singular import AT_REST, Rates, Solution

_SPEAKS = 1e-6  # of the largest entry of the rates: less is rounding


def directions(J: Array, rank: int) -> Array:
    """An orthonormal basis of what conditions of this rank leave, one column each."""
    return np.asarray(np.linalg.svd(J)[2][rank:].T, dtype=np.float64)


def along_branch(J: Array, rank: int, solution: Solution, v: Array, rates: Callable[[Array], Rates]) -> Array | None:
    """Admissible motions in a singular pose, on the branch on which the mechanism moves with v.

    Args:
        J: the conditions.
        rank: of the conditions in general.
        solution: of the singular pose.
        v: the velocity; that of a motion that is about to begin counts as well.
        rates: how the conditions change with a velocity.

    Returns:
        The basis; None without a velocity, or where v itself is not along a branch.
    """
    if not np.max(np.abs(v), initial=0.0) > AT_REST:
        return None
    N = directions(J, rank - solution.lost_rank)
    own = N.T @ v
    given = rates(v)
    whole = given.J + given.rate_by_v
    scale = _SPEAKS * float(np.max(np.abs(whole), initial=0.0))
    lost = solution.lost @ whole @ N
    _, s, Vt = np.linalg.svd(lost)
    count = int(np.sum(s > scale))
    leaves = Vt[count:].T
    outside = float(np.linalg.norm(own - leaves @ (leaves.T @ own)))
    return N @ leaves if outside <= 1e-4 * float(np.linalg.norm(v)) else None
