# SPDX-License-Identifier: Apache-2.0
"""Tasks of inverse kinematics: places of links, of the centre of mass, of joints.

A task tells what is left to its goal, one row for each condition [m, rad], and how these rows shrink with the
velocities of the tree's joints; for one pose, or for many poses at once, each with a goal of its own or all with one.
Turns are rotation vectors w, and their rate counts as the angular velocity ω: that is exact at the goal, and so is the
slope everywhere, d(½ |w|²)/dt = -wᵀ ω.
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
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.poses import ways_and_turns
from ada_dynamics.errors import InputError
from ada_dynamics.loops.choices import velocities_of
from ada_dynamics.loops.velocities import units_of_rates
from ada_dynamics.model.description import WORLD_LINK

T = TypeVar("T", bound="Task")
_IS_ROTATION = 1e-6
METRES, RADIANS = "m", "rad"


@dataclass(frozen=True, eq=False, kw_only=True)
class Task(ABC):
    """A goal.

    Attributes:
        weight: of what is left, against other tasks of the same level; one number, or one for each row: 0 leaves a row
            free. A turn by one radian counts as much as a way of the mechanism's length.
        level: tasks of a higher number take only the motions that those of lower ones leave.
    """

    goal_dimensions: ClassVar[int] = 1

    weight: ArrayLike = 1.0
    level: int = 0

    @property
    def count(self) -> int | None:
        """How many goals there are, stacked along a first axis; None for one that is not stacked."""
        goal = self._goal_numbers
        return len(goal) if goal.ndim > self.goal_dimensions else None

    def some(self: T, rows: NDArray[np.intp]) -> T:
        """Some of the goals."""
        if self.count is None:
            return self
        changes: Any = {"goal": self._goal_numbers[rows]}
        return replace(self, **changes)

    @property
    def _goal_numbers(self) -> Array:
        return np.asarray(vars(self)["goal"], dtype=np.float64)

    @abstractmethod
    def left(self, dynamics: Dynamics, q: Array) -> Array:
        """Residual."""

    @abstractmethod
    def jacobian(self, dynamics: Dynamics, q: Array) -> Array:
        """By how much a unit of each velocity of the tree lessens it, (rows, nv)."""

    @abstractmethod
    def row_units(self, dynamics: Dynamics) -> list[str]:
        """Of each row, "m" or "rad"."""

    @abstractmethod
    def refuse_unfit(self, dynamics: Dynamics) -> None:
        """Raise where the model or the numbers are not what the task needs."""

    def weights(self, dynamics: Dynamics) -> Array:
        """Of each row, with lengths in those of the mechanism."""
        units = self.row_units(dynamics)
        try:
            found = np.asarray(self.weight, dtype=np.float64)
        except (TypeError, ValueError):
            found = np.full(0, np.nan)
        if found.shape not in ((), (len(units),)) or not np.isfinite(found).all() or (found < 0.0).any():
            raise InputError(
                f"weight of a {type(self).__name__} is {self.weight!r:.80}; it must be one number, not negative, "
                f"or {len(units)}, one for each row.",
                field="weight",
                value=self.weight,
            )
        if not isinstance(self.level, int):
            raise InputError(
                f"level of a {type(self).__name__} is {self.level!r:.80}; it must be a whole number.",
                field="level",
                value=self.level,
                allowed="a whole number",
            )
        return found * np.where(np.array(units) == METRES, 1.0 / dynamics.choices.length, 1.0)


@dataclass(frozen=True, eq=False)
class _LinkTask(Task):
    """Where a point of a link is, and how the link is turned, seen from the world or from another link."""

    rows: ClassVar[slice]

    link: str
    goal: ArrayLike
    point: ArrayLike = (0.0, 0.0, 0.0)
    relative_to: str = WORLD_LINK

    @abstractmethod
    def goal_pose(self) -> Array:
        """The goal as a pose; rows that are not asked for may be anything."""

    def refuse_unfit(self, dynamics: Dynamics) -> None:
        dynamics.require_link(self.link)
        if self.relative_to != WORLD_LINK:
            dynamics.require_link(self.relative_to)
        _numbers("point", self.point, (3,))
        goal = self.goal_pose()
        for number, R in enumerate(np.reshape(goal, (-1, 4, 4))[:, :3, :3]):
            if np.max(np.abs(R.T @ R - np.eye(3))) > _IS_ROTATION or np.linalg.det(R) < 0.0:
                which = f"goal {number}" if goal.ndim > 2 else "goal"
                raise InputError(
                    f"{which} of link {self.link!r} is turned by {R.tolist()}, which is not a rotation matrix.",
                    link=self.link,
                    field=which,
                    value=R,
                    allowed="a rotation matrix",
                )

    def row_units(self, dynamics: Dynamics) -> list[str]:
        return ([METRES] * 3 + [RADIANS] * 3)[self.rows]

    def left(self, dynamics: Dynamics, q: Array) -> Array:
        here = _seen(self._reference(dynamics, q), self._pose(dynamics, q))
        both = ways_and_turns(here, self.goal_pose()) @ here[..., :3, :3].swapaxes(-1, -2)
        return both.reshape(*both.shape[:-2], 6)[..., self.rows]

    def jacobian(self, dynamics: Dynamics, q: Array) -> Array:
        J = point_jacobian(dynamics, self.link, q, self.point)
        reference = self._reference(dynamics, q)
        if reference is not None:
            there = _seen(reference, self._pose(dynamics, q))
            J = J - point_jacobian(dynamics, self.relative_to, q, there[..., :3, 3])
            back = reference[..., :3, :3].swapaxes(-1, -2)
            J = np.concatenate([back @ J[..., :3, :], back @ J[..., 3:, :]], axis=-2)
        return np.asarray(J[..., self.rows, :])

    def _pose(self, dynamics: Dynamics, q: Array) -> Array:
        pose = np.asarray(dynamics.pose(self.link, q))
        if np.any(self.point):
            pose[..., :3, 3] += pose[..., :3, :3] @ np.asarray(self.point, dtype=np.float64)
        return pose

    def _reference(self, dynamics: Dynamics, q: Array) -> Array | None:
        return None if self.relative_to == WORLD_LINK else dynamics.pose(self.relative_to, q)


def _seen(reference: Array | None, pose: Array) -> Array:
    """A pose from a reference; from the world where there is none."""
    if reference is None:
        return pose
    back = reference[..., :3, :3].swapaxes(-1, -2)
    seen = np.array(pose)
    seen[..., :3, :3] = back @ pose[..., :3, :3]
    seen[..., :3, 3] = (back @ (pose[..., :3, 3] - reference[..., :3, 3])[..., None])[..., 0]
    return seen


@dataclass(frozen=True, eq=False)
class PoseTask(_LinkTask):
    """A link at a pose (4x4), with a point of it at the pose's place; in the world or in another link."""

    goal_dimensions: ClassVar[int] = 2
    rows: ClassVar[slice] = slice(0, 6)

    def goal_pose(self) -> Array:
        """The goal; what is not asked for is as in the world."""
        return _numbers("goal", self.goal, (4, 4), stacked=True)


@dataclass(frozen=True, eq=False)
class PositionTask(_LinkTask):
    """A point of a link at a place (3) [m]."""

    rows: ClassVar[slice] = slice(0, 3)

    def goal_pose(self) -> Array:
        """The goal; what is not asked for is as in the world."""
        return _as_poses(ways=_numbers("goal", self.goal, (3,), stacked=True))


@dataclass(frozen=True, eq=False)
class OrientationTask(_LinkTask):
    """A link turned as a rotation matrix (3x3) says."""

    goal_dimensions: ClassVar[int] = 2
    rows: ClassVar[slice] = slice(3, 6)

    def goal_pose(self) -> Array:
        """The goal; what is not asked for is as in the world."""
        return _as_poses(turns=_numbers("goal", self.goal, (3, 3), stacked=True))


@dataclass(frozen=True, eq=False)
class ComTask(Task):
    """The centre of mass at a place (3) [m]."""

    goal: ArrayLike

    def refuse_unfit(self, dynamics: Dynamics) -> None:
        """Raise where numbers or names do not fit."""
        _numbers("goal", self.goal, (3,), stacked=True)

    def row_units(self, dynamics: Dynamics) -> list[str]:
        """Of each row."""
        return [METRES] * 3

    def left(self, dynamics: Dynamics, q: Array) -> Array:
        """Residual."""
        return np.asarray(np.asarray(self.goal, dtype=np.float64) - dynamics.com(q))

    def jacobian(self, dynamics: Dynamics, q: Array) -> Array:
        """By how much each velocity lessens it."""
        return dynamics.com_jacobian(q)


@dataclass(frozen=True, eq=False)
class PostureTask(Task):
    """Joints as they are in positions q of the model, all or those named."""

    goal: ArrayLike
    joints: Sequence[str] | None = None

    def refuse_unfit(self, dynamics: Dynamics) -> None:
        """Raise where numbers or names do not fit."""
        _numbers("goal", self.goal, (dynamics.model.nq,), stacked=True)
        self._places(dynamics)

    def row_units(self, dynamics: Dynamics) -> list[str]:
        """Of each row."""
        units = units_of_rates(dynamics.model)
        return [units[k] for k in self._places(dynamics)]

    def left(self, dynamics: Dynamics, q: Array) -> Array:
        """Residual."""
        goal = np.asarray(self.goal, dtype=np.float64)
        goals = np.broadcast_to(goal, q.shape)
        return np.asarray(dynamics.model.difference(q, goals)[..., list(self._places(dynamics))])

    def jacobian(self, dynamics: Dynamics, q: Array) -> Array:
        """By how much each velocity lessens it."""
        rows = np.eye(dynamics.model.nv)[list(self._places(dynamics))]
        return np.broadcast_to(rows, (*q.shape[:-1], *rows.shape))

    def _places(self, dynamics: Dynamics) -> tuple[int, ...]:
        return velocities_of(dynamics.model, dynamics.model.joint_names if self.joints is None else self.joints)


def _as_poses(ways: Array | None = None, turns: Array | None = None) -> Array:
    """Poses of which one part matters."""
    given = ways[..., None] if ways is not None else turns
    assert given is not None
    poses = np.tile(np.eye(4), (*given.shape[:-2], 1, 1))
    poses[..., :3, 3 if ways is not None else slice(0, 3)] = ways if ways is not None else turns
    return poses


def _numbers(what: str, given: ArrayLike, shape: tuple[int, ...], stacked: bool = False) -> Array:
    """An argument as finite numbers of a shape, or `stacked`: many of them along a first axis."""
    try:
        found = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.zeros(0)
    own = found.shape[1:] if stacked and found.ndim > len(shape) else found.shape
    if own != shape or not np.isfinite(found).all():
        raise InputError(
            f"{what} is {given!r:.100}; it must be finite numbers of shape {shape}.",
            field=what,
            value=given,
            allowed=shape,
        )
    return found
