# SPDX-License-Identifier: Apache-2.0
"""Coordinates that determine the motion: independent ones, those of the actuators, or joints by name.

With the constraints J v = 0 split into chosen velocities y and dependent ones p,

    v = T y,  a = T a_y + Ṫ y:  T_y = 1,  T_p = -J_p⁺ J_y,  Ṫ_p = -J_p⁺ J̇ T,

if J_p has full column rank, so that the chosen velocities determine the motion: then the rows N_y of a basis N of the
null space of J are regular. All values are in units of the characteristic length: a slide by one length counts as a
turn by one radian.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.analysis import NEAR_SINGULAR, RANK, SAMPLES, ConstraintAnalysis, independent_columns
from ada_dynamics.constraints.constraint_set import characteristic_length
from ada_dynamics.constraints.singular import SINGULAR
from ada_dynamics.errors import InputError, SingularConfigurationError, WrongTypeError, unknown_name
from ada_dynamics.model.joints import JOINT_TYPES
from ada_dynamics.model.model import Model

_NAMED = 8  # largest number of joints in a message
TREE, INDEPENDENT, ACTUATED = "tree", "independent", "actuated"
Coordinates = str | Sequence[str]
_TAKES_PART = 0.1  # smallest relative velocity of the joints, or share of the loops, in a message


class CoordinateSets:
    """Sets of velocity coordinates that determine the motion of a model."""

    def __init__(self, model: Model, analysis: ConstraintAnalysis | None) -> None:
        """Take a model and the analysis of its constraints, None without loops."""
        self.model, self.analysis = model, analysis
        self.length = characteristic_length(model) if analysis is None else analysis.constraints.length
        self.units = np.where(np.array(units_of_rates(model), dtype=str) == "m", self.length, 1.0)  # of velocities
        self.mobility = model.nv if analysis is None else analysis.mobility
        self._known: dict[str | tuple[str, ...], tuple[int, ...]] = {}

    @cached_property
    def motors(self) -> tuple[int, ...]:
        """Indices in v of the actuated coordinates, in the order of `model.actuated`."""
        return velocities_of(self.model, self.model.actuated)

    @cached_property
    def samples(self) -> list[Array]:
        """Orthonormal null-space bases of J in sample configurations."""
        if self.analysis is None:
            return [np.eye(self.model.nv)] * SAMPLES
        constraints, weights = self.analysis.constraints, self.analysis.constraints.weights[:, None]
        jacobians = [constraints.jacobian(q) / weights * self.units for q in self.analysis.configurations]
        return [null_space(J, self.mobility).basis() for J in jacobians]

    def indices(self, coordinates: Coordinates) -> tuple[int, ...]:
        """Indices of the coordinates in v, in the order of the columns of the tangent map.

        Raises:
            InputError: the coordinates are unknown, or do not determine the motion.
        """
        if not isinstance(coordinates, (str, list, tuple)):
            raise _not_names(coordinates)
        key = coordinates if isinstance(coordinates, str) else tuple(coordinates)
        if key not in self._known:
            self._known[key] = self._found(key)
        return self._known[key]

    def _found(self, coordinates: str | tuple[str, ...]) -> tuple[int, ...]:
        if coordinates == INDEPENDENT:
            return tuple(independent_columns([N.T for N in self.samples], self.mobility))
        if isinstance(coordinates, str) and coordinates != ACTUATED:
            raise unknown_name("set of velocities", coordinates, (INDEPENDENT, ACTUATED, "... or a list of joints"))
        if not all(isinstance(name, str) for name in coordinates):
            raise _not_names(coordinates)
        chosen, what = self.motors, "motors"
        if coordinates != ACTUATED:
            chosen, what = velocities_of(self.model, coordinates), "chosen joints"
        surplus = self.refuse_missing(chosen, what)
        if surplus:
            raise InputError(
                f"{self._count(chosen, what)}: {surplus} too many for {self.mobility}, which depend on the others "
                f"through the loops. Name joints with {self.mobility} velocities, or use coordinates={INDEPENDENT!r}.",
                field="coordinates",
                value=len(chosen),
                allowed=self.mobility,
            )
        return chosen

    def map_order(self, chosen: tuple[int, ...]) -> MapOrder | None:
        """Elimination order of the dependent velocities; None without constraints."""
        analysis = self.analysis
        if analysis is None or not analysis.rank or not chosen:
            return None
        used = sorted(analysis.independent)
        w = analysis.constraints.weights[used]
        # without samples near a configuration in which the chosen velocities do not determine the motion
        shares = np.array([least_share(N, chosen) for N in self.samples])
        regular = np.flatnonzero(shares >= NEAR_SINGULAR * np.median(shares[shares > RANK]))
        poses = [analysis.configurations[i] for i in regular]
        samples = [analysis.constraints.jacobian(q)[used] / w[:, None] * self.units for q in poses]
        pivots, sizes = pivots_of(samples, chosen)
        typical = [float(size * w[i] / self.units[k]) for size, (i, k) in zip(sizes, pivots, strict=True)]
        return MapOrder(analysis.by_loop(analysis.independent), tuple(pivots), tuple(typical), chosen)

    def refuse_missing(self, chosen: Sequence[int], what: str) -> int:
        """Raise if velocities do not determine the motion in general; return the number of redundant velocities."""
        parts = [np.linalg.svd(N[list(chosen)], compute_uv=False) for N in self.samples]
        rank = max((int(np.sum(s > RANK)) for s in parts), default=0)  # in general configurations
        if rank < self.mobility:
            motion = undetermined_motion(self.samples[0], chosen)
            surplus = f", and {len(chosen) - rank} too many, following from the others" if len(chosen) > rank else ""
            raise InputError(
                f"{self._count(chosen, what)}: {self.mobility - rank} missing of {self.mobility}{surplus}. With them "
                f"at rest, {self._names(motion)} can still move; name one of these joints as well, or fix one if its "
                "motion has no effect, such as the rotation of a rod between two ball joints (`ada check` prints the "
                "entry for the file of the loops).",
                joint=self._names(motion),
                field="coordinates",
                value=len(chosen),
                allowed=self.mobility,
            )
        return len(chosen) - rank

    def _count(self, chosen: Sequence[int], what: str) -> str:
        subject, verb = ("the velocity", "does") if len(chosen) == 1 else (f"the {len(chosen)} velocities", "do")
        whose = f"{what} of model {self.model.name!r} ({self._labels(chosen)})"
        return f"{subject} of the {whose} {verb} not determine its motion"

    def refuse_singular(self, found: NullSpace, chosen: Sequence[int], state: int | None) -> None:
        """Raise if the chosen velocities do not determine the motion in one configuration, or one state of a batch."""
        where, field = ("", "q") if state is None else (f"state {state}: ", f"q[{state}]")
        if found.sigma < SINGULAR:
            raise SingularConfigurationError(
                f"{where}model {self.model.name!r} is in a singular configuration: the constraints of its loops "
                f"({self._weakest(found)}) lose rank, so that these coordinates do not determine its motion. Use a "
                "configuration nearby; `branch_directions` returns the tangents of the branches.",
                loop=self._weakest(found),
                field=field,
            )
        if least_share(found.basis(), chosen) < SINGULAR:
            moving = self._names(undetermined_motion(found.basis(), chosen))
            raise SingularConfigurationError(
                f"{where}model {self.model.name!r} is in a configuration in which the velocities of "
                f"{self._labels(chosen)} do not determine its motion: with them at rest, {moving} can still move. Use "
                "a configuration nearby, or other coordinates=[names of joints].",
                joint=moving,
                field=field,
            )

    def is_singular(self, found: NullSpace, chosen: Sequence[int]) -> Array:
        """True, by configuration, if the chosen velocities do not determine the motion."""
        return np.asarray((found.sigma < SINGULAR) | (least_share(found.basis(), chosen) < SINGULAR))

    def label(self, place: int) -> str:
        """Name of a velocity: the joint, with the component if the joint has several."""
        name = self.model.joint_of_velocity(place)
        own = self.model.v_index(name)
        return name if own.stop - own.start == 1 else f"{name}[{place - own.start}]"

    def _labels(self, places: Sequence[int]) -> str:
        return _listed([self.label(k) for k in places])

    def _names(self, motion: Array) -> str:
        return _listed(_moving_joints(self.model, motion))

    def _weakest(self, found: NullSpace) -> str:
        assert self.analysis is not None
        shares = zip(self.analysis.nontrivial, np.abs(found.weakest), strict=True)
        return ", ".join(sorted({self.analysis.constraints.rows[c][0] for c, share in shares if share > _TAKES_PART}))


def _moving_joints(model: Model, motion: Array) -> list[str]:
    least = _TAKES_PART * float(np.max(np.abs(motion)))
    return [name for name in model.joint_names if float(np.max(np.abs(motion[model.v_index(name)]))) > least]


def _listed(names: Sequence[str]) -> str:
    return (", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")) or "none"


def _not_names(coordinates: object) -> WrongTypeError:
    message = f"coordinates is {coordinates!r:.100}; it must be a name or a list of names of joints."
    return WrongTypeError(message, field="coordinates", value=coordinates, allowed=(INDEPENDENT, ACTUATED, list))


def velocities_of(model: Model, joints: Sequence[str]) -> tuple[int, ...]:
    """Indices in v of the velocities of joints, in their order; "joint[1]" is one component of a joint."""
    found: list[int] = []
    for name in joints:
        whole, _, number = name.removesuffix("]").rpartition("[")
        is_component = name not in model.joint_names and whole in model.joint_names and number.isdigit()
        own = model.v_index(whole if is_component else name)
        places = range(own.start, own.stop)
        if is_component and int(number) >= len(places):
            raise unknown_name("joint", name, model.joint_names)
        found += [places[int(number)]] if is_component else places
    return tuple(found)


# --- tangent map ------------------------------------------------------------------------------------------------------
SUSPICIOUS = 2.0 * SINGULAR  # inverse size of T below which singular values are computed


def units_of_rates(model: Model) -> list[str]:
    """Unit of each velocity, "m" or "rad"."""
    kinds = [JOINT_TYPES[model.joints[name].kind] for name in model.joint_names]
    return [rate.unit for kind in kinds for rate in kind.rates]


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


def tangent_map(found: NullSpace, chosen: Sequence[int]) -> Array:
    """T = N (N_y)⁻¹ from a basis N of the null space and its rows N_y of y, (..., nv, m)."""
    N = found.basis()
    T = N @ np.linalg.inv(N[..., list(chosen), :])
    T[..., list(chosen), :] = np.eye(len(chosen))
    return np.asarray(T)


def tangent_map_rate(J: Array, J_rate: Array, T: Array, chosen: Sequence[int]) -> Array:
    """Ṫ: the solution of J Ṫ = -J̇ T and Ṫ_y = 0."""
    along = -np.linalg.pinv(J, rcond=SINGULAR) @ (J_rate @ T)
    return np.asarray(along - T @ along[..., list(chosen), :])


def least_share(basis: Array, chosen: Sequence[int]) -> Array:
    """Smallest singular value of the chosen rows of a basis; 0 if they do not determine the motion."""
    m = basis.shape[-1]
    if not m:
        return np.ones(basis.shape[:-2])
    s = np.linalg.svd(basis[..., list(chosen), :], compute_uv=False)
    return np.asarray(s[..., m - 1] if s.shape[-1] >= m else np.zeros(s.shape[:-1]), dtype=np.float64)


def undetermined_motion(basis: Array, chosen: Sequence[int]) -> Array:
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
    """Pivots of J in sample configurations, without those of the chosen velocities, and their typical sizes."""
    left = np.array(samples)
    entries = np.max(np.abs(left), axis=0) > _ZERO * np.max(np.abs(left), initial=0.0)
    rows, columns = list(range(left.shape[1])), [k for k in range(left.shape[2]) if k not in chosen]
    pivots: list[tuple[int, int]] = []
    typical: list[float] = []
    while rows:
        i, k = _next_pivot(left, entries, rows, columns)
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


def _next_pivot(left: Array, entries: NDArray[np.bool_], rows: list[int], columns: list[int]) -> tuple[int, int]:
    """The pivot with the fewest new terms among those that are large enough in every sample."""
    block = np.ix_(rows, columns)
    sizes = np.min(np.abs(left[:, rows][:, :, columns]), axis=0)
    has = entries[block]
    terms = np.outer(entries[rows].sum(axis=1) - 1, has.sum(axis=0) - 1)
    large = has & (sizes >= _LARGE * np.max(sizes))
    score = np.where(large, terms - 0.5 * sizes / np.max(sizes), np.inf)
    r, c = np.unravel_index(int(np.argmin(score)), score.shape)
    return rows[int(r)], columns[int(c)]


# --- efforts of the actuators -----------------------------------------------------------------------------------------
_RESIDUE = 1e-8  # relative generalized force that the actuators may not produce
_ACTUATED_RANK = 1e-9  # singular value of the actuated rows of N below which it is rounding


def motor_efforts(model: Model, N: Array, wanted: Array) -> Array:
    """Least-norm efforts of the actuators with the same generalized force Nᵀ τ as the given efforts of all joints.

    N is an orthonormal basis of the admissible velocities. An actuated floating base takes the part that the actuators
    cannot produce, as in inverse dynamics of a tree.

    Raises:
        InputError: the actuators cannot produce the generalized force; the message names the undriven joints.
    """
    motors = list(velocities_of(model, [name for name in model.actuated if name != model.floating_joint]))
    base = list(velocities_of(model, [name for name in model.actuated if name == model.floating_joint]))
    A, B, b = N[motors].T, N[base].T, N.T @ wanted
    efforts = np.zeros(model.nv)
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    kept = s > _ACTUATED_RANK
    U, s, Vt = U[:, kept], s[kept], Vt[kept]

    def undone() -> Array:
        left = b - B @ efforts[base]
        return np.asarray(left - U @ (U.T @ left), dtype=np.float64)

    smallest = _RESIDUE * max(1.0, float(np.max(np.abs(wanted), initial=0.0)))
    if base and float(np.max(np.abs(undone()), initial=0.0)) > smallest:
        efforts[base] = np.linalg.lstsq(B - U @ (U.T @ B), undone(), rcond=_ACTUATED_RANK)[0]
    if float(np.max(np.abs(undone()), initial=0.0)) > smallest:
        raise _nothing_drives(model, N @ -undone())
    efforts[motors] = Vt.T @ ((U.T @ (b - B @ efforts[base])) / s)
    return efforts


def _nothing_drives(model: Model, motion: Array) -> InputError:
    moving = _moving_joints(model, motion)
    return InputError(
        f"model {model.name!r} is under-actuated: no effort of its motors ({', '.join(model.actuated)}) gives these "
        f"accelerations. Nothing drives the motion of {_listed(moving)}; add a motor there, fix joints "
        "whose motion has no effect (`ada check` prints the entry for the file of the loops), or ask for accelerations "
        "that these joints take by themselves.",
        joint=moving[0],
        field="actuated",
        value=tuple(moving),
        allowed=tuple(model.actuated),
    )
