# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics: the pose that serves its tasks best, within limits, with all loops closed.

Levenberg-Marquardt on the configuration manifold. In each pose a step of `by_priority`, damped by μ times what is left;
a step is taken if no level suffers, and μ grows until one is; it shrinks as far as the step kept what it promised
(Nielsen 1999).
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
from ada_dynamics.ik.bounded import Level, Limits, by_priority
from ada_dynamics.ik.problem import WITHIN, JointBounds, Problem, listed
from ada_dynamics.ik.tasks import METRES, RADIANS, Task
from ada_dynamics.model.model import Model

REACHED, NEAREST, STEPS_SPENT = "reached", "nearest pose", "steps spent"
LEAST_DAMPING, FIRST, SMALLEST, LARGEST = 1e-9, 1e-2, 1e-6, 1e9
LONGEST = 0.5  # of one step, [rad] or in lengths
STANDS = 1e-8  # a step that is none
_SLACK = 1e-7  # squared: by so much a level may suffer from a step that serves a lower one, which the next one mends


class IkResult(NamedTuple):
    """A pose, and how far from its goals it is.

    Attributes:
        q: positions, with all loops closed; also where goals are out of reach.
        reached: True if every task of the first level is served to the tolerance, within the limits; lower levels are
            often wishes, such as a posture.
        served: likewise of each task, in their order.
        reason: "reached"; "nearest pose", where no step leads nearer; or "steps spent".
        distance: what is left of each task's way [m], in the order of the tasks; 0 for tasks without one.
        angle: likewise of its turn [rad].
        left: what is left of each task, row by row [m, rad].
        at_limit: joints at a limit.
        excess: by how much the worst joint is beyond its limit [m, rad].
        gap: largest gap of the loops [m, rad].
        steps: taken in all.
        start: number of the start that led here: 0 is the guess.
    """

    q: Array
    reached: bool
    served: tuple[bool, ...]
    reason: str
    distance: Array
    angle: Array
    left: tuple[Array, ...]
    at_limit: tuple[str, ...]
    excess: float
    gap: float
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
    """A pose that serves tasks; where they are out of reach, the nearest one from the start, flagged, with distances.

    Args:
        robot: a model, or its `Dynamics`, which keeps compiled code for the next goal.
        tasks: one or several.
        q: where to start; the last pose of a moving goal is a warm start. The neutral pose by default.
        limits: of joints: True for those of the model, False for none, or {joint: (lower, upper)} in place of some.
        tolerance: what may be left of a task [m, rad].
        max_steps: from each start.
        starts: how many to try until the tasks are served: the first is `q`, the others are random poses.
        seed: of the random poses.

    Raises:
        InputError: an argument is unusable.
        ModelError: the loops do not close near the start.
    """
    order = listed(tasks)
    problem = Problem.of(robot, order, limits).of_one_goal()
    refuse_settings(tolerance, max_steps, starts)
    model = problem.dynamics.model
    rng = np.random.default_rng(seed)
    best = _result(problem, order, _descend(problem, problem.start(q), tolerance, max_steps), tolerance, 0)
    for start in range(1, starts):
        if best.reached:
            break
        try:
            guess = problem.start(model.random_state(rng)[0])
        except ModelError:  # a random pose from which the loops do not close: the next one may
            continue
        found = _result(problem, order, _descend(problem, guess, tolerance, max_steps), tolerance, start)
        if found.reached or is_better(problem.at(found.q).costs, problem.at(best.q).costs):
            best = found
    return best


class _Descent(NamedTuple):
    q: Array
    steps: int
    stands: bool


def _descend(problem: Problem, q: Array, tolerance: float, max_steps: int) -> _Descent:
    here, damping = problem.at(q), FIRST
    only = len(problem.levels) == 1
    for step in range(max_steps):
        if only and problem.is_served(here, tolerance):
            return _Descent(here.q, step, True)
        q, cost = here.q, here.costs
        along = problem.motions(q)
        levels = list(zip(problem.jacobians(q, along), here.weighted, strict=True))
        limits = Limits(problem.limited_motions(q, along), *problem.room(q))
        rise = 2.0
        while True:
            z = step_of(levels, limits, damping)
            size = float(np.max(np.abs(z), initial=0.0))
            if size < STANDS:
                return _Descent(q, step, True)
            candidate = problem.moved(q, along @ z * min(1.0, LONGEST / size))
            there = None if candidate is None else problem.at(candidate)
            if there is not None and is_better(there.costs, cost):
                kept = min(max(float(sum(cost) - sum(there.costs)) / _foreseen(levels, z), 0.0), 1.0)
                damping = max(damping * max(1.0 - (2.0 * kept - 1.0) ** 3, 0.1), SMALLEST)
                here = there
                break
            damping *= rise
            rise *= 2.0
            if damping > LARGEST:
                return _Descent(q, step, True)
    return _Descent(here.q, max_steps, False)


def step_of(levels: Sequence[tuple[Array, Array]], limits: Limits, damping: float) -> Array:
    """Within limits, if any step is; else one that leads no joint further beyond."""
    damped = [Level(A, b, damping * float(b @ b) + LEAST_DAMPING) for A, b in levels]
    found = by_priority(damped, limits)
    if found is None:
        widened = Limits(limits.C, np.minimum(limits.lower, 0.0), np.maximum(limits.upper, 0.0))
        found = by_priority(damped, widened)
    return np.zeros(limits.C.shape[1]) if found is None else found


def _foreseen(levels: Sequence[tuple[Array, Array]], z: Array) -> float:
    """By how much a step would lessen the squares of what is left if all were linear; never quite zero."""
    gains = [float(b @ b) - float(np.sum((b - A @ z) ** 2)) for A, b in levels]
    return max(abs(sum(gains)), 1e-300)


def is_better(new: Sequence[Array], old: Sequence[Array]) -> NDArray[np.bool_]:
    """True if the first level that changes noticeably gains, and none before it suffers."""
    *before, (last, was) = zip(new, old, strict=True)
    better = np.asarray(last < was)
    for cost, earlier in reversed(before):
        gains = (cost < earlier * 0.999 - _SLACK) | ((cost < 0.5 * earlier) & (earlier > WITHIN**2))
        better = (better | gains) & ~(cost > earlier * 1.001 + _SLACK)
    return better


class Left(NamedTuple):
    """How far from its goals one pose is, or each of many; see `IkResult`."""

    left: tuple[Array, ...]
    distance: Array
    angle: Array
    served: NDArray[np.bool_]
    reached: NDArray[np.bool_]
    excess: Array
    gap: Array


def left_of(problem: Problem, tasks: Sequence[Task], q: Array, tolerance: float) -> Left:
    """Solve by tasks in the order in which they were given."""
    dynamics, excess = problem.dynamics, problem.excess(q)
    left = tuple(task.left(dynamics, q) for task in tasks)
    counted = [np.where(task.weights(dynamics) > 0.0, x, 0.0) for task, x in zip(tasks, left, strict=True)]
    units = [np.array(task.row_units(dynamics)) for task in tasks]
    distance, angle = (
        np.stack(
            [np.linalg.norm(x[..., unit == kind], axis=-1) for x, unit in zip(counted, units, strict=True)], axis=-1
        )
        for kind in (METRES, RADIANS)
    )
    largest = np.stack([np.max(np.abs(x), axis=-1, initial=0.0) for x in counted], axis=-1)
    served = (largest <= tolerance) & (excess <= WITHIN)[..., None]
    of_first = [task in problem.levels[0] for task in tasks]
    gap = np.asarray(dynamics.largest_gap(q))
    return Left(left, distance, angle, served, np.asarray(served[..., of_first].all(axis=-1)), excess, gap)


def refuse_settings(tolerance: object, max_steps: object, starts: object) -> None:
    """Raise where one is not above zero, or no number of its kind."""
    if not (isinstance(tolerance, Real) and float(tolerance) > 0.0):
        message = f"tolerance is {tolerance!r}; it must be a number above zero."
        raise InputError(message, field="tolerance", value=tolerance, allowed="a number above zero")
    for name, count in (("max_steps", max_steps), ("starts", starts)):
        if not (isinstance(count, Integral) and int(count) >= 1):
            message = f"{name} is {count!r}; it must be a whole number of at least 1."
            raise InputError(message, field=name, value=count, allowed="a whole number of at least 1")


def _result(problem: Problem, tasks: Sequence[Task], end: _Descent, tolerance: float, start: int) -> IkResult:
    found = left_of(problem, tasks, end.q, tolerance)
    reached = bool(found.reached)
    return IkResult(
        end.q,
        reached,
        tuple(found.served.tolist()),
        REACHED if reached else NEAREST if end.stands else STEPS_SPENT,
        found.distance,
        found.angle,
        found.left,
        problem.at_limit(end.q),
        float(found.excess),
        float(found.gap),
        end.steps,
        start,
    )
