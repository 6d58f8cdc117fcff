# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics by Levenberg-Marquardt on the configuration manifold, within limits and with closed loops.

Each step solves the levels by `solve_levels` with a damping proportional to μ and to the squared residual. A step is
accepted if no level gets worse; otherwise μ grows. After an accepted step, μ shrinks by the ratio of actual and
predicted decrease (Nielsen 1999).

Many goals take the same steps as batch operations: poses and Jacobians are computed by batch kernels, the damped
equations of all active goals are solved together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError, ModelError, invalid
from ada_dynamics.ik.least_squares import LeastSquares, LinearBounds, solve_level_batch, solve_levels
from ada_dynamics.ik.problem import WITHIN, Evaluation, IkProblem, JointBounds, task_list
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
    current, damping = problem.evaluate(q), INITIAL_DAMPING
    only = len(problem.levels) == 1
    for step in range(max_steps):
        if only and problem.is_satisfied(current, tolerance):
            return _Descent(current.q, step, True)
        q, cost = current.q, current.costs
        along = problem.velocity_basis(q)
        levels = list(zip(problem.jacobians(q, along), current.weighted, strict=True))
        limits = LinearBounds(problem.limit_jacobian(q, along), *problem.limit_distances(q))
        rise = 2.0
        while True:
            z = damped_step(levels, limits, damping)
            size = float(np.max(np.abs(z), initial=0.0))
            if size < MIN_STEP:
                return _Descent(q, step, True)
            candidate = problem.integrate(q, along @ z * min(1.0, MAX_STEP / size))
            trial = None if candidate is None else problem.evaluate(candidate)
            if trial is not None and is_better(trial.costs, cost):
                kept = min(max(float(sum(cost) - sum(trial.costs)) / _predicted_decrease(levels, z), 0.0), 1.0)
                damping = max(damping * max(1.0 - (2.0 * kept - 1.0) ** 3, 0.1), MIN_DAMPING)
                current = trial
                break
            damping *= rise
            rise *= 2.0
            if damping > MAX_DAMPING:
                return _Descent(q, step, True)
    return _Descent(current.q, max_steps, False)


def damped_step(levels: Sequence[tuple[Array, Array]], limits: LinearBounds, damping: float) -> Array:
    """Step within limits; if no step is feasible, one that increases no violation."""
    damped = [LeastSquares(A, b, damping * float(b @ b) + REGULARIZATION) for A, b in levels]
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
    """Results of inverse kinematics for N goals: the quantities of `IkResult`, one row or number for each goal."""

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
        raise invalid("tolerance", tolerance, "a number above zero")
    for name, count in (("max_steps", max_steps), ("starts", starts)):
        if not (isinstance(count, Integral) and int(count) >= 1):
            raise invalid(name, count, "a whole number of at least 1")


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


# --- velocities for one control period -----------------------------------------------------------------------------
class VelocityStep(NamedTuple):
    """Joint velocities of one period.

    Attributes:
        v: velocities of all joints, consistent with the loop constraints, (nv,).
        missing: requested minus achieved rate of each task, row by row [m/s, rad/s].
        at_limit: joints constrained by a position or velocity limit.
        within_limits: False if no velocity keeps every joint within its limits; v then increases no violation.
    """

    v: Array
    missing: tuple[Array, ...]
    at_limit: tuple[str, ...]
    within_limits: bool


def velocity(
    robot: Model | Dynamics,
    tasks: Task | Iterable[Task],
    q: ArrayLike,
    dt: float,
    *,
    gain: float = 1.0,
    limits: JointBounds = True,
    velocity_limits: bool = True,
    damping: float = 1e-6,
) -> VelocityStep:
    """Compute joint velocities that reduce the residuals of tasks in one period.

    Args:
        robot: a model, or its `Dynamics`, which keeps compiled kernels for the next period.
        tasks: one or several tasks.
        q: configuration with closed loops, (nq,).
        dt: period [s].
        gain: fraction of the residual to remove in one period, in (0, 1].
        limits: position limits as in `solve_ik`; v dt respects them.
        velocity_limits: True to respect the velocity limits of the model.
        damping: weight of v dt relative to the residual in units of the characteristic length; it bounds v near
            singular configurations.

    Raises:
        InputError: an argument is invalid.
    """
    for name, value, most in (("dt", dt, np.inf), ("gain", gain, 1.0), ("damping", damping, np.inf)):
        if not 0.0 < value <= most:
            raise invalid(name, value, "above zero" if most == np.inf else "in (0, 1]")
    order = task_list(tasks)
    problem = IkProblem.of(robot, order, limits).require_single_goal()
    dynamics, at = problem.dynamics, problem.dynamics.model.as_positions(q)
    along = problem.velocity_basis(at)
    lower, upper = _step_bounds(problem, at, dt, velocity_limits)
    moving = LinearBounds(np.concatenate([along, problem.angle_jacobian(at, along)]), lower, upper)
    left = [gain * x for x in problem.evaluate(at).weighted]
    levels = [LeastSquares(A, b, damping) for A, b in zip(problem.jacobians(at, along), left, strict=True)]
    z = solve_levels(levels, moving)
    is_feasible = z is not None
    if z is None:
        z = solve_levels(levels, moving._replace(lower=np.minimum(lower, 0.0), upper=np.maximum(upper, 0.0)))
    step = along @ (np.zeros(along.shape[1]) if z is None else z)
    missing = tuple((gain * task.residual(dynamics, at) - task.jacobian(dynamics, at) @ step) / dt for task in order)
    moved = np.concatenate([step, problem.angle_jacobian(at, step[:, None])[:, 0]])
    held = np.flatnonzero((moved <= lower + 1e-9 * dt) | (moved >= upper - 1e-9 * dt))
    labels = [
        *map(dynamics.constraints.coordinates.label, range(dynamics.model.nv)),
        *(name for name, _ in problem.angles),
    ]
    return VelocityStep(step / dt, missing, tuple(dict.fromkeys(labels[k] for k in held)), is_feasible)


def _step_bounds(problem: IkProblem, q: Array, dt: float, by_velocity: bool) -> tuple[Array, Array]:
    """Bounds of the step of each coordinate from velocity and position limits, followed by those of limited angles."""
    model = problem.dynamics.model
    fastest = model.velocity_limit * dt if by_velocity else np.full(model.nv, np.inf)
    lower, upper = -fastest, fastest.copy()
    down, up = problem.limit_distances(q)
    own, single = problem.limited_v, len(problem.limited_v)
    lower[own] = np.clip(down[:single], -fastest[own], fastest[own])
    upper[own] = np.clip(up[:single], -fastest[own], fastest[own])
    return np.concatenate([lower, down[single:]]), np.concatenate([upper, up[single:]])


# --- many goals ----------------------------------------------------------------------------------------------------
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
        raise InputError("no goal is stacked along a first axis; use ada.solve_ik for a single goal.", field="tasks")
    if len(problem.levels) > 1:
        raise InputError(
            "tasks have several levels; solve_many supports one: use weights.", field="level", allowed="one level"
        )
    model, rng = problem.dynamics.model, np.random.default_rng(seed)
    best, steps = _descend_batch(problem, _starts(problem, q), tolerance, max_steps)
    start = np.zeros(problem.goal_count, dtype=np.intp)
    for number in range(1, starts):
        rows = np.flatnonzero(~ik_results(problem, order, best, tolerance, steps, start).reached)
        if not len(rows):
            break
        part = problem.subset(rows)
        guesses, closed = part.close_batch(np.array([model.random_state(rng)[0] for _ in rows]))
        rows, guesses = rows[closed], guesses[closed]
        part = problem.subset(rows)
        found, taken = _descend_batch(part, guesses, tolerance, max_steps)
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
        raise invalid("q", given.shape, f"{(count, model.nq)}, all finite", "shape of ")
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

    def update(self, problem: IkProblem, rows: NDArray[np.intp], current: Evaluation) -> None:
        """Update the goals whose configuration has changed."""
        if len(rows):
            self.along[rows] = problem.velocity_basis(current.q)
            (self.A[rows],) = problem.jacobians(current.q, self.along[rows])
            (self.b[rows],) = current.weighted

    def steps(self, problem: IkProblem, rows: NDArray[np.intp], q: Array, damping: Array) -> Array:
        """Damped steps within limits."""
        A, b = self.A[rows], self.b[rows]
        moving = problem.limit_jacobian(q, self.along[rows])
        lower, upper = problem.limit_distances(q)
        damped = damping * (b * b).sum(axis=-1) + REGULARIZATION
        z, found = solve_level_batch(LeastSquares(A, b, damped), LinearBounds(moving, lower, upper))
        for k in np.flatnonzero(~found):
            z[k] = damped_step([(A[k], b[k])], LinearBounds(moving[k], lower[k], upper[k]), float(damping[k]))
        return z


def _descend_batch(problem: IkProblem, q: Array, tolerance: float, max_steps: int) -> tuple[Array, NDArray[np.intp]]:
    """Final configurations and numbers of steps."""
    count = len(q)
    damping, rise, taken = np.full(count, INITIAL_DAMPING), np.full(count, 2.0), np.zeros(count, dtype=np.intp)
    equations, cost = _NormalEquations(problem, count), np.zeros((2, count))
    active, part = np.arange(count), problem
    moved, current = active, problem.evaluate(q)
    for _ in range(_TRIALS * max_steps):
        if len(moved):
            cost[:, moved] = current.costs
            continues = ~part.is_satisfied(current, tolerance) & (taken[moved] < max_steps)
            active = np.setdiff1d(active, moved[~continues], assume_unique=True)
            equations.update(problem.subset(moved[continues]), moved[continues], current.subset(continues))
        if not len(active):
            break
        z = equations.steps(problem, active, q[active], damping[active])
        size = np.max(np.abs(z), axis=-1, initial=0.0)
        continues = size >= MIN_STEP
        active, z, size = active[continues], z[continues], size[continues]
        part = problem.subset(active)
        direction = (equations.along[active] @ (z * np.minimum(1.0, MAX_STEP / size)[:, None])[..., None])[..., 0]
        candidates, closes = part.integrate_batch(q[active], direction)
        trial = part.evaluate(candidates)
        new, old = np.array(trial.costs), cost[:, active]
        better = closes & is_better(list(new), list(old))
        A, b = equations.A[active], equations.b[active]
        predicted = (b * b).sum(axis=-1) - ((b - (A @ z[..., None])[..., 0]) ** 2).sum(axis=-1)
        kept = np.clip((old - new).sum(axis=0) / np.maximum(np.abs(predicted), 1e-300), 0.0, 1.0)
        less = np.maximum(damping[active] * np.maximum(1.0 - (2.0 * kept - 1.0) ** 3, 0.1), MIN_DAMPING)
        damping[active] = np.where(better, less, damping[active] * rise[active])
        rise[active] = np.where(better, 2.0, 2.0 * rise[active])
        moved, current, part = active[better], trial.subset(better), problem.subset(active[better])
        q[moved] = current.q
        taken[moved] += 1
        active = active[better | (damping[active] <= MAX_DAMPING)]
    return q, taken
