# SPDX-License-Identifier: Apache-2.0
"""Tangent map: velocities of all joints from those of chosen coordinates, subject to the loop constraints.

With the constraints J v = 0 split into chosen velocities y and dependent ones p,

    v = T y,  a = T a_y + Ṫ y:  T_y = 1,  T_p = -J_p⁺ J_y,  Ṫ_p = -J_p⁺ J̇ T,

if J_p has full column rank, so that the chosen velocities determine the motion. All values are in units of the
characteristic length: a slide by one length counts as a turn by one radian.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.analysis import ConstraintAnalysis, independent_columns
from ada_dynamics.constraints.singular import SINGULAR
from ada_dynamics.model.joints import JOINT_TYPES
from ada_dynamics.model.model import Model

SUSPICIOUS = 2.0 * SINGULAR  # lower bound of `share` below which singular values are computed
RANK = 1e-8  # of orthonormal bases: smaller singular values of some of their rows are rounding


def velocity_units(model: Model, length: float) -> Array:
    """Unit of each velocity: 1 for angles, the characteristic length for slides."""
    return np.where(np.array(units_of_rates(model), dtype=str) == "m", length, 1.0)


def units_of_rates(model: Model) -> list[str]:
    """Unit of each velocity, "m" or "rad"."""
    kinds = [JOINT_TYPES[model.joints[name].kind] for name in model.joint_names]
    return [rate.unit for kind in kinds for rate in kind.rates]


def sample_null_spaces(analysis: ConstraintAnalysis, units: Array) -> list[Array]:
    """Orthonormal null-space basis of J in each sample configuration."""
    constraints = analysis.constraints
    return [
        null_space(constraints.jacobian(q) / constraints.weights[:, None] * units, analysis.mobility).basis()
        for q in analysis.configurations
    ]


def independent_velocities(samples: Sequence[Array]) -> tuple[int, ...]:
    """Best conditioned independent velocities in the worst of the samples, in the order of v."""
    return tuple(independent_columns([N.T for N in samples], samples[0].shape[1]))


def rank_of_some(samples: Sequence[Array], chosen: Sequence[int]) -> int:
    """Rank of the chosen rows of the null-space bases, in general configurations."""
    parts = [np.linalg.svd(N[list(chosen)], compute_uv=False) for N in samples]
    return max((int(np.sum(s > RANK)) for s in parts), default=0)


class NullSpace(NamedTuple):
    """Null space of J in one configuration or in a batch.

    Attributes:
        V: orthonormal columns: first the row space of J, then its null space.
        rank: of J in general configurations.
        sigma: ratio of the singular value number `rank` to the largest one; 1 without constraints.
        lost: rank deficiency of the configuration.
        weakest: left singular vector of that singular value.
    """

    V: Array
    rank: int
    sigma: Array
    lost: NDArray[np.intp]
    weakest: Array

    def basis(self, lost: int = 0) -> Array:
        """Orthonormal basis of the null space at a rank deficiency of `lost`."""
        return self.V[..., self.rank - lost :]


def null_space(J: Array, mobility: int) -> NullSpace:
    """Null space of J, (..., m, nv)."""
    count, nv = J.shape[-2:]
    rank = nv - mobility
    several = J.shape[:-2]
    if rank == 0:
        V = np.broadcast_to(np.eye(nv), (*several, nv, nv))
        return NullSpace(V, 0, np.ones(several), np.zeros(several, dtype=np.intp), np.zeros((*several, count)))
    U, s, Vt = np.linalg.svd(J)
    kept = np.sum(s[..., :rank] > SINGULAR * s[..., :1], axis=-1)
    sigma = np.asarray(s[..., rank - 1] / s[..., 0])
    return NullSpace(Vt.swapaxes(-1, -2), rank, sigma, np.asarray(rank - kept), U[..., rank - 1])


@dataclass(frozen=True)
class TangentMap:
    """Tangent map T of v = T y, in one configuration or in a batch.

    Attributes:
        chosen: indices of y in v, in the order of the columns.
        T: (..., nv, m).
        inverse: J_p⁺.
        share: lower bound of the distance from a configuration in which y does not determine the motion.
    """

    chosen: tuple[int, ...]
    T: Array
    inverse: Array
    share: Array

    @property
    def is_suspicious(self) -> NDArray[np.bool_]:
        """True where singular values have to be computed."""
        return np.asarray(~(self.share > SUSPICIOUS))

    def rate(self, J_rate: Array) -> Array:
        """Ṫ, from J̇."""
        whole = np.zeros_like(self.T)
        whole[..., _others(self.T.shape[-2], self.chosen), :] = -self.inverse @ (J_rate @ self.T)
        return whole


def solve_tangent_map(J: Array, chosen: tuple[int, ...]) -> TangentMap:
    """Solve for the dependent velocities; J is (..., m, nv), `chosen` has as many indices as the mobility."""
    nv, others = J.shape[-1], _others(J.shape[-1], chosen)
    T = np.zeros((*J.shape[:-2], nv, len(chosen)))
    T[..., chosen, range(len(chosen))] = 1.0
    if not len(others):
        return TangentMap(chosen, T, np.zeros((*J.shape[:-2], 0, J.shape[-2])), np.ones(J.shape[:-2]))
    inverse = _pseudo_inverse(J[..., others])
    T[..., others, :] = -inverse @ J[..., chosen]
    squares = np.sum(J * J, axis=(-2, -1)) * np.sum(inverse * inverse, axis=(-2, -1))
    return TangentMap(chosen, T, inverse, np.asarray(squares**-0.5))


def _pseudo_inverse(A: Array) -> Array:
    """Pseudo-inverse of matrices with full column rank; NaN for others."""
    if A.shape[-2] == A.shape[-1]:
        with contextlib.suppress(np.linalg.LinAlgError):
            return np.asarray(np.linalg.inv(A))
    Q, R = np.linalg.qr(A)
    pivots = np.min(np.abs(np.diagonal(R, axis1=-2, axis2=-1)), axis=-1)
    R[~(pivots > 0.0)] = np.nan
    return np.asarray(np.linalg.inv(R) @ Q.swapaxes(-1, -2))


@lru_cache(maxsize=256)
def _others(nv: int, chosen: tuple[int, ...]) -> list[int]:
    return [k for k in range(nv) if k not in chosen]


def least_share(basis: Array, chosen: Sequence[int]) -> Array:
    """Smallest singular value of the chosen rows of a basis; 0 if they do not determine the motion."""
    m = basis.shape[-1]
    if not m:
        return np.ones(basis.shape[:-2])
    s = np.linalg.svd(basis[..., list(chosen), :], compute_uv=False)
    return np.asarray(s[..., m - 1] if s.shape[-1] >= m else np.zeros(s.shape[:-1]), dtype=np.float64)


def least_seen(basis: Array, chosen: Sequence[int]) -> Array:
    """Motion in which the chosen velocities are smallest."""
    return np.asarray(basis @ np.linalg.svd(basis[list(chosen)])[2][-1], dtype=np.float64)


# --- elimination order ------------------------------------------------------------------------------------------------
_LARGE = 0.1  # smallest pivot relative to the largest possible one, in the worst sample
_ZERO = 1e-12  # of the largest entry


@dataclass(frozen=True)
class MapOrder:
    """Elimination order of the dependent velocities.

    Attributes:
        rows: independent constraints by loop, as indices into `Loop.rows`.
        pivots: row, among all of these, and velocity.
        typical: size of each pivot, the smallest in the samples.
        chosen: indices of the velocities that determine the others.
    """

    rows: dict[str, tuple[int, ...]]
    pivots: tuple[tuple[int, int], ...]
    typical: tuple[float, ...]
    chosen: tuple[int, ...]


def pivots_of(samples: Sequence[Array], chosen: Sequence[int]) -> tuple[list[tuple[int, int]], list[float]]:
    """Pivots and their typical sizes.

    Args:
        samples: J of the independent constraints in sample configurations.
        chosen: indices of the velocities that are not eliminated.
    """
    left = np.array(samples)
    entries = np.max(np.abs(left), axis=0) > _ZERO * np.max(np.abs(left), initial=0.0)
    rows, columns = list(range(left.shape[1])), [k for k in range(left.shape[2]) if k not in chosen]
    pivots: list[tuple[int, int]] = []
    typical: list[float] = []
    while rows:
        i, k = _best(left, entries, rows, columns)
        pivots.append((i, k))
        typical.append(float(np.min(np.abs(left[:, i, k]))))
        rows.remove(i)
        columns.remove(k)
        for other in [r for r in rows if entries[r, k]]:
            factors = left[:, other, k] / left[:, i, k]
            left[:, other] -= factors[:, None] * left[:, i]
            entries[other] |= entries[i]
            left[:, other, k], entries[other, k] = 0.0, False
    return pivots, typical


def _best(left: Array, entries: NDArray[np.bool_], rows: list[int], columns: list[int]) -> tuple[int, int]:
    """The pivot with the fewest new terms among those that are large enough in every sample."""
    block = np.ix_(rows, columns)
    sizes = np.min(np.abs(left[:, rows][:, :, columns]), axis=0)
    has = entries[block]
    terms = np.outer(entries[rows].sum(axis=1) - 1, has.sum(axis=0) - 1)
    large = has & (sizes >= _LARGE * np.max(sizes))
    score = np.where(large, terms - 0.5 * sizes / np.max(sizes), np.inf)
    r, c = np.unravel_index(int(np.argmin(score)), score.shape)
    return rows[int(r)], columns[int(c)]
