# SPDX-License-Identifier: Apache-2.0
"""Bring a state back onto its loops, in the metric of the mass matrix.

What is taken from a velocity is then orthogonal, by kinetic energy, to all that the loops allow; an acceleration that
is wrong across the loops costs energy in second order only. So a simulation passes singular poses with its energy kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.loops.singular import refuse_unresisted, weight_across

CLOSED = 1e-15  # gap, in lengths of the mechanism, at which there is nothing left to close
CUT = 1e-5  # singular values of W under this share of the largest one are left alone


class Metric(NamedTuple):
    """M + w JᵀJ = L Lᵀ, and the directions L⁻¹ Jᵀ = U S Vᵀ that the loops forbid."""

    L: Array
    U: Array
    s: Array
    Vt: Array


def metric(M: Array, J: Array, rank: int) -> Metric:
    """Args: mass matrix and conditions (in units of forces) in a pose; rank of the conditions in general.

    What crosses the loops may weigh anything, since of two states with the same Jv neither becomes the nearer one. It
    weighs as much as the mechanism does on average, so that links without inertia that the loops hold do no harm.

    Raises:
        LinAlgError: nothing resists some motion that the loops allow.
    """
    resisting = M + weight_across(M, J) * J.T @ J
    L = np.asarray(np.linalg.cholesky(resisting), dtype=np.float64)
    refuse_unresisted(resisting, L)
    U, s, Vt = np.linalg.svd(np.linalg.solve(L, J.T), full_matrices=False)
    # Off the loops, dependent conditions seem to be independent.
    kept = (s > CUT * np.max(s, initial=0.0)) & (np.arange(len(s)) < rank)
    return Metric(L, U[:, kept], s[kept], Vt[kept])


def allowed(at: Metric, v: Array) -> Array:
    """The part of a velocity that the loops allow: v - M⁻¹Jᵀ (J M⁻¹ Jᵀ)⁺ J v."""
    y = at.L.T @ v
    return np.asarray(np.linalg.solve(at.L.T, y - at.U @ (at.U.T @ y)), dtype=np.float64)


def correction(at: Metric, gap: Array) -> Array:
    """The step that closes a gap: -M⁻¹Jᵀ (J M⁻¹ Jᵀ)⁺ gap."""
    return np.asarray(-np.linalg.solve(at.L.T, at.U @ ((at.Vt @ gap) / at.s)), dtype=np.float64)
