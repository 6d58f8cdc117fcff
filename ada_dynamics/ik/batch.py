# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics of many goals at once, with the steps of `solve_ik` as batch operations.

Poses and Jacobians are computed by batch kernels; the damped equations of all active goals are solved together.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError, ModelError
from ada_dynamics.ik.least_squares import Level, LinearBounds, solve_level_batch
from ada_dynamics.ik.problem import Evaluation, IkProblem, JointBounds, task_list
from ada_dynamics.ik.solver import (
    INITIAL_DAMPING,
    MAX_DAMPING,
    MAX_STEP,
    MIN_DAMPING,
    MIN_STEP,
    REGULARIZATION,
    IkResults,
    check_settings,
    damped_step,
    ik_results,
    is_better,
)
from ada_dynamics.ik.tasks import Task
from ada_dynamics.model.model import Model

_TRIALS = 4  # largest ratio of attempted to accepted steps


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
    """Find configurations that satisfy tasks whose goals are stacked along a first axis.

    Args:
        robot: a model, or its `Dynamics`.
        tasks: one or several tasks of one level; a goal that is not stacked applies to all.
        q: initial configuration (nq,), or one for each goal (N, nq); neutral by default.
        limits: joint limits as in `solve_ik`.
        tolerance: largest residual of a satisfied task [m, rad].
        max_steps: largest number of steps from each start.
        starts: number of starts; the first is `q`, the others are random configurations for the goals not yet reached.
        seed: seed of the random configurations.

    Returns:
        Configurations and residuals, one row for each goal.

    Raises:
        InputError: an argument is invalid.
        ModelError: the loops cannot be closed near an initial configuration.
    """
    order = task_list(tasks)
    problem = IkProblem.of(robot, order, limits)
    check_settings(tolerance, max_steps, starts)
    if problem.goal_count is None:
        raise InputError(
            "no goal is stacked along a first axis; use ada.solve_ik for a single goal.", field="tasks", value=None
        )
    if len(problem.levels) > 1:
        text = "tasks have several levels; solve_many supports one: use weights, or ada.solve_ik."
        raise InputError(text, field="level", allowed="one level")
    model, rng = problem.dynamics.model, np.random.default_rng(seed)
    best, steps = _descend(problem, _starts(problem, q), tolerance, max_steps)
    start = np.zeros(problem.goal_count, dtype=np.intp)
    for number in range(1, starts):
        rows = np.flatnonzero(~ik_results(problem, order, best, tolerance, steps, start).reached)
        if not len(rows):
            break
        part = problem.subset(rows)
        guesses, closed = part.close_batch(np.array([model.random_state(rng)[0] for _ in rows]))
        rows, guesses = rows[closed], guesses[closed]
        part = problem.subset(rows)
        found, taken = _descend(part, guesses, tolerance, max_steps)
        gains = is_better(part.evaluate(found).costs, part.evaluate(best[rows]).costs)
        improved = rows[gains]
        best[improved], steps[improved], start[improved] = found[gains], taken[gains], number
    return ik_results(problem, order, best, tolerance, steps, start)


def _starts(problem: IkProblem, q: ArrayLike | None) -> Array:
    """Initial configuration for each goal, with closed loops."""
    model, count = problem.dynamics.model, problem.goal_count
    assert count is not None
    if q is None or np.ndim(q) < 2:
        return np.tile(problem.initial_configuration(q), (count, 1))
    given = np.asarray(q, dtype=np.float64)
    if given.shape != (count, model.nq) or not np.isfinite(given).all():
        text = f"q has shape {given.shape}; {count} goals need finite numbers of shape {(count, model.nq)}."
        raise InputError(text, field="q", value=given.shape, allowed=(count, model.nq))
    initial, closed = problem.close_batch(given)
    if not closed.all():
        number = int(np.argmin(closed))
        raise ModelError(f"the loops do not close near the start of goal {number}.", field="q", value=number)
    return initial


class _NormalEquations:
    """Equations A z = b of each goal at its present configuration, and the basis of its joint velocities."""

    def __init__(self, problem: IkProblem, count: int) -> None:
        nv, rows = problem.dynamics.model.nv, sum(len(t.units(problem.dynamics)) for t in problem.tasks)
        self.along = np.zeros((count, nv, problem.dynamics.constraints.coordinates.mobility))
        self.A = np.zeros((count, rows, self.along.shape[-1]))
        self.b = np.zeros((count, rows))

    def update(self, problem: IkProblem, rows: NDArray[np.intp], here: Evaluation) -> None:
        """Update the goals whose configuration has changed."""
        if len(rows):
            self.along[rows] = problem.velocity_basis(here.q)
            (self.A[rows],) = problem.jacobians(here.q, self.along[rows])
            (self.b[rows],) = here.weighted

    def steps(self, problem: IkProblem, rows: NDArray[np.intp], q: Array, damping: Array) -> Array:
        """Damped steps within limits."""
        A, b = self.A[rows], self.b[rows]
        moving = problem.limit_jacobian(q, self.along[rows])
        lower, upper = problem.limit_distances(q)
        damped = damping * (b * b).sum(axis=-1) + REGULARIZATION
        z, found = solve_level_batch(Level(A, b, damped), LinearBounds(moving, lower, upper))
        for k in np.flatnonzero(~found):
            z[k] = damped_step([(A[k], b[k])], LinearBounds(moving[k], lower[k], upper[k]), float(damping[k]))
        return z


def _descend(problem: IkProblem, q: Array, tolerance: float, max_steps: int) -> tuple[Array, NDArray[np.intp]]:
    """Final configurations and numbers of steps."""
    count = len(q)
    damping, rise, taken = np.full(count, INITIAL_DAMPING), np.full(count, 2.0), np.zeros(count, dtype=np.intp)
    equations, cost = _NormalEquations(problem, count), np.zeros((2, count))
    active, part = np.arange(count), problem
    moved, here = active, problem.evaluate(q)
    for _ in range(_TRIALS * max_steps):
        if len(moved):
            cost[:, moved] = here.costs
            continues = ~part.is_satisfied(here, tolerance) & (taken[moved] < max_steps)
            active = np.setdiff1d(active, moved[~continues], assume_unique=True)
            equations.update(problem.subset(moved[continues]), moved[continues], here.subset(continues))
        if not len(active):
            break
        z = equations.steps(problem, active, q[active], damping[active])
        size = np.max(np.abs(z), axis=-1, initial=0.0)
        continues = size >= MIN_STEP
        active, z, size = active[continues], z[continues], size[continues]
        part = problem.subset(active)
        direction = (equations.along[active] @ (z * np.minimum(1.0, MAX_STEP / size)[:, None])[..., None])[..., 0]
        candidates, closes = part.integrate_batch(q[active], direction)
        there = part.evaluate(candidates)
        new, old = np.array(there.costs), cost[:, active]
        better = closes & is_better(list(new), list(old))
        A, b = equations.A[active], equations.b[active]
        predicted = (b * b).sum(axis=-1) - ((b - (A @ z[..., None])[..., 0]) ** 2).sum(axis=-1)
        kept = np.clip((old - new).sum(axis=0) / np.maximum(np.abs(predicted), 1e-300), 0.0, 1.0)
        less = np.maximum(damping[active] * np.maximum(1.0 - (2.0 * kept - 1.0) ** 3, 0.1), MIN_DAMPING)
        damping[active] = np.where(better, less, damping[active] * rise[active])
        rise[active] = np.where(better, 2.0, 2.0 * rise[active])
        moved, here, part = active[better], there.subset(better), problem.subset(active[better])
        q[moved] = here.q
        taken[moved] += 1
        active = active[better | (damping[active] <= MAX_DAMPING)]
    return q, taken
