# SPDX-License-Identifier: Apache-2.0
"""What inverse kinematics is asked for: places of links, of the centre of mass, of joints.

A task tells what is left to its goal, one row for each condition [m, rad], and how these rows shrink with the
velocities of the tree's joints. Turns are rotation vectors w, and their rate counts as the angular velocity ω: that is
exact at the goal, and so is the slope everywhere, d(½ |w|²)/dt = -wᵀ ω.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.analysis.singularity import point_jacobian
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.poses import inverse, way_and_turn
from ada_dynamics.errors import InputError
from ada_dynamics.loops.choices import velocities_of
from ada_dynamics.loops.velocities import units_of_rates
from ada_dynamics.model.description import WORLD_LINK

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

    weight: ArrayLike = 1.0
    level: int = 0

    @abstractmethod
    def left(self, dynamics: Dynamics, q: Array) -> Array:
        """What is left to the goal."""

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
                f"or {len(units)}, one for each row."
            )
        if not isinstance(self.level, int):
            raise InputError(f"level of a {type(self).__name__} is {self.level!r:.80}; it must be a whole number.")
        return found * np.where(np.array(units) == METRES, 1.0 / dynamics.choices.length, 1.0)


@dataclass(frozen=True, eq=False)
class _LinkTask(Task):
    """Where a point of a link is, and how the link is turned, seen from the world or from another link."""

    rows: ClassVar[tuple[int, ...]]

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
        R = self.goal_pose()[:3, :3]
        if np.max(np.abs(R.T @ R - np.eye(3))) > _IS_ROTATION or np.linalg.det(R) < 0.0:
            raise InputError(f"goal of link {self.link!r} is turned by {R.tolist()}, which is not a rotation matrix.")

    def row_units(self, dynamics: Dynamics) -> list[str]:
        return [METRES if row < 3 else RADIANS for row in self.rows]

    def left(self, dynamics: Dynamics, q: Array) -> Array:
        here = inverse(self._reference(dynamics, q)) @ self._pose(dynamics, q)
        whole = way_and_turn(here, self.goal_pose())
        turned = np.reshape(whole, (2, 3)) @ here[:3, :3].T
        return turned.ravel()[list(self.rows)]

    def jacobian(self, dynamics: Dynamics, q: Array) -> Array:
        J = point_jacobian(dynamics, self.link, q, self.point)
        if self.relative_to != WORLD_LINK:
            reference = self._reference(dynamics, q)
            there = inverse(reference) @ self._pose(dynamics, q)
            J = J - point_jacobian(dynamics, self.relative_to, q, there[:3, 3])
            J = np.concatenate([reference[:3, :3].T @ J[:3], reference[:3, :3].T @ J[3:]])
        return np.asarray(J[list(self.rows)])

    def _pose(self, dynamics: Dynamics, q: Array) -> Array:
        pose = np.array(dynamics.pose(self.link, q))
        pose[:3, 3] += pose[:3, :3] @ np.asarray(self.point, dtype=np.float64)
        return pose

    def _reference(self, dynamics: Dynamics, q: Array) -> Array:
        return np.eye(4) if self.relative_to == WORLD_LINK else dynamics.pose(self.relative_to, q)


@dataclass(frozen=True, eq=False)
class PoseTask(_LinkTask):
    """A link at a pose (4x4), with a point of it at the pose's place; in the world or in another link."""

    rows: ClassVar[tuple[int, ...]] = (0, 1, 2, 3, 4, 5)

    def goal_pose(self) -> Array:
        """The goal; what is not asked for is as in the world."""
        return _numbers("goal", self.goal, (4, 4))


@dataclass(frozen=True, eq=False)
class PositionTask(_LinkTask):
    """A point of a link at a place (3) [m]."""

    rows: ClassVar[tuple[int, ...]] = (0, 1, 2)

    def goal_pose(self) -> Array:
        """The goal; what is not asked for is as in the world."""
        pose = np.eye(4)
        pose[:3, 3] = _numbers("goal", self.goal, (3,))
        return pose


@dataclass(frozen=True, eq=False)
class OrientationTask(_LinkTask):
    """A link turned as a rotation matrix (3x3) says."""

    rows: ClassVar[tuple[int, ...]] = (3, 4, 5)

    def goal_pose(self) -> Array:
        """The goal; what is not asked for is as in the world."""
        pose = np.eye(4)
        pose[:3, :3] = _numbers("goal", self.goal, (3, 3))
        return pose


@dataclass(frozen=True, eq=False)
class ComTask(Task):
    """The centre of mass at a place (3) [m]."""

    goal: ArrayLike

    def refuse_unfit(self, dynamics: Dynamics) -> None:
        """Raise where numbers or names do not fit."""
        _numbers("goal", self.goal, (3,))

    def row_units(self, dynamics: Dynamics) -> list[str]:
        """Of each row."""
        return [METRES] * 3

    def left(self, dynamics: Dynamics, q: Array) -> Array:
        """What is left."""
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
        _numbers("goal", self.goal, (dynamics.model.nq,))
        self._places(dynamics)

    def row_units(self, dynamics: Dynamics) -> list[str]:
        """Of each row."""
        units = units_of_rates(dynamics.model)
        return [units[k] for k in self._places(dynamics)]

    def left(self, dynamics: Dynamics, q: Array) -> Array:
        """What is left."""
        goal = np.asarray(self.goal, dtype=np.float64)
        return np.asarray(dynamics.model.difference(q, goal)[list(self._places(dynamics))])

    def jacobian(self, dynamics: Dynamics, q: Array) -> Array:
        """By how much each velocity lessens it."""
        return np.asarray(np.eye(dynamics.model.nv)[list(self._places(dynamics))])

    def _places(self, dynamics: Dynamics) -> tuple[int, ...]:
        return velocities_of(dynamics.model, dynamics.model.joint_names if self.joints is None else self.joints)


def _numbers(what: str, given: ArrayLike, shape: tuple[int, ...]) -> Array:
    """What a caller gives as finite numbers of a shape."""
    try:
        found = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.shape != shape or not np.isfinite(found).all():
        raise InputError(f"{what} is {given!r:.100}; it must be finite numbers of shape {shape}.")
    return found
