# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics as a nonlinear least-squares problem on the constraint manifold.

Tree velocities are v = U N z: the columns of N are an orthonormal basis of the null space of the constraint Jacobian, U
contains the units of the coordinates. Therefore no selection of independent joints can become singular, and steps keep
loops closed to first order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.closed_configuration import closed_configuration
from ada_dynamics.constraints.closure import gauss_newton, initial_configuration
from ada_dynamics.constraints.coordinates import null_space
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError, WrongTypeError, invalid
from ada_dynamics.ik.tasks import Task
from ada_dynamics.model.elements import Bound
from ada_dynamics.model.model import Model

WITHIN = 1e-9  # tolerance of limits for rounding errors
_OPEN = 1e-9  # closure tolerance in characteristic lengths
_NEARLY = 1e-3  # violation, in characteristic lengths, below which plain Newton steps are tried first
_CLOSING_STEPS, _RANK = 12, 1e-9
JointBounds = bool | Mapping[str, tuple[float, float]]


class Evaluation(NamedTuple):
    """Residuals at a configuration or at a batch of configurations.

    Attributes:
        q: configuration(s), (..., nq).
        residuals: residual of each task, level by level [m, rad].
        weighted: weighted residuals of each level, in units of the characteristic length.
        limit_violation: largest violation of a joint limit [m, rad].
    """

    q: Array
    residuals: list[list[Array]]
    weighted: list[Array]
    limit_violation: Array

    @property
    def costs(self) -> list[Array]:
        """Squared limit violation, followed by the squared residual of each level."""
        return [self.limit_violation**2, *((x * x).sum(axis=-1) for x in self.weighted)]

    def subset(self, rows: NDArray[np.bool_]) -> Evaluation:
        """Select configurations."""
        residuals = [[x[rows] for x in level] for level in self.residuals]
        return Evaluation(self.q[rows], residuals, [x[rows] for x in self.weighted], self.limit_violation[rows])


@dataclass(frozen=True)
class IkProblem:
    """Tasks by level and joint limits: of single coordinates first, then of spherical joints."""

    dynamics: Dynamics
    levels: list[list[Task]]
    limited_v: NDArray[np.intp]  # indices in v
    limited_q: NDArray[np.intp]  # indices of the same coordinates in q
    lower: Array
    upper: Array
    angles: tuple[tuple[str, Bound], ...]  # name and limit of spherical joints

    @classmethod
    def of(cls, robot: Model | Dynamics, tasks: Sequence[Task], limits: JointBounds) -> IkProblem:
        """Check the arguments of a caller and create the problem."""
        dynamics = robot if isinstance(robot, Dynamics) else Dynamics(robot)
        for task in tasks:
            task.validate(dynamics)
            task.weights(dynamics)
        numbers = sorted({task.level for task in tasks})
        levels = [[task for task in tasks if task.level == number] for number in numbers]
        return cls(dynamics, levels, *_limits(dynamics.model, limits))

    @property
    def goal_count(self) -> int | None:
        """Number of stacked goals; None if no goal is stacked."""
        counts = {task.goal_count for task in self.tasks} - {None}
        if len(counts) > 1:
            text = f"tasks have {sorted(filter(None, counts))} goals; stacked goals must have the same number."
            raise InputError(text, field="tasks", value=tuple(sorted(filter(None, counts))))
        return counts.pop() if counts else None

    def subset(self, rows: NDArray[np.intp]) -> IkProblem:
        """Select goals."""
        return replace(self, levels=[[task.subset(rows) for task in level] for level in self.levels])

    def require_single_goal(self) -> IkProblem:
        """Return the problem itself, or raise an InputError if goals are stacked."""
        if self.goal_count is not None:
            text = f"{self.goal_count} goals are stacked; ada.ik.solve_many solves them together."
            raise InputError(text, field="tasks", value=self.goal_count)
        return self

    @property
    def tasks(self) -> list[Task]:
        """Tasks of all levels."""
        return [task for level in self.levels for task in level]

    @cached_property
    def _weights(self) -> list[list[Array]]:
        return [[task.weights(self.dynamics) for task in level] for level in self.levels]

    @cached_property
    def _free_basis(self) -> Array:
        """U N of a model without loops."""
        return np.diag(self.dynamics.constraints.coordinates.units)

    def velocity_basis(self, q: Array) -> Array:
        """Basis U N of the velocities that satisfy the loop constraints, (..., nv, mobility)."""
        if not self.dynamics.model.loops:
            return np.broadcast_to(self._free_basis, (*q.shape[:-1], *self._free_basis.shape))
        coordinates = self.dynamics.constraints.coordinates
        basis = null_space(self.dynamics.constraints.scaled_jacobian(q), coordinates.mobility).basis()
        return np.asarray(coordinates.units[:, None] * basis)

    def evaluate(self, q: Array) -> Evaluation:
        """Residuals of all tasks and the limit violation."""
        left = [[task.residual(self.dynamics, q) for task in level] for level in self.levels]
        weighted = [
            np.concatenate([w * x for w, x in zip(weights, level, strict=True)], axis=-1)
            for weights, level in zip(self._weights, left, strict=True)
        ]
        return Evaluation(q, left, weighted, self.limit_violation(q))

    def is_satisfied(self, found: Evaluation, tolerance: float) -> NDArray[np.bool_]:
        """Return True where every task of the first level is satisfied within the limits."""
        satisfied = found.limit_violation <= WITHIN
        for weights, left in zip(self._weights[0], found.residuals[0], strict=True):
            satisfied = satisfied & (np.abs(left[..., weights > 0.0]) <= tolerance).all(axis=-1)
        return np.asarray(satisfied)

    def jacobians(self, q: Array, along: Array) -> list[Array]:
        """Decrease of the weighted residuals of each level by the basis velocities, (..., rows, mobility)."""
        dynamics = self.dynamics
        return [
            np.concatenate([w[:, None] * t.jacobian(dynamics, q) for w, t in zip(weights, level, strict=True)], axis=-2)
            @ along
            for weights, level in zip(self._weights, self.levels, strict=True)
        ]

    def limit_jacobian(self, q: Array, along: Array) -> Array:
        """Derivatives of the limited quantities by the basis velocities, (..., limits, mobility)."""
        single = along[..., self.limited_v, :]
        return np.concatenate([single, self.angle_jacobian(q, along)], axis=-2) if self.angles else single

    def angle_jacobian(self, q: Array, along: Array) -> Array:
        """Derivatives of the limited total rotations of spherical joints by the basis velocities."""
        rates = np.zeros((*q.shape[:-1], len(self.angles), self.dynamics.model.nv))
        for i, (name, bound) in enumerate(self.angles):
            rates[..., i, self.dynamics.model.v_index(name)] = np.stack(
                bound.directions(self._positions(q, name)), axis=-1
            )
        return np.asarray(rates @ along)

    def _positions(self, q: Array, joint: str) -> list[Array]:
        """Coordinates of a joint, one array each."""
        return list(np.moveaxis(q[..., self.dynamics.model.q_index(joint)], -1, 0))

    def limit_distances(self, q: Array) -> tuple[Array, Array]:
        """Signed distances to the lower and upper limits; their signs change beyond a limit."""
        single = q[..., self.limited_q]
        down, up = self.lower - single, self.upper - single
        if not self.angles:
            return down, up
        at = np.stack([bound.value(self._positions(q, name)) for name, bound in self.angles], axis=-1)
        least, most = np.transpose([bound.ends for _, bound in self.angles])
        return np.concatenate([down, least - at], axis=-1), np.concatenate([up, most - at], axis=-1)

    def limit_violation(self, q: Array) -> Array:
        """Largest violation of a joint limit [m, rad]."""
        down, up = self.limit_distances(q)
        return np.asarray(np.maximum(np.max(down, axis=-1, initial=0.0), np.max(-up, axis=-1, initial=0.0)))

    def at_limit(self, q: Array) -> tuple[str, ...]:
        """Names of the joints at a limit."""
        down, up = self.limit_distances(q)
        single = (self.dynamics.constraints.coordinates.label(int(k)) for k in self.limited_v)
        labels = (*single, *(name for name, _ in self.angles))
        held = (down >= -WITHIN) | (up <= WITHIN)
        return tuple(dict.fromkeys(label for label, is_held in zip(labels, held, strict=True) if is_held))

    def initial_configuration(self, q: ArrayLike | None) -> Array:
        """Configuration with closed loops near a guess; raises ModelError if there is none."""
        model, guess = self.dynamics.model, initial_configuration(self.dynamics.model, q)
        if self.dynamics.constraints.closure_error(guess) < _NEARLY * self.dynamics.constraints.coordinates.length:
            (plain,), (closed,) = self.close_batch(guess[None])
            if closed:
                return np.asarray(plain)
        return np.asarray(closed_configuration(model, guess))

    def close_batch(self, q: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Close the loops of a batch by Newton steps; return configurations, and True where loops are closed."""
        dynamics, q = self.dynamics, np.array(q)
        if not dynamics.model.loops:
            return q, np.ones(len(q), dtype=np.bool_)
        most = _OPEN * dynamics.constraints.coordinates.length
        gaps = dynamics.constraints.violation(q)
        size = np.max(np.abs(gaps), axis=-1, initial=0.0)
        for _ in range(_CLOSING_STEPS):
            was_closed = size <= most
            back = np.linalg.pinv(dynamics.constraints.scaled_jacobian(q), rcond=_RANK) @ gaps[..., None]
            moved = dynamics.model.integrate(q, -dynamics.constraints.coordinates.units * back[..., 0])
            gaps_moved = dynamics.constraints.violation(moved)
            size_moved = np.max(np.abs(gaps_moved), axis=-1, initial=0.0)
            # Near a singular configuration a further step can increase a violation.
            taken = ~was_closed | (size_moved < size)
            q[taken], gaps[taken], size[taken] = moved[taken], gaps_moved[taken], size_moved[taken]
            if was_closed.all():
                break
        return q, size <= most

    def integrate_batch(self, q: Array, steps: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Integrate a step for each configuration and close the loops; without loops, limits are met exactly."""
        at = self.dynamics.model.integrate(q, steps)
        if not self.dynamics.model.loops:
            at[:, self.limited_q] = np.clip(at[:, self.limited_q], *self._reachable(q))
        return self.close_batch(at)

    def integrate(self, q: Array, step: Array) -> Array | None:
        """Integrate a step and close the loops; None if they do not close."""
        (at,), (closed,) = self.integrate_batch(q[None], step[None])
        analysis = self.dynamics.constraints.coordinates.analysis
        if closed or analysis is None:
            return np.asarray(at)
        found = gauss_newton(analysis.constraints, self.dynamics.model.integrate(q, step))
        return found.q if found.error < _OPEN else None

    def _reachable(self, q: Array) -> tuple[Array, Array]:
        """Joint limits, extended to the present configuration."""
        own = q[..., self.limited_q]
        return np.minimum(self.lower, own), np.maximum(self.upper, own)


def task_list(tasks: object) -> list[Task]:
    """Convert one or several tasks to a list."""
    given = [tasks] if isinstance(tasks, Task) else list(tasks) if isinstance(tasks, Iterable) else []
    if not given or not all(isinstance(task, Task) for task in given):
        raise WrongTypeError(
            f"tasks are {tasks!r:.100}; inverse kinematics needs at least one of PoseTask, PositionTask, "
            "OrientationTask, ComTask, PostureTask.",
            field="tasks",
            value=tasks,
        )
    return given


def _limit_pair(joint: str, pair: object) -> tuple[float, float]:
    """Check two limits of a joint."""
    try:
        least, most = (float(x) for x in pair)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        least, most = np.nan, np.nan
    if not least <= most:
        raise invalid("limits", pair, "two numbers in ascending order", f"joint {joint!r}: ", joint=joint)
    return least, most


def _limits(
    model: Model, limits: JointBounds
) -> tuple[NDArray[np.intp], NDArray[np.intp], Array, Array, tuple[tuple[str, Bound], ...]]:
    """Indices in v and q of limited coordinates, their limits, and the limits of spherical joints."""
    angles: list[tuple[str, Bound]] = []
    v_places: list[int] = []
    q_places: list[int] = []
    lower, upper = model.lower.copy(), model.upper.copy()
    if not isinstance(limits, (bool, Mapping)):
        raise WrongTypeError(
            f"limits are {limits!r:.100}; they must be True, False, or {{joint: (lower, upper)}}.", field="limits"
        )
    given = limits if isinstance(limits, Mapping) else {}
    for name, pair in given.items():
        lower[model.q_index(name)], upper[model.q_index(name)] = _limit_pair(name, pair)
    for name in () if limits is False else model.joint_names:
        q_own, v_own = model.q_index(name), model.v_index(name)
        if q_own.stop - q_own.start != v_own.stop - v_own.start:
            if name in given:
                text = f"joint {name!r} has dependent positions, which cannot be limited."
                raise InputError(text, joint=name, field="limits")
            angles += [(name, bound) for bound in model.joints[name].bounds]
            continue
        q_places += range(q_own.start, q_own.stop)
        v_places += range(v_own.start, v_own.stop)
    places = np.array(q_places, dtype=np.intp)
    bounded = np.isfinite(lower[places]) | np.isfinite(upper[places])
    kept = places[bounded]
    return np.array(v_places, dtype=np.intp)[bounded], kept, lower[kept], upper[kept], tuple(angles)
