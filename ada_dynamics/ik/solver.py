# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics by Levenberg-Marquardt on the configuration manifold, within limits and with closed loops.

Each step solves the levels by `solve_levels` with a damping proportional to μ and to the squared residual. A step is
accepted if no level gets worse; otherwise μ grows. After an accepted step, μ shrinks by the ratio of actual and
predicted decrease (Nielsen 1999).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError, ModelError
from ada_dynamics.ik.least_squares import Level, LinearBounds, solve_levels
from ada_dynamics.ik.problem import WITHIN, IkProblem, JointBounds, task_list
from ada_dynamics.ik.tasks import METRES, RADIANS, Task
from ada_dynamics.model.model import Model

REACHED, NEAREST, STEP_LIMIT = "reached", "nearest configuration", "step limit"
REGULARIZATION, INITIAL_DAMPING, MIN_DAMPING, MAX_DAMPING = 1e-9, 1e-2, 1e-6, 1e9
MAX_STEP = 0.5  # [rad], or in characteristic lengths
MIN_STEP = 1e-8  # shorter steps end the descent
_SLACK = 1e-7  # squared residual by which a step for a lower level may worsen a higher one


class IkResult(NamedTuple):
    """Result of inverse kinematics for one goal.

    Attributes:
        q: configuration with closed loops, also if the goals are out of reach, (nq,).
        reached: True if every task of the first level is satisfied within the joint limits.
        satisfied: True for each task whose residual is within the tolerance.
        reason: "reached"; "nearest configuration" if no step reduces the residual; or "step limit".
        distance: norm of the translational residual of each task [m], in the order of the tasks.
        angle: norm of the rotational residual of each task [rad].
        residual: residual of each task, row by row [m, rad].
        at_limit: joints at a limit.
        limit_violation: largest violation of a joint limit [m, rad].
        constraint_violation: largest violation of a loop constraint [m, rad].
        steps: number of steps.
        start: index of the start that led to q; 0 is the given one.
    """

    q: Array
    reached: bool
    satisfied: tuple[bool, ...]
    reason: str
    distance: Array
    angle: Array
    residual: tuple[Array, ...]
    at_limit: tuple[str, ...]
    limit_violation: float
    constraint_violation: float
    steps: int
    start: int


def solve_ik(
    robot: Model | Dynamics,
    tasks: Task | Iterable[Task],
    q: ArrayLike | None = None,
    *,
    limits: JointBounds = True,
    tolerance: float = 1e-8,
    max_steps: int = 100,
    starts: int = 1,
    seed: int = 0,
) -> IkResult:
    """Find a configuration that satisfies tasks, or the nearest one if they are out of reach.

    Args:
        robot: a model, or its `Dynamics`, which keeps compiled kernels for the next goal.
        tasks: one or several tasks.
        q: initial configuration (nq,), such as the last solution of a moving goal; neutral by default.
        limits: True for the joint limits of the model, False for none, or {joint: (lower, upper)} to replace some.
        tolerance: largest residual of a satisfied task [m, rad].
        max_steps: largest number of steps from each start.
        starts: number of starts until the tasks are satisfied; the first is `q`, the others are random configurations.
        seed: seed of the random configurations.

    Returns:
        The best configuration with its residuals; `reached` is False if the tasks are not satisfied.

    Raises:
        InputError: an argument is invalid.
        ModelError: the loops cannot be closed near the initial configuration.
    """
    order = task_list(tasks)
    problem = IkProblem.of(robot, order, limits).require_single_goal()
    check_settings(tolerance, max_steps, starts)
    model = problem.dynamics.model
    rng = np.random.default_rng(seed)
    end = _descend(problem, problem.initial_configuration(q), tolerance, max_steps)
    best = _result(problem, order, end, tolerance, 0)
    for start in range(1, starts):
        if best.reached:
            break
        try:
            guess = problem.initial_configuration(model.random_state(rng)[0])
        except ModelError:  # the loops may not close near a random configuration
            continue
        found = _result(problem, order, _descend(problem, guess, tolerance, max_steps), tolerance, start)
        if found.reached or is_better(problem.evaluate(found.q).costs, problem.evaluate(best.q).costs):
            best = found
    return best


class _Descent(NamedTuple):
    q: Array
    steps: int
    converged: bool


def _descend(problem: IkProblem, q: Array, tolerance: float, max_steps: int) -> _Descent:
    here, damping = problem.evaluate(q), INITIAL_DAMPING
    only = len(problem.levels) == 1
    for step in range(max_steps):
        if only and problem.is_satisfied(here, tolerance):
            return _Descent(here.q, step, True)
        q, cost = here.q, here.costs
        along = problem.velocity_basis(q)
        levels = list(zip(problem.jacobians(q, along), here.weighted, strict=True))
        limits = LinearBounds(problem.limit_jacobian(q, along), *problem.limit_distances(q))
        rise = 2.0
        while True:
            z = damped_step(levels, limits, damping)
            size = float(np.max(np.abs(z), initial=0.0))
            if size < MIN_STEP:
                return _Descent(q, step, True)
            candidate = problem.integrate(q, along @ z * min(1.0, MAX_STEP / size))
            there = None if candidate is None else problem.evaluate(candidate)
            if there is not None and is_better(there.costs, cost):
                kept = min(max(float(sum(cost) - sum(there.costs)) / _predicted_decrease(levels, z), 0.0), 1.0)
                damping = max(damping * max(1.0 - (2.0 * kept - 1.0) ** 3, 0.1), MIN_DAMPING)
                here = there
                break
            damping *= rise
            rise *= 2.0
            if damping > MAX_DAMPING:
                return _Descent(q, step, True)
    return _Descent(here.q, max_steps, False)


def damped_step(levels: Sequence[tuple[Array, Array]], limits: LinearBounds, damping: float) -> Array:
    """Step within limits; if no step is feasible, one that increases no violation."""
    damped = [Level(A, b, damping * float(b @ b) + REGULARIZATION) for A, b in levels]
    found = solve_levels(damped, limits)
    if found is None:
        widened = LinearBounds(limits.C, np.minimum(limits.lower, 0.0), np.maximum(limits.upper, 0.0))
        found = solve_levels(damped, widened)
    return np.zeros(limits.C.shape[1]) if found is None else found


def _predicted_decrease(levels: Sequence[tuple[Array, Array]], z: Array) -> float:
    """Decrease of the squared residuals predicted by the linearization, at least 1e-300."""
    gains = [float(b @ b) - float(np.sum((b - A @ z) ** 2)) for A, b in levels]
    return max(abs(sum(gains)), 1e-300)


def is_better(new: Sequence[Array], old: Sequence[Array]) -> NDArray[np.bool_]:
    """Return True if the first level that changes noticeably improves and no level before it gets worse."""
    *before, (last, was) = zip(new, old, strict=True)
    better = np.asarray(last < was)
    for cost, earlier in reversed(before):
        gains = (cost < earlier * 0.999 - _SLACK) | ((cost < 0.5 * earlier) & (earlier > WITHIN**2))
        better = (better | gains) & ~(cost > earlier * 1.001 + _SLACK)
    return better


class IkResults(NamedTuple):
    """Results of inverse kinematics for many goals, one row or number for each goal.

    Attributes:
        q: configurations with closed loops, (N, nq).
        reached: True if every task is satisfied within the joint limits, (N,).
        satisfied: True for each task whose residual is within the tolerance, (N, tasks).
        distance: norm of the translational residual of each task [m], (N, tasks).
        angle: norm of the rotational residual of each task [rad], (N, tasks).
        residual: residual of each task, (N, rows) each [m, rad].
        limit_violation: largest violation of a joint limit [m, rad], (N,).
        constraint_violation: largest violation of a loop constraint [m, rad], (N,).
        steps: number of steps, (N,).
        start: index of the start that led to q; 0 is the given one, (N,).
    """

    q: Array
    reached: NDArray[np.bool_]
    satisfied: NDArray[np.bool_]
    distance: Array
    angle: Array
    residual: tuple[Array, ...]
    limit_violation: Array
    constraint_violation: Array
    steps: NDArray[np.intp]
    start: NDArray[np.intp]


def ik_results(
    problem: IkProblem,
    tasks: Sequence[Task],
    q: Array,
    tolerance: float,
    steps: NDArray[np.intp],
    start: NDArray[np.intp],
) -> IkResults:
    """Evaluate tasks, in the given order, at configurations (..., nq)."""
    dynamics, violation = problem.dynamics, problem.limit_violation(q)
    residual = tuple(task.residual(dynamics, q) for task in tasks)
    counted = [np.where(task.weights(dynamics) > 0.0, x, 0.0) for task, x in zip(tasks, residual, strict=True)]
    units = [np.array(task.units(dynamics)) for task in tasks]
    distance, angle = (
        np.stack(
            [np.linalg.norm(x[..., unit == kind], axis=-1) for x, unit in zip(counted, units, strict=True)], axis=-1
        )
        for kind in (METRES, RADIANS)
    )
    largest = np.stack([np.max(np.abs(x), axis=-1, initial=0.0) for x in counted], axis=-1)
    satisfied = (largest <= tolerance) & (violation <= WITHIN)[..., None]
    reached = np.asarray(satisfied[..., [task in problem.levels[0] for task in tasks]].all(axis=-1))
    closure = np.asarray(dynamics.constraints.closure_error(q))
    return IkResults(q, reached, satisfied, distance, angle, residual, violation, closure, steps, start)


def check_settings(tolerance: object, max_steps: object, starts: object) -> None:
    """Raise an InputError if a setting is not a positive number of its type."""
    if not (isinstance(tolerance, Real) and float(tolerance) > 0.0):
        message = f"tolerance is {tolerance!r}; it must be a number above zero."
        raise InputError(message, field="tolerance", value=tolerance, allowed="a number above zero")
    for name, count in (("max_steps", max_steps), ("starts", starts)):
        if not (isinstance(count, Integral) and int(count) >= 1):
            message = f"{name} is {count!r}; it must be a whole number of at least 1."
            raise InputError(message, field=name, value=count, allowed="a whole number of at least 1")


def _result(problem: IkProblem, tasks: Sequence[Task], end: _Descent, tolerance: float, start: int) -> IkResult:
    found = ik_results(problem, tasks, end.q, tolerance, np.asarray(end.steps), np.asarray(start))
    reached = bool(found.reached)
    return IkResult(
        end.q,
        reached,
        tuple(found.satisfied.tolist()),
        REACHED if reached else NEAREST if end.converged else STEP_LIMIT,
        found.distance,
        found.angle,
        found.residual,
        problem.at_limit(end.q),
        float(found.limit_violation),
        float(found.constraint_violation),
        end.steps,
        start,
    )
