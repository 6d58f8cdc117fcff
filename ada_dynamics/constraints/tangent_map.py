# SPDX-License-Identifier: Apache-2.0
"""Velocities of all joints from those of some of them, along the loops.

With the conditions J v = 0 split into chosen velocities y and the others p,

    v = T y,  a = T a_y + Ṫ y:  T_y = 1,  T_p = -J_p⁺ J_y,  Ṫ_p = -J_p⁺ J̇ T,

as long as J_p has full column rank: the chosen velocities determine the motion. All figures are in units of the
mechanism's length: a slide by one length counts as a turn by one radian.
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
from ada_dynamics.constraints.analysis import Study, independent_columns
from ada_dynamics.constraints.singular import SINGULAR
from ada_dynamics.model.joints import JOINT_TYPES
from ada_dynamics.model.model import Model

SUSPICIOUS = 2.0 * SINGULAR  # a lower bound below which the singular values themselves are looked at
RANK = 1e-8  # of orthonormal motions: a smaller singular value of some of their joints is rounding


def velocity_units(model: Model, length: float) -> Array:
    """Size that counts as much as a radian, by velocity of the model: 1, or the mechanism's length for a slide."""
    return np.where(np.array(units_of_rates(model), dtype=str) == "m", length, 1.0)


def units_of_rates(model: Model) -> list[str]:
    """Metres or radians, "m" or "rad", for each velocity."""
    kinds = [JOINT_TYPES[model.joints[name].kind] for name in model.joint_names]
    return [rate.unit for kind in kinds for rate in kind.rates]


def sample_motions(study: Study, units: Array) -> list[Array]:
    """Orthonormal motions in the sample poses, one column each."""
    numbers = study.numbers
    return [
        motions(numbers.jacobian(q) / numbers.weights[:, None] * units, study.mobility).basis() for q in study.poses
    ]


def independent_velocities(samples: Sequence[Array]) -> tuple[int, ...]:
    """Velocities that tell all motions apart best in the worst of the sample poses, in the order of v."""
    return tuple(independent_columns([N.T for N in samples], samples[0].shape[1]))


def rank_of_some(samples: Sequence[Array], chosen: Sequence[int]) -> int:
    """Number of motions that some velocities tell apart, in general poses."""
    parts = [np.linalg.svd(N[list(chosen)], compute_uv=False) for N in samples]
    return max((int(np.sum(s > RANK)) for s in parts), default=0)


class Motions(NamedTuple):
    """Motions that conditions leave in one pose or in many.

    Attributes:
        V: orthonormal motions, one column each: first those that the conditions forbid, then those that they leave.
        rank: number of conditions that are independent in general.
        sigma: smallest singular value that the conditions have in general, by the largest one; 1 without conditions.
        lost: by how much the pose lowers the rank.
        weakest: combination of the conditions that is the first to be lost.
    """

    V: Array
    rank: int
    sigma: Array
    lost: NDArray[np.intp]
    weakest: Array

    def basis(self, lost: int = 0) -> Array:
        """The motions left where the rank is lowered so far."""
        return self.V[..., self.rank - lost :]


def motions(J: Array, mobility: int) -> Motions:
    """Null space of the conditions, (..., conditions, nv)."""
    count, nv = J.shape[-2:]
    rank = nv - mobility
    several = J.shape[:-2]
    if rank == 0:
        V = np.broadcast_to(np.eye(nv), (*several, nv, nv))
        return Motions(V, 0, np.ones(several), np.zeros(several, dtype=np.intp), np.zeros((*several, count)))
    U, s, Vt = np.linalg.svd(J)
    kept = np.sum(s[..., :rank] > SINGULAR * s[..., :1], axis=-1)
    sigma = np.asarray(s[..., rank - 1] / s[..., 0])
    return Motions(Vt.swapaxes(-1, -2), rank, sigma, np.asarray(rank - kept), U[..., rank - 1])


@dataclass(frozen=True)
class Completion:
    """All velocities from chosen ones, in one pose or in many.

    Attributes:
        chosen: their places in v, in the order of the columns.
        T: v = T y, (..., nv, m).
        inverse: J_p⁺.
        share: a lower bound of how far the pose is from one in which they do not determine the motion.
    """

    chosen: tuple[int, ...]
    T: Array
    inverse: Array
    share: Array

    @property
    def is_suspicious(self) -> NDArray[np.bool_]:
        """True where singular values have to be looked at."""
        return np.asarray(~(self.share > SUSPICIOUS))

    def rate(self, J_rate: Array) -> Array:
        """Ṫ."""
        whole = np.zeros_like(self.T)
        whole[..., _others(self.T.shape[-2], self.chosen), :] = -self.inverse @ (J_rate @ self.T)
        return whole


def completion(J: Array, chosen: tuple[int, ...]) -> Completion:
    """Args: the conditions, (..., conditions, nv); places of the chosen velocities, as many as the mobility."""
    nv, others = J.shape[-1], _others(J.shape[-1], chosen)
    T = np.zeros((*J.shape[:-2], nv, len(chosen)))
    T[..., chosen, range(len(chosen))] = 1.0
    if not len(others):
        return Completion(chosen, T, np.zeros((*J.shape[:-2], 0, J.shape[-2])), np.ones(J.shape[:-2]))
    inverse = _pseudo_inverse(J[..., others])
    T[..., others, :] = -inverse @ J[..., chosen]
    squares = np.sum(J * J, axis=(-2, -1)) * np.sum(inverse * inverse, axis=(-2, -1))
    return Completion(chosen, T, inverse, np.asarray(squares**-0.5))


def _pseudo_inverse(A: Array) -> Array:
    """Of matrices with full column rank; nan for those without."""
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
    """Smallest share of some velocities in a motion of unit length, by pose: 0 where they do not tell all apart."""
    m = basis.shape[-1]
    if not m:
        return np.ones(basis.shape[:-2])
    s = np.linalg.svd(basis[..., list(chosen), :], compute_uv=False)
    return np.asarray(s[..., m - 1] if s.shape[-1] >= m else np.zeros(s.shape[:-1]), dtype=np.float64)


def least_seen(basis: Array, chosen: Sequence[int]) -> Array:
    """The motion of one pose in which some velocities have the smallest share."""
    return np.asarray(basis @ np.linalg.svd(basis[list(chosen)])[2][-1], dtype=np.float64)
