# SPDX-License-Identifier: Apache-2.0
"""Poses of a mechanism with a link at the places of a grid: where it can go without changing its way of assembly.

From the pose given, the neighbours of places that have been reached are tried, all on the front at the same time, by
damped Newton steps on the conditions of the loops and of the place. Damping goes with the square of what is left to do,
so that steps stay short at the border of the workspace, where the place is out of reach, and converge fast inside.
A pose of another branch is not taken: there, a serial singular pose would lie between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.analysis.singularity import Nearness, nearness, point_jacobian, rows_of
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.singular import SINGULAR
from ada_dynamics.constraints.tangent_map import RANK, motions
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.poses import rotated
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.spatial.vector import Vec3

COORDINATES = ("x", "y", "z", "rx", "ry", "rz")
CLOSED = 1e-11  # of the mechanism's length: what may be left of a place or of a gap
_STEPS = 12
_LONGEST = 0.5  # of one step, [rad] or in lengths
_JUMP = 1.2  # from one place to the next: more is another way of assembly
_LEAST_DAMPING = 1e-14


class Workspace(NamedTuple):
    """Poses by places.

    Attributes:
        axes: names of the grid's axes.
        values: of each axis [m, rad].
        q: positions, (*grid, nq); nan out of reach.
    """

    axes: tuple[str, ...]
    values: tuple[Array, ...]
    q: Array

    @property
    def is_reached(self) -> NDArray[np.bool_]:
        """True where the link can go."""
        return np.asarray(np.isfinite(self.q).all(axis=-1))


class SingularityMap(NamedTuple):
    """How near to singular poses a mechanism is over its workspace; nan out of reach."""

    workspace: Workspace
    nearness: Nearness


def singularity_map(
    dynamics: Dynamics,
    link: str,
    q: ArrayLike,
    axes: Mapping[str, ArrayLike],
    *,
    rows: str | Sequence[int] = "linear",
    point: ArrayLike = (0.0, 0.0, 0.0),
) -> SingularityMap:
    """`nearness` at the places of a grid; arguments as for `workspace`."""
    found = workspace(dynamics, link, q, axes, rows=rows, point=point)
    reached = found.is_reached
    inside = nearness(dynamics, link, found.q[reached], rows=rows, point=point)
    values = []
    for part in inside:
        whole = np.full(reached.shape, np.nan)
        whole[reached] = part
        values.append(whole)
    return SingularityMap(found, Nearness(*values))


def workspace(
    dynamics: Dynamics,
    link: str,
    q: ArrayLike,
    axes: Mapping[str, ArrayLike],
    *,
    rows: str | Sequence[int] = "linear",
    point: ArrayLike = (0.0, 0.0, 0.0),
) -> Workspace:
    """Poses with a point of a link at the places of a grid, reached from a pose without leaving its branch.

    Args:
        dynamics: of a robot, with loops or without.
        link: its name.
        q: a pose that closes the loops; it says which way of assembly is meant, and what is not on an axis stays as it
            is there.
        axes: rising values of coordinates in the world: "x", "y", "z" of the point [m], or "rx", "ry", "rz", a turn
            vector from the link's orientation in q [rad].
        rows: what is held at each place: "linear", "angular", "all", or numbers of rows of the Jacobian; as many as the
            mechanism has motions, besides those that never move.
        point: of the link, in its frame [m].

    Raises:
        InputError: an axis is unknown or not rising, the rows leave motions free or are too many, or the start is out
            of the grid's reach.
    """
    dynamics.require_link(link)
    values = _values(axes)
    place = _Place.of(dynamics, link, np.asarray(q, dtype=np.float64), rows_of(rows), point)
    place.refuse_unfit([COORDINATES.index(name) for name in axes])
    grid = _Grid(place, [COORDINATES.index(name) for name in axes], values)
    return Workspace(tuple(axes), tuple(values), grid.filled())


def _values(axes: Mapping[str, ArrayLike]) -> list[Array]:
    found = []
    for name, given in axes.items():
        if name not in COORDINATES:
            raise unknown_name("axis", name, COORDINATES)
        values = np.asarray(given, dtype=np.float64)
        if values.ndim != 1 or not len(values) or not (np.diff(values) > 0.0).all() or not np.isfinite(values).all():
            raise InputError(
                f"axis {name!r} is {values!r:.80}; it must be finite numbers that rise.",
                field=name,
                value=values,
                allowed="finite numbers that rise",
            )
        found.append(values)
    if not found:
        raise InputError(
            f"no axis is given; a grid needs one to three of {', '.join(COORDINATES)}.",
            field="axes",
            allowed=COORDINATES,
        )
    return found


@dataclass(frozen=True)
class _Place:
    """A link's place: what is asked of it, and how it is reached."""

    dynamics: Dynamics
    link: str
    start: Array
    held: list[int]
    point: Array
    origin: Array  # coordinates of the start, with a turn of zero
    orientation: Array

    @cached_property
    def moving(self) -> list[int]:
        """Those of the rows held that move at all."""
        sizes = np.max(np.abs(self._jacobian(self.start)), axis=1)
        return np.flatnonzero(sizes > RANK * self.dynamics.choices.length).tolist()

    @classmethod
    def of(cls, dynamics: Dynamics, link: str, q: Array, rows: list[int], point: ArrayLike) -> _Place:
        at, pose = np.asarray(point, dtype=np.float64), dynamics.pose(link, q)
        origin = np.concatenate([pose[:3, 3] + pose[:3, :3] @ at, np.zeros(3)])
        return cls(dynamics, link, q, rows, at, origin, pose[:3, :3])

    def refuse_unfit(self, axes: Sequence[int]) -> None:
        """Raise where the rows held do not tell the mechanism's motions, or leave out an axis."""
        for k in axes:
            if k not in self.held:
                raise InputError(
                    f"axis {COORDINATES[k]!r} is not among the rows held, {self.held}; add {k} to them.",
                    field="rows",
                    value=self.held,
                    allowed=k,
                )
        choices = self.dynamics.choices
        s = np.linalg.svd(self._link_motions(self.start)[1], compute_uv=False)
        rank, moving = int(np.sum(s > RANK * choices.length)), len(self.moving)
        if rank < choices.mobility or moving > rank:
            raise InputError(
                f"model {self.dynamics.model.name!r} has {choices.mobility} motions, of which the rows held of link "
                f"{self.link!r} {self.held} tell {rank}, with {moving} rows that move. Hold as many as there are "
                "motions: rows=[...] of 0 to 5, linear x, y, z, angular x, y, z.",
                link=self.link,
                field="rows",
                value=rank,
                allowed=choices.mobility,
            )

    def _jacobian(self, q: Array) -> Array:
        """Of the rows held, in lengths."""
        choices = self.dynamics.choices
        units = np.where(np.arange(6) < 3, 1.0, choices.length)
        J = point_jacobian(self.dynamics, self.link, q, self.point) * choices.units * units[:, None]
        return np.asarray(J[..., self.held, :])

    def _off(self, q: Array, targets: Array) -> Array:
        """How far poses are from their targets, in lengths."""
        poses = self.dynamics.pose(self.link, q)
        R, p = poses[:, :3, :3], poses[:, :3, 3] + poses[:, :3, :3] @ self.point
        left = R @ targets[:, :3, :3].swapaxes(-1, -2)
        turn = 0.5 * np.stack([left[:, k, j] - left[:, j, k] for j, k in ((1, 2), (2, 0), (0, 1))], axis=-1)
        whole = np.concatenate([p - targets[:, :3, 3], self.dynamics.choices.length * turn], axis=-1)
        return np.asarray(whole[:, self.held])

    def targets(self, coordinates: Array) -> Array:
        """Poses of the point, (N, 4, 4), from its place and the turn from the start's orientation."""
        poses = np.tile(np.eye(4), (len(coordinates), 1, 1))
        poses[:, :3, :3] = _rotations(coordinates[:, 3:]) @ self.orientation
        poses[:, :3, 3] = coordinates[:, :3]
        return poses

    def reach(self, q: Array, targets: Array) -> Array:
        """Poses at the targets by Newton steps from q, rows of both; nan where that leads nowhere or far away."""
        model, choices = self.dynamics.model, self.dynamics.choices
        at, left = q.copy(), np.arange(len(q))
        found = np.full(q.shape, np.nan)
        for _ in range(_STEPS):
            residual = np.concatenate(
                [self.dynamics.constraint_violation(at[left]), self._off(at[left], targets[left])], axis=-1
            )
            done = np.max(np.abs(residual), axis=-1) < CLOSED * choices.length
            found[left[done]] = at[left[done]]
            left, residual = left[~done], residual[~done]
            if not len(left):
                break
            A = np.concatenate([self.dynamics.constraint_jacobian(at[left]), self._jacobian(at[left])], axis=-2)
            at[left] = model.integrate(at[left], _damped(A, residual) * choices.units)
        moved = np.flatnonzero(np.isfinite(found).all(axis=-1))
        found[moved[~self._is_same_branch(q[moved], found[moved])]] = np.nan
        return found

    def _is_same_branch(self, start: Array, end: Array) -> NDArray[np.bool_]:
        """True for short ways between poses of one branch.

        On the way to another one the link's motions N become dependent: det(J_x N) changes its sign.
        """
        (N, before), (M, after) = self._link_motions(start), self._link_motions(end)
        signs = [np.linalg.det(x) for x in (before, after, M.swapaxes(-1, -2) @ N)]
        model = self.dynamics.model
        way = np.reshape(model.difference(start, end), (len(end), model.nv)) / self.dynamics.choices.units
        return np.asarray((np.prod(np.sign(signs), axis=0) > 0.0) & (np.max(np.abs(way), axis=-1, initial=0.0) < _JUMP))

    def _link_motions(self, q: Array) -> tuple[Array, Array]:
        """N, and J_x N of the rows that move."""
        choices = self.dynamics.choices
        N = motions(self.dynamics.constraint_jacobian(q), choices.mobility).basis()
        return N, (self._jacobian(q) @ N)[..., self.moving, :]

    def is_border(self, q: Array) -> NDArray[np.bool_]:
        """True for poses so near to a singular one of the link that the branch is uncertain."""
        s = np.linalg.svd(self._link_motions(q)[1], compute_uv=False)
        return np.asarray(s[..., -1] < SINGULAR * self.dynamics.choices.length)


def _rotations(vectors: Array) -> Array:
    """Rotation matrices of rotation vectors, one per row."""
    rows, _ = rotated(Vec3(*vectors.T))
    return np.array([[np.broadcast_to(x, len(vectors)) for x in row] for row in rows]).transpose(2, 0, 1)


def _damped(A: Array, residual: Array) -> Array:
    """Levenberg-Marquardt steps, no longer than `_LONGEST`."""
    H = A.swapaxes(-1, -2) @ A
    damping = np.sum(residual**2, axis=-1) + _LEAST_DAMPING * np.trace(H, axis1=-2, axis2=-1)
    H = H + damping[:, None, None] * np.eye(H.shape[-1])
    step = -np.linalg.solve(H, A.swapaxes(-1, -2) @ residual[..., None])[..., 0]
    longest = np.max(np.abs(step), axis=-1, keepdims=True)
    return np.asarray(step * np.minimum(1.0, _LONGEST / np.maximum(longest, 1e-300)))


class _Grid:
    """Places in a grid, reached from neighbour to neighbour."""

    def __init__(self, place: _Place, axes: Sequence[int], values: Sequence[Array]) -> None:
        self.place, self.axes = place, list(axes)
        self.shape = tuple(map(len, values))
        self.coordinates = np.tile(place.origin, (*self.shape, 1))
        for k, mesh in zip(axes, np.meshgrid(*values, indexing="ij"), strict=True):
            self.coordinates[..., k] = mesh
        self.spacing = [float(np.min(np.diff(x))) if len(x) > 1 else np.inf for x in values]

    def filled(self) -> Array:
        """Poses at all places."""
        poses = np.full((*self.shape, self.place.dynamics.model.nq), np.nan)
        seed = self._nearest()
        poses[seed] = self._led_to(self.coordinates[seed])
        front = np.array([seed])
        while len(front):
            source, target = self._ways(front, poses)
            found = self.place.reach(poses[tuple(source.T)], self.place.targets(self.coordinates[tuple(target.T)]))
            reached = np.isfinite(found).all(axis=-1)
            poses[tuple(target[reached].T)] = found[reached]
            inside = np.flatnonzero(reached)[~self.place.is_border(found[reached])]
            front = np.unique(target[inside], axis=0)
        return poses

    def _ways(self, front: NDArray[np.intp], poses: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Places on the front, and neighbours of theirs that have not been reached, one row for each pair."""
        steps = np.concatenate([np.eye(len(self.shape), dtype=np.intp), -np.eye(len(self.shape), dtype=np.intp)])
        source = np.repeat(front, len(steps), axis=0)
        target = source + np.tile(steps, (len(front), 1))
        inside = ((target >= 0) & (target < self.shape)).all(axis=-1)
        source, target = source[inside], target[inside]
        new = np.isnan(poses[tuple(target.T)]).any(axis=-1)
        return source[new], target[new]

    def _nearest(self) -> tuple[int, ...]:
        """The place nearest to the start."""
        apart = np.linalg.norm(self.coordinates - self.place.origin, axis=-1)
        return tuple(int(i) for i in np.unravel_index(np.argmin(apart), self.shape))

    def _led_to(self, end: Array) -> Array:
        """The start, moved straight to a place."""
        origin, q = self.place.origin, self.place.start[None, :]
        way = (end - origin)[self.axes]
        count = max(1, *(int(np.ceil(abs(w) / s)) for w, s in zip(way, self.spacing, strict=True)))
        for share in np.arange(1, count + 1) / count:
            q = self.place.reach(q, self.place.targets((origin + share * (end - origin))[None, :]))
            if not np.isfinite(q).all():
                raise InputError(
                    f"link {self.place.link!r} of model {self.place.dynamics.model.name!r} does not get from its pose "
                    f"to the grid: it stops on the way from {origin.round(4).tolist()} to {end.round(4).tolist()} "
                    "(x, y, z, turn). Choose axes nearer to the pose, or a pose within them.",
                    link=self.place.link,
                    field="axes",
                    value=end,
                )
        return np.asarray(q[0])
