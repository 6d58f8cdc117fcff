# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics of thousands of goals at once: `solve_ik`'s steps, each as operations on all goals that still go.

Poses and Jacobians come from batch kernels; damped equations and limits are solved together.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError, ModelError
from ada_dynamics.ik.bounded import Level, Limits, nearest_of_many
from ada_dynamics.ik.problem import Here, JointBounds, Problem, listed
from ada_dynamics.ik.solve import (
    FIRST,
    LARGEST,
    LEAST_DAMPING,
    LONGEST,
    SMALLEST,
    STANDS,
    Left,
    is_better,
    left_of,
    refuse_settings,
    step_of,
)
from ada_dynamics.ik.tasks import Task
from ada_dynamics.model.model import Model

_TRIALS = 4  # steps that are tried for each one that may be taken


class IkResults(NamedTuple):
    """Poses, and how far from their goals they are; one row, or one number, for each goal.

    Attributes:
        q: positions, with all loops closed.
        reached: True if every task is served to the tolerance, within the limits.
        served: likewise of each task, (N, tasks).
        distance: what is left of each task's way [m], (N, tasks); 0 for tasks without one.
        angle: likewise of its turn [rad].
        left: what is left of each task, row by row [m, rad].
        excess: by how much the worst joint is beyond its limit [m, rad].
        gap: largest gap of the loops [m, rad].
        steps: taken from the start that led here.
        start: number of that start: 0 is the guess.
    """

    q: Array
    reached: NDArray[np.bool_]
    served: NDArray[np.bool_]
    distance: Array
    angle: Array
    left: tuple[Array, ...]
    excess: Array
    gap: Array
    steps: NDArray[np.intp]
    start: NDArray[np.intp]


def solve_many(
    robot: Model | Dynamics,
    tasks: Task | Iterable[Task],
    q: ArrayLike | None = None,
    *,
    limits: JointBounds = True,
    tolerance: float = 1e-8,
    max_steps: int = 100,
    starts: int = 1,
    seed: int = 0,
) -> IkResults:
    """Poses that serve tasks whose goals are stacked along a first axis.

    Args:
        robot: a model, or its `Dynamics`.
        tasks: one or several, of one level; goals that are not stacked are the same for all.
        q: where to start: one pose, or one for each goal. The neutral pose by default.
        limits: as for `solve_ik`.
        tolerance: what may be left of a task [m, rad].
        max_steps: from each start.
        starts: how many to try: the first is `q`, the others are random poses, for goals that are not reached yet.
        seed: of the random poses.

    Raises:
        InputError: an argument is unusable.
        ModelError: the loops do not close near the start.
    """
    order = listed(tasks)
    problem = Problem.of(robot, order, limits)
    refuse_settings(tolerance, max_steps, starts)
    if problem.count is None:
        raise InputError(
            "no goal is stacked along a first axis; ada.solve_ik takes tasks of one goal.", field="tasks", value=None
        )
    if len(problem.levels) > 1:
        raise InputError(
            "tasks have several levels; many goals at once take one: give weights, or use ada.solve_ik.",
            field="level",
            allowed="one level",
        )
    model, rng = problem.dynamics.model, np.random.default_rng(seed)
    best, steps = _descend(problem, _starts(problem, q), tolerance, max_steps)
    start = np.zeros(problem.count, dtype=np.intp)
    for number in range(1, starts):
        rows = np.flatnonzero(~left_of(problem, order, best, tolerance).reached)
        if not len(rows):
            break
        part = problem.some(rows)
        guesses, good = part.all_closed(np.array([model.random_state(rng)[0] for _ in rows]))
        rows, guesses = rows[good], guesses[good]
        part = problem.some(rows)
        found, taken = _descend(part, guesses, tolerance, max_steps)
        gains = is_better(part.at(found).costs, part.at(best[rows]).costs)
        taken_over = rows[gains]
        best[taken_over], steps[taken_over], start[taken_over] = found[gains], taken[gains], number
    return _results(best, left_of(problem, order, best, tolerance), steps, start)


def _results(q: Array, left: Left, steps: NDArray[np.intp], start: NDArray[np.intp]) -> IkResults:
    own = (left.left, left.excess, left.gap)
    return IkResults(q, left.reached, left.served, left.distance, left.angle, *own, steps, start)


def _starts(problem: Problem, q: ArrayLike | None) -> Array:
    """One pose for each goal, with the loops closed."""
    model, count = problem.dynamics.model, problem.count
    assert count is not None
    if q is None or np.ndim(q) < 2:
        return np.tile(problem.start(q), (count, 1))
    given = np.asarray(q, dtype=np.float64)
    if given.shape != (count, model.nq) or not np.isfinite(given).all():
        raise InputError(
            f"q has shape {given.shape}; {count} goals need finite numbers of shape {(count, model.nq)}.",
            field="q",
            value=given.shape,
            allowed=(count, model.nq),
        )
    closed, good = problem.all_closed(given)
    if not good.all():
        raise ModelError(f"the loops do not close near the start of goal {int(np.argmin(good))}.")
    return closed


class _Equations:
    """A z = b of each goal in its present pose, and how its joints follow z."""

    def __init__(self, problem: Problem, count: int) -> None:
        nv, rows = problem.dynamics.model.nv, sum(len(t.row_units(problem.dynamics)) for t in problem.tasks)
        self.along = np.zeros((count, nv, problem.dynamics.choices.mobility))
        self.A = np.zeros((count, rows, self.along.shape[-1]))
        self.b = np.zeros((count, rows))

    def renew(self, problem: Problem, rows: NDArray[np.intp], here: Here) -> None:
        """For goals that have moved."""
        if len(rows):
            self.along[rows] = problem.motions(here.q)
            (self.A[rows],) = problem.jacobians(here.q, self.along[rows])
            (self.b[rows],) = here.weighted

    def steps(self, problem: Problem, rows: NDArray[np.intp], q: Array, damping: Array) -> Array:
        """Damped steps within limits."""
        A, b = self.A[rows], self.b[rows]
        moving = problem.limited_motions(q, self.along[rows])
        lower, upper = problem.room(q)
        damped = damping * (b * b).sum(axis=-1) + LEAST_DAMPING
        z, found = nearest_of_many(Level(A, b, damped), Limits(moving, lower, upper))
        for k in np.flatnonzero(~found):
            z[k] = step_of([(A[k], b[k])], Limits(moving[k], lower[k], upper[k]), float(damping[k]))
        return z


def _descend(problem: Problem, q: Array, tolerance: float, max_steps: int) -> tuple[Array, NDArray[np.intp]]:
    """Poses, and how many steps led there."""
    count = len(q)
    damping, rise, taken = np.full(count, FIRST), np.full(count, 2.0), np.zeros(count, dtype=np.intp)
    equations, cost = _Equations(problem, count), np.zeros((2, count))
    going, part = np.arange(count), problem
    moved, here = going, problem.at(q)
    for _ in range(_TRIALS * max_steps):
        if len(moved):
            cost[:, moved] = here.costs
            goes = ~part.is_served(here, tolerance) & (taken[moved] < max_steps)
            going = np.setdiff1d(going, moved[~goes], assume_unique=True)
            equations.renew(problem.some(moved[goes]), moved[goes], here.some(goes))
        if not len(going):
            break
        z = equations.steps(problem, going, q[going], damping[going])
        size = np.max(np.abs(z), axis=-1, initial=0.0)
        goes = size >= STANDS
        going, z, size = going[goes], z[goes], size[goes]
        part = problem.some(going)
        way = (equations.along[going] @ (z * np.minimum(1.0, LONGEST / size)[:, None])[..., None])[..., 0]
        candidates, closes = part.all_moved(q[going], way)
        there = part.at(candidates)
        new, old = np.array(there.costs), cost[:, going]
        better = closes & is_better(list(new), list(old))
        A, b = equations.A[going], equations.b[going]
        foreseen = (b * b).sum(axis=-1) - ((b - (A @ z[..., None])[..., 0]) ** 2).sum(axis=-1)
        kept = np.clip((old - new).sum(axis=0) / np.maximum(np.abs(foreseen), 1e-300), 0.0, 1.0)
        less = np.maximum(damping[going] * np.maximum(1.0 - (2.0 * kept - 1.0) ** 3, 0.1), SMALLEST)
        damping[going] = np.where(better, less, damping[going] * rise[going])
        rise[going] = np.where(better, 2.0, 2.0 * rise[going])
        moved, here, part = going[better], there.some(better), problem.some(going[better])
        q[moved] = here.q
        taken[moved] += 1
        going = going[better | (damping[going] <= LARGEST)]
    return q, taken
