# SPDX-License-Identifier: Apache-2.0
"""Bring states back onto their loops, in the metric of the mass matrix.

What is taken from a velocity is then orthogonal, by kinetic energy, to all that the loops allow; an acceleration that
is wrong across the loops costs energy in second order only. So a simulation passes singular poses with its energy kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.singular import refuse_unresisted, weight_across

CLOSED = 1e-15  # gap, in lengths of the mechanism, at which there is nothing left to close
CUT = 1e-5  # singular values of W under this share of the largest one are left alone


class Metric(NamedTuple):
    """M + w JᵀJ = L Lᵀ, and the directions L⁻¹ Jᵀ = U S Vᵀ that the loops forbid; a leading axis is a batch of states.

    Of the columns of U those that count, the others are zero.
    """

    L: Array
    U: Array
    s: Array
    Vt: Array
    kept: NDArray[np.bool_]


def metric(M: Array, J: Array, rank: int) -> Metric:
    """Args: mass matrix and conditions (in units of forces) in a pose; rank of the conditions in general.

    What crosses the loops may weigh anything, since of two states with the same Jv neither becomes the nearer one. It
    weighs as much as the mechanism does on average, so that links without inertia that the loops hold do no harm.

    Raises:
        LinAlgError: nothing resists some motion that the loops allow.
    """
    J_turned = J.swapaxes(-1, -2)
    resisting = M + weight_across(M, J)[..., None, None] * (J_turned @ J)
    L = np.asarray(np.linalg.cholesky(resisting), dtype=np.float64)
    refuse_unresisted(resisting, L)
    U, s, Vt = np.linalg.svd(np.linalg.solve(L, J_turned), full_matrices=False)
    # Off the loops, dependent conditions seem to be independent.
    kept = (s > CUT * np.max(s, axis=-1, initial=0.0, keepdims=True)) & (np.arange(s.shape[-1]) < rank)
    return Metric(L, U * kept[..., None, :], s, Vt, kept)


def allowed(at: Metric, v: Array) -> Array:
    """The part of a velocity that the loops allow: v - M⁻¹Jᵀ (J M⁻¹ Jᵀ)⁺ J v."""
    L_turned = at.L.swapaxes(-1, -2)
    y = _times(L_turned, v)
    return _solved(L_turned, y - _times(at.U, _times(at.U.swapaxes(-1, -2), y)))


def correction(at: Metric, gap: Array) -> Array:
    """The step that closes a gap: -M⁻¹Jᵀ (J M⁻¹ Jᵀ)⁺ gap."""
    along = np.divide(_times(at.Vt, gap), at.s, out=np.zeros_like(at.s), where=at.kept)
    return -_solved(at.L.swapaxes(-1, -2), _times(at.U, along))


def _times(A: Array, x: Array) -> Array:
    """A x, of one state or of each of a batch."""
    return np.asarray((A @ x[..., None])[..., 0], dtype=np.float64)


def _solved(A: Array, b: Array) -> Array:
    """A⁻¹ b, likewise."""
    return np.asarray(np.linalg.solve(A, b[..., None])[..., 0], dtype=np.float64)
