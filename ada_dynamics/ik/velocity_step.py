# SPDX-License-Identifier: Apache-2.0
"""Differential inverse kinematics: joint velocities for one control period."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError
from ada_dynamics.ik.least_squares import Level, LinearBounds, solve_levels
from ada_dynamics.ik.problem import IkProblem, JointBounds, task_list
from ada_dynamics.ik.tasks import Task
from ada_dynamics.model.model import Model


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
            allowed = "above zero" if most == np.inf else "in (0, 1]"
            raise InputError(f"{name} is {value!r}; it must be {allowed}.", field=name, value=value, allowed=allowed)
    order = task_list(tasks)
    problem = IkProblem.of(robot, order, limits).require_single_goal()
    dynamics, at = problem.dynamics, problem.dynamics.model.as_positions(q)
    along = problem.velocity_basis(at)
    lower, upper = _step_bounds(problem, at, dt, velocity_limits)
    moving = LinearBounds(np.concatenate([along, problem.angle_jacobian(at, along)]), lower, upper)
    left = [gain * x for x in problem.evaluate(at).weighted]
    levels = [Level(A, b, damping) for A, b in zip(problem.jacobians(at, along), left, strict=True)]
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
