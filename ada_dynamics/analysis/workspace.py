# SPDX-License-Identifier: Apache-2.0
"""Workspace of a link on a grid of poses, within one assembly mode.

Starting at a given configuration, the unreached neighbours of all grid points on the front are solved together by
damped Newton steps on the loop constraints and the pose of the link. The damping is proportional to the squared
residual, so that steps are short at the boundary of the workspace and convergence inside is quadratic. Solutions on
another branch are rejected, as a serial singular configuration lies between the branches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.analysis.singularity import SingularityDistance, point_jacobian, row_indices, singularity_distance
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.analysis import RANK
from ada_dynamics.constraints.coordinates import null_space
from ada_dynamics.constraints.singular import SINGULAR
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.computation import require_link
from ada_dynamics.dynamics.poses import rotated
from ada_dynamics.errors import InputError, check_name, invalid
from ada_dynamics.spatial.vector import Vec3

COORDINATES = ("x", "y", "z", "rx", "ry", "rz")
CLOSED = 1e-11  # closure tolerance in characteristic lengths
_STEPS = 12
_MAX_STEP = 0.5  # [rad] or characteristic lengths
_MAX_DISPLACEMENT = 1.2  # largest displacement between neighbours of the same branch
_LEAST_DAMPING = 1e-14


class WorkspaceGrid(NamedTuple):
    """Configurations of a mechanism on a grid of poses of a link.

    Attributes:
        axes: names of the grid axes.
        values: coordinates of each axis [m, rad].
        q: configurations, (*grid, nq); NaN out of reach.
    """

    axes: tuple[str, ...]
    values: tuple[Array, ...]
    q: Array

    @property
    def is_reached(self) -> NDArray[np.bool_]:
        """True for each grid point that is reached."""
        return np.asarray(np.isfinite(self.q).all(axis=-1))


class SingularityMap(NamedTuple):
    """Distances to singular configurations over the workspace; NaN out of reach."""

    workspace: WorkspaceGrid
    distance: SingularityDistance


def singularity_map(
    dynamics: Dynamics,
    link: str,
    q: ArrayLike,
    axes: Mapping[str, ArrayLike],
    *,
    rows: str | Sequence[int] = "linear",
    point: ArrayLike = (0.0, 0.0, 0.0),
) -> SingularityMap:
    """`singularity_distance` on a grid; arguments as for `workspace`."""
    found = workspace(dynamics, link, q, axes, rows=rows, point=point)
    reached = found.is_reached
    inside = singularity_distance(dynamics, link, found.q[reached], rows=rows, point=point)
    values = []
    for part in inside:
        whole = np.full(reached.shape, np.nan)
        whole[reached] = part
        values.append(whole)
    return SingularityMap(found, SingularityDistance(*values))


def workspace(
    dynamics: Dynamics,
    link: str,
    q: ArrayLike,
    axes: Mapping[str, ArrayLike],
    *,
    rows: str | Sequence[int] = "linear",
    point: ArrayLike = (0.0, 0.0, 0.0),
) -> WorkspaceGrid:
    """Configurations with a point of a link on a grid, reached from a configuration within its branch.

    Args:
        dynamics: dynamics of the robot, with or without loops.
        link: name of the link.
        q: configuration with closed loops, which selects the assembly mode and the coordinates not on an axis.
        axes: ascending values of world coordinates: "x", "y", "z" of the point [m], or "rx", "ry", "rz", the rotation
            vector from the orientation of the link at q [rad].
        rows: constrained rows: "linear", "angular", "all", or indices of rows of the Jacobian; their rank must equal
            the mobility.
        point: point of the link in its frame [m].

    Raises:
        InputError: an axis is unknown or not ascending, the number of rows does not match the mobility, or the grid
            cannot be reached from the configuration.
    """
    require_link(dynamics, link)
    values = _values(axes)
    target = _PoseTarget.of(dynamics, link, np.asarray(q, dtype=np.float64), row_indices(rows), point)
    target.validate([COORDINATES.index(name) for name in axes])
    grid = _Grid(target, [COORDINATES.index(name) for name in axes], values)
    return WorkspaceGrid(tuple(axes), tuple(values), grid.solve())


def _values(axes: Mapping[str, ArrayLike]) -> list[Array]:
    found = []
    for name, given in axes.items():
        check_name("axis", name, COORDINATES)
        values = np.asarray(given, dtype=np.float64)
        if values.ndim != 1 or not len(values) or not (np.diff(values) > 0.0).all() or not np.isfinite(values).all():
            raise invalid(name, values, "finite numbers in ascending order")
        found.append(values)
    if not found:
        raise invalid("axes", axes, f"values of one to three of {', '.join(COORDINATES)}")
    return found


@dataclass(frozen=True)
class _PoseTarget:
    """Pose of a link with constrained rows, and the solution for its configuration."""

    dynamics: Dynamics
    link: str
    start: Array
    held: list[int]
    point: Array
    origin: Array  # coordinates at the start, with a zero rotation vector
    orientation: Array

    @cached_property
    def moving(self) -> list[int]:
        """Constrained rows that are not zero."""
        sizes = np.max(np.abs(self._jacobian(self.start)), axis=1)
        return np.flatnonzero(sizes > RANK * self.dynamics.constraints.coordinates.length).tolist()

    @classmethod
    def of(cls, dynamics: Dynamics, link: str, q: Array, rows: list[int], point: ArrayLike) -> _PoseTarget:
        at, pose = np.asarray(point, dtype=np.float64), dynamics.pose(link, q)
        origin = np.concatenate([pose[:3, 3] + pose[:3, :3] @ at, np.zeros(3)])
        return cls(dynamics, link, q, rows, at, origin, pose[:3, :3])

    def validate(self, axes: Sequence[int]) -> None:
        """Raise an InputError if the rows do not determine the motion, or an axis is not constrained."""
        for k in axes:
            if k not in self.held:
                text = f"axis {COORDINATES[k]!r} is not among the constrained rows {self.held}; add {k} to them."
                raise InputError(text, field="rows", value=self.held, allowed=k)
        coordinates = self.dynamics.constraints.coordinates
        s = np.linalg.svd(self._link_motions(self.start)[1], compute_uv=False)
        rank, moving = int(np.sum(s > RANK * coordinates.length)), len(self.moving)
        if rank < coordinates.mobility or moving > rank:
            text = (
                f"model {self.dynamics.model.name!r} has mobility {coordinates.mobility}, but the rows {self.held} of "
                f"link {self.link!r} have rank {rank} and {moving} nonzero rows. Constrain as many rows as the "
                "mobility: rows=[...] of 0 to 5, linear x, y, z, angular x, y, z."
            )
            raise InputError(text, link=self.link, field="rows", value=rank, allowed=coordinates.mobility)

    def _jacobian(self, q: Array) -> Array:
        """Jacobian of the constrained rows, in characteristic lengths."""
        coordinates = self.dynamics.constraints.coordinates
        units = np.where(np.arange(6) < 3, 1.0, coordinates.length)
        J = point_jacobian(self.dynamics, self.link, q, self.point) * coordinates.units * units[:, None]
        return np.asarray(J[..., self.held, :])

    def _residual(self, q: Array, targets: Array) -> Array:
        """Distance of the constrained rows to their targets, in characteristic lengths."""
        poses = self.dynamics.pose(self.link, q)
        R, p = poses[:, :3, :3], poses[:, :3, 3] + poses[:, :3, :3] @ self.point
        error = R @ targets[:, :3, :3].swapaxes(-1, -2)
        rotation = 0.5 * np.stack([error[:, k, j] - error[:, j, k] for j, k in ((1, 2), (2, 0), (0, 1))], axis=-1)
        whole = np.concatenate(
            [p - targets[:, :3, 3], self.dynamics.constraints.coordinates.length * rotation], axis=-1
        )
        return np.asarray(whole[:, self.held])

    def targets(self, coordinates: Array) -> Array:
        """Poses of the point, (N, 4, 4), from its position and rotation vector."""
        poses = np.tile(np.eye(4), (len(coordinates), 1, 1))
        poses[:, :3, :3] = _rotations(coordinates[:, 3:]) @ self.orientation
        poses[:, :3, 3] = coordinates[:, :3]
        return poses

    def reach(self, q: Array, targets: Array) -> Array:
        """Configurations at the targets by Newton steps from q, (N, nq); NaN if they fail or change the branch."""
        model, coordinates = self.dynamics.model, self.dynamics.constraints.coordinates
        at, left = q.copy(), np.arange(len(q))
        found = np.full(q.shape, np.nan)
        for _ in range(_STEPS):
            residual = np.concatenate(
                [self.dynamics.constraints.violation(at[left]), self._residual(at[left], targets[left])], axis=-1
            )
            done = np.max(np.abs(residual), axis=-1) < CLOSED * coordinates.length
            found[left[done]] = at[left[done]]
            left, residual = left[~done], residual[~done]
            if not len(left):
                break
            A = np.concatenate([self.dynamics.constraints.scaled_jacobian(at[left]), self._jacobian(at[left])], axis=-2)
            at[left] = model.integrate(at[left], _damped_steps(A, residual) * coordinates.units)
        moved = np.flatnonzero(np.isfinite(found).all(axis=-1))
        found[moved[~self._is_same_branch(q[moved], found[moved])]] = np.nan
        return found

    def _is_same_branch(self, start: Array, end: Array) -> NDArray[np.bool_]:
        """True for small displacements within one branch.

        Between branches the orientation of the null-space basis N changes: det(J_x N) changes its sign.
        """
        (N, before), (M, after) = self._link_motions(start), self._link_motions(end)
        signs = [np.linalg.det(x) for x in (before, after, M.swapaxes(-1, -2) @ N)]
        model = self.dynamics.model
        displacement = (
            np.reshape(model.difference(start, end), (len(end), model.nv)) / self.dynamics.constraints.coordinates.units
        )
        is_near = np.max(np.abs(displacement), axis=-1, initial=0.0) < _MAX_DISPLACEMENT
        return np.asarray((np.prod(np.sign(signs), axis=0) > 0.0) & is_near)

    def _link_motions(self, q: Array) -> tuple[Array, Array]:
        """Null-space basis N, and J_x N of the nonzero rows."""
        coordinates = self.dynamics.constraints.coordinates
        N = null_space(self.dynamics.constraints.scaled_jacobian(q), coordinates.mobility).basis()
        return N, (self._jacobian(q) @ N)[..., self.moving, :]

    def is_near_singular(self, q: Array) -> NDArray[np.bool_]:
        """True for configurations so close to a serial singular configuration that the branch is ambiguous."""
        s = np.linalg.svd(self._link_motions(q)[1], compute_uv=False)
        return np.asarray(s[..., -1] < SINGULAR * self.dynamics.constraints.coordinates.length)


def _rotations(vectors: Array) -> Array:
    """Rotation matrices of rotation vectors, one per row."""
    rows, _ = rotated(Vec3(*vectors.T))
    return np.array([[np.broadcast_to(x, len(vectors)) for x in row] for row in rows]).transpose(2, 0, 1)


def _damped_steps(A: Array, residual: Array) -> Array:
    """Levenberg-Marquardt steps of limited length."""
    H = A.swapaxes(-1, -2) @ A
    damping = np.sum(residual**2, axis=-1) + _LEAST_DAMPING * np.trace(H, axis1=-2, axis2=-1)
    H = H + damping[:, None, None] * np.eye(H.shape[-1])
    step = -np.linalg.solve(H, A.swapaxes(-1, -2) @ residual[..., None])[..., 0]
    longest = np.max(np.abs(step), axis=-1, keepdims=True)
    return np.asarray(step * np.minimum(1.0, _MAX_STEP / np.maximum(longest, 1e-300)))


class _Grid:
    """Grid points, solved from neighbour to neighbour."""

    def __init__(self, target: _PoseTarget, axes: Sequence[int], values: Sequence[Array]) -> None:
        self.target, self.axes = target, list(axes)
        self.shape = tuple(map(len, values))
        self.coordinates = np.tile(target.origin, (*self.shape, 1))
        for k, mesh in zip(axes, np.meshgrid(*values, indexing="ij"), strict=True):
            self.coordinates[..., k] = mesh
        self.spacing = [float(np.min(np.diff(x))) if len(x) > 1 else np.inf for x in values]

    def solve(self) -> Array:
        """Configurations at all grid points."""
        poses = np.full((*self.shape, self.target.dynamics.model.nq), np.nan)
        apart = np.linalg.norm(self.coordinates - self.target.origin, axis=-1)
        seed = tuple(int(i) for i in np.unravel_index(np.argmin(apart), self.shape))  # nearest to the start
        poses[seed] = self._moved_to(self.coordinates[seed])
        front = np.array([seed])
        while len(front):
            source, target = self._neighbours(front, poses)
            found = self.target.reach(poses[tuple(source.T)], self.target.targets(self.coordinates[tuple(target.T)]))
            reached = np.isfinite(found).all(axis=-1)
            poses[tuple(target[reached].T)] = found[reached]
            inside = np.flatnonzero(reached)[~self.target.is_near_singular(found[reached])]
            front = np.unique(target[inside], axis=0)
        return poses

    def _neighbours(self, front: NDArray[np.intp], poses: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Points on the front and their unreached neighbours, one row for each pair."""
        steps = np.concatenate([np.eye(len(self.shape), dtype=np.intp), -np.eye(len(self.shape), dtype=np.intp)])
        source = np.repeat(front, len(steps), axis=0)
        target = source + np.tile(steps, (len(front), 1))
        inside = ((target >= 0) & (target < self.shape)).all(axis=-1)
        source, target = source[inside], target[inside]
        new = np.isnan(poses[tuple(target.T)]).any(axis=-1)
        return source[new], target[new]

    def _moved_to(self, end: Array) -> Array:
        """Configuration moved from the start straight to a grid point."""
        origin, q = self.target.origin, self.target.start[None, :]
        displacement = (end - origin)[self.axes]
        count = max(1, *(int(np.ceil(abs(w) / s)) for w, s in zip(displacement, self.spacing, strict=True)))
        for share in np.arange(1, count + 1) / count:
            q = self.target.reach(q, self.target.targets((origin + share * (end - origin))[None, :]))
            if not np.isfinite(q).all():
                text = (
                    f"link {self.target.link!r} of model {self.target.dynamics.model.name!r} cannot reach the grid: it "
                    f"stops between {origin.round(4).tolist()} and {end.round(4).tolist()} (x, y, z, rotation vector). "
                    "Choose axes closer to the configuration, or a configuration within them."
                )
                raise InputError(text, link=self.target.link, field="axes", value=end)
        return np.asarray(q[0])
