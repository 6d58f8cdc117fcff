# SPDX-License-Identifier: Apache-2.0
"""Projection onto the constraint manifold in the metric of the mass matrix.

The velocity that is removed is orthogonal, in kinetic energy, to all admissible velocities; errors of the acceleration
across the constraints change the energy in second order only. Simulations therefore pass singular configurations
without an energy error.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.singular import refuse_unresisted, weight_across

CLOSED = 1e-15  # closure error, in characteristic lengths, that is not corrected
CUT = 1e-5  # share of the largest singular value of W below which singular values are truncated


class Metric(NamedTuple):
    """M + w JᵀJ = L Lᵀ and L⁻¹ Jᵀ = U S Vᵀ, with zeros in the truncated columns of U; a leading axis is a batch."""

    L: Array
    U: Array
    s: Array
    Vt: Array
    kept: NDArray[np.bool_]


def metric(M: Array, J: Array, rank: int) -> Metric:
    """Factorise the metric of a configuration; `rank` is that of J in general.

    The inertia of violating velocities is arbitrary, as it does not change the nearest state. It is the mean inertia of
    the mechanism, so that massless links supported by the loops are possible.

    Raises:
        LinAlgError: no inertia resists an admissible motion.
    """
    J_turned = J.swapaxes(-1, -2)
    resisting = M + weight_across(M, J)[..., None, None] * (J_turned @ J)
    L = np.asarray(np.linalg.cholesky(resisting), dtype=np.float64)
    refuse_unresisted(resisting, L)
    U, s, Vt = np.linalg.svd(np.linalg.solve(L, J_turned), full_matrices=False)
    # if the constraints are violated, dependent ones have small singular values
    kept = (s > CUT * np.max(s, axis=-1, initial=0.0, keepdims=True)) & (np.arange(s.shape[-1]) < rank)
    return Metric(L, U * kept[..., None, :], s, Vt, kept)


def allowed(at: Metric, v: Array) -> Array:
    """Admissible part of a velocity: v - M⁻¹Jᵀ (J M⁻¹ Jᵀ)⁺ J v."""
    L_turned = at.L.swapaxes(-1, -2)
    y = _times(L_turned, v)
    return _solved(L_turned, y - _times(at.U, _times(at.U.swapaxes(-1, -2), y)))


def correction(at: Metric, violation: Array) -> Array:
    """Correction of a constraint violation g: -M⁻¹Jᵀ (J M⁻¹ Jᵀ)⁺ g."""
    along = np.divide(_times(at.Vt, violation), at.s, out=np.zeros_like(at.s), where=at.kept)
    return -_solved(at.L.swapaxes(-1, -2), _times(at.U, along))


def _times(A: Array, x: Array) -> Array:
    """A x, of one state or of a batch."""
    return np.asarray((A @ x[..., None])[..., 0], dtype=np.float64)


def _solved(A: Array, b: Array) -> Array:
    """A⁻¹ b, of one state or of a batch."""
    return np.asarray(np.linalg.solve(A, b[..., None])[..., 0], dtype=np.float64)
