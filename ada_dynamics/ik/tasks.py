# SPDX-License-Identifier: Apache-2.0
"""Tasks of inverse kinematics: poses of links, the center of mass, joint positions.

A task has a residual, one row for each condition [m, rad], and a Jacobian, the decrease of the residual per unit of
tree velocity; for one configuration, or for a batch with one goal per configuration or one goal for all. Rotational
residuals are rotation vectors w. The Jacobian uses the angular velocity ω as their rate, which is exact at the goal and
for the gradient: d(½ |w|²)/dt = -wᵀ ω.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.analysis.singularity import point_jacobian
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.coordinates import units_of_rates, velocities_of
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.computation import require_link
from ada_dynamics.dynamics.poses import pose_differences
from ada_dynamics.errors import invalid
from ada_dynamics.model.description import WORLD_LINK

T = TypeVar("T", bound="Task")
_IS_ROTATION = 1e-6
METRES, RADIANS = "m", "rad"


@dataclass(frozen=True, eq=False, kw_only=True)
class Task(ABC):
    """Base class of tasks.

    Attributes:
        weight: weight of the residual relative to tasks of the same level: one number, or one for each row; rows of
            weight 0 are ignored. One radian counts as much as the characteristic length of the mechanism.
        level: priority; tasks of a higher number are solved in the null space of the lower numbers.
    """

    goal_dimensions: ClassVar[int] = 1

    weight: ArrayLike = 1.0
    level: int = 0

    @property
    def goal_count(self) -> int | None:
        """Number of goals stacked along the first axis; None for a single goal."""
        goal = self._goal_array
        return len(goal) if goal.ndim > self.goal_dimensions else None

    def subset(self: T, rows: NDArray[np.intp]) -> T:
        """Return the task with the selected goals."""
        if self.goal_count is None:
            return self
        values: Any = {"goal": self._goal_array[rows]}
        return replace(self, **values)

    @property
    def _goal_array(self) -> Array:
        return np.asarray(vars(self)["goal"], dtype=np.float64)

    @abstractmethod
    def residual(self, dynamics: Dynamics, q: Array) -> Array:
        """Distance to the goal, (..., rows) [m, rad]."""

    @abstractmethod
    def jacobian(self, dynamics: Dynamics, q: Array) -> Array:
        """Decrease of the residual per unit of each tree velocity, (..., rows, nv)."""

    @abstractmethod
    def units(self, dynamics: Dynamics) -> list[str]:
        """Unit of each row, "m" or "rad"."""

    @abstractmethod
    def validate(self, dynamics: Dynamics) -> None:
        """Raise an InputError if the model or the goal does not suit the task."""

    def weights(self, dynamics: Dynamics) -> Array:
        """Weight of each row; lengths are divided by the characteristic length of the mechanism."""
        units = self.units(dynamics)
        try:
            found = np.asarray(self.weight, dtype=np.float64)
        except (TypeError, ValueError):
            found = np.full(0, np.nan)
        if found.shape not in ((), (len(units),)) or not np.isfinite(found).all() or (found < 0.0).any():
            allowed = f"one number, not negative, or {len(units)}, one for each row"
            raise invalid("weight", self.weight, allowed, f"{type(self).__name__}: ")
        if not isinstance(self.level, int):
            raise invalid("level", self.level, "a whole number", f"{type(self).__name__}: ")
        return found * np.where(np.array(units) == METRES, 1.0 / dynamics.constraints.coordinates.length, 1.0)


@dataclass(frozen=True, eq=False)
class LinkTask(Task):
    """Pose of a point of a link relative to the world or to another link."""

    rows: ClassVar[slice]

    link: str
    goal: ArrayLike
    point: ArrayLike = (0.0, 0.0, 0.0)
    relative_to: str = WORLD_LINK

    @abstractmethod
    def goal_pose(self) -> Array:
        """Goal as poses, (..., 4, 4); the part that the task ignores is arbitrary."""

    def validate(self, dynamics: Dynamics) -> None:
        """Raise an InputError if the model or the goal does not suit the task."""
        require_link(dynamics, self.link)
        if self.relative_to != WORLD_LINK:
            require_link(dynamics, self.relative_to)
        _array("point", self.point, (3,))
        goal = self.goal_pose()
        for number, R in enumerate(np.reshape(goal, (-1, 4, 4))[:, :3, :3]):
            if np.max(np.abs(R.T @ R - np.eye(3))) > _IS_ROTATION or np.linalg.det(R) < 0.0:
                which = f"goal {number}" if goal.ndim > 2 else "goal"
                raise invalid(which, R.tolist(), "a rotation matrix", f"link {self.link!r}: ", link=self.link)

    def units(self, dynamics: Dynamics) -> list[str]:
        """Unit of each row, "m" or "rad"."""
        return ([METRES] * 3 + [RADIANS] * 3)[self.rows]

    def residual(self, dynamics: Dynamics, q: Array) -> Array:
        """Distance to the goal, (..., rows) [m, rad]."""
        current = _relative_pose(self._reference(dynamics, q), self._pose(dynamics, q))
        parts = pose_differences(current, self.goal_pose()) @ current[..., :3, :3].swapaxes(-1, -2)
        return parts.reshape(*parts.shape[:-2], 6)[..., self.rows]

    def jacobian(self, dynamics: Dynamics, q: Array) -> Array:
        """Decrease of the residual per unit of each tree velocity, (..., rows, nv)."""
        J = point_jacobian(dynamics, self.link, q, self.point)
        reference = self._reference(dynamics, q)
        if reference is not None:
            relative = _relative_pose(reference, self._pose(dynamics, q))
            J = J - point_jacobian(dynamics, self.relative_to, q, relative[..., :3, 3])
            inverse = reference[..., :3, :3].swapaxes(-1, -2)
            J = np.concatenate([inverse @ J[..., :3, :], inverse @ J[..., 3:, :]], axis=-2)
        return np.asarray(J[..., self.rows, :])

    def _pose(self, dynamics: Dynamics, q: Array) -> Array:
        pose = np.asarray(dynamics.pose(self.link, q))
        if np.any(self.point):
            pose[..., :3, 3] += pose[..., :3, :3] @ np.asarray(self.point, dtype=np.float64)
        return pose

    def _reference(self, dynamics: Dynamics, q: Array) -> Array | None:
        return None if self.relative_to == WORLD_LINK else dynamics.pose(self.relative_to, q)


def _relative_pose(reference: Array | None, pose: Array) -> Array:
    if reference is None:
        return pose
    inverse = reference[..., :3, :3].swapaxes(-1, -2)
    seen = np.array(pose)
    seen[..., :3, :3] = inverse @ pose[..., :3, :3]
    seen[..., :3, 3] = (inverse @ (pose[..., :3, 3] - reference[..., :3, 3])[..., None])[..., 0]
    return seen


@dataclass(frozen=True, eq=False)
class PoseTask(LinkTask):
    """Pose of a link (4, 4), with the position at a point of the link, in the world or relative to another link."""

    goal_dimensions: ClassVar[int] = 2
    rows: ClassVar[slice] = slice(0, 6)

    def goal_pose(self) -> Array:
        """Goal poses, (..., 4, 4)."""
        return _array("goal", self.goal, (4, 4), stacked=True)


@dataclass(frozen=True, eq=False)
class PositionTask(LinkTask):
    """Position of a point of a link (3,) [m]."""

    rows: ClassVar[slice] = slice(0, 3)

    def goal_pose(self) -> Array:
        """Goal positions as poses, (..., 4, 4)."""
        return _as_poses(positions=_array("goal", self.goal, (3,), stacked=True))


@dataclass(frozen=True, eq=False)
class OrientationTask(LinkTask):
    """Orientation of a link as a rotation matrix (3, 3)."""

    goal_dimensions: ClassVar[int] = 2
    rows: ClassVar[slice] = slice(3, 6)

    def goal_pose(self) -> Array:
        """Goal rotations as poses, (..., 4, 4)."""
        return _as_poses(rotations=_array("goal", self.goal, (3, 3), stacked=True))


@dataclass(frozen=True, eq=False)
class ComTask(Task):
    """Position of the center of mass (3,) [m]."""

    goal: ArrayLike

    def validate(self, dynamics: Dynamics) -> None:
        """Raise an InputError if the goal is not a position."""
        _array("goal", self.goal, (3,), stacked=True)

    def units(self, dynamics: Dynamics) -> list[str]:
        """Unit of each row, "m"."""
        return [METRES] * 3

    def residual(self, dynamics: Dynamics, q: Array) -> Array:
        """Distance to the goal, (..., 3) [m]."""
        return np.asarray(np.asarray(self.goal, dtype=np.float64) - dynamics.com(q))

    def jacobian(self, dynamics: Dynamics, q: Array) -> Array:
        """Decrease of the residual per unit of each tree velocity, (..., 3, nv)."""
        return dynamics.com_jacobian(q)


@dataclass(frozen=True, eq=False)
class PostureTask(Task):
    """Configuration of all joints or of the named joints; the goal is a full configuration (nq,)."""

    goal: ArrayLike
    joints: Sequence[str] | None = None

    def validate(self, dynamics: Dynamics) -> None:
        """Raise an InputError if the goal is not a configuration or a joint is unknown."""
        _array("goal", self.goal, (dynamics.model.nq,), stacked=True)
        self._indices(dynamics)

    def units(self, dynamics: Dynamics) -> list[str]:
        """Unit of each row, "m" or "rad"."""
        units = units_of_rates(dynamics.model)
        return [units[k] for k in self._indices(dynamics)]

    def residual(self, dynamics: Dynamics, q: Array) -> Array:
        """Difference to the goal, (..., rows) [m, rad]."""
        goal = np.asarray(self.goal, dtype=np.float64)
        goals = np.broadcast_to(goal, q.shape)
        return np.asarray(dynamics.model.difference(q, goals)[..., list(self._indices(dynamics))])

    def jacobian(self, dynamics: Dynamics, q: Array) -> Array:
        """Decrease of the residual per unit of each tree velocity, (..., rows, nv)."""
        rows = np.eye(dynamics.model.nv)[list(self._indices(dynamics))]
        return np.broadcast_to(rows, (*q.shape[:-1], *rows.shape))

    def _indices(self, dynamics: Dynamics) -> tuple[int, ...]:
        return velocities_of(dynamics.model, dynamics.model.joint_names if self.joints is None else self.joints)


def _as_poses(positions: Array | None = None, rotations: Array | None = None) -> Array:
    """Poses with the given positions or rotations."""
    given = positions[..., None] if positions is not None else rotations
    assert given is not None
    poses = np.tile(np.eye(4), (*given.shape[:-2], 1, 1))
    poses[..., :3, 3 if positions is not None else slice(0, 3)] = positions if positions is not None else rotations
    return poses


def _array(what: str, given: ArrayLike, shape: tuple[int, ...], stacked: bool = False) -> Array:
    """Convert an argument to finite numbers of a shape, or to a stack of them along a first axis."""
    try:
        found = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.zeros(0)
    own = found.shape[1:] if stacked and found.ndim > len(shape) else found.shape
    if own != shape or not np.isfinite(found).all():
        raise invalid(what, given, f"finite numbers of shape {shape}")
    return found
