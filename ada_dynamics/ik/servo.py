# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics of a servo loop: joint velocities for one period."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError
from ada_dynamics.ik.bounded import Level, Limits, by_priority
from ada_dynamics.ik.problem import JointBounds, Problem, listed
from ada_dynamics.ik.tasks import Task
from ada_dynamics.model.model import Model


class VelocityStep(NamedTuple):
    """Velocities of one period.

    Attributes:
        v: velocities of all joints, along the loops.
        missing: by task, row by row, the rate that was asked for and is not got [m/s, rad/s].
        at_limit: joints that a limit of position or velocity holds back.
        within_limits: False where no velocity along the loops brings every joint within its limits: then v is one that
            leads none further beyond.
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
    """Joint velocities that bring a robot nearer to its goals in one period.

    Args:
        robot: a model, or its `Dynamics`, which keeps compiled code for the next period.
        tasks: one or several.
        q: positions, with the loops closed.
        dt: the period [s].
        gain: share of what is left that one period is to take away, in (0, 1].
        limits: of positions, as for `solve_ik`: v dt stays within.
        velocity_limits: True for those of the model.
        damping: of v dt against what is left, in units of the mechanism's length: keeps v small near singular poses.

    Raises:
        InputError: an argument is unusable.
    """
    for name, value, most in (("dt", dt, np.inf), ("gain", gain, 1.0), ("damping", damping, np.inf)):
        if not 0.0 < value <= most:
            allowed = "above zero" if most == np.inf else "in (0, 1]"
            raise InputError(f"{name} is {value!r}; it must be {allowed}.", field=name, value=value, allowed=allowed)
    order = listed(tasks)
    problem = Problem.of(robot, order, limits).of_one_goal()
    dynamics, at = problem.dynamics, problem.dynamics.model.as_positions(q)
    along = problem.motions(at)
    lower, upper = _bounds(problem, at, dt, velocity_limits)
    moving = Limits(np.concatenate([along, problem.motions_of_angles(at, along)]), lower, upper)
    left = [gain * x for x in problem.at(at).weighted]
    levels = [Level(A, b, damping) for A, b in zip(problem.jacobians(at, along), left, strict=True)]
    z = by_priority(levels, moving)
    within = z is not None
    if z is None:
        z = by_priority(levels, moving._replace(lower=np.minimum(lower, 0.0), upper=np.maximum(upper, 0.0)))
    step = along @ (np.zeros(along.shape[1]) if z is None else z)
    missing = tuple((gain * task.left(dynamics, at) - task.jacobian(dynamics, at) @ step) / dt for task in order)
    moved = np.concatenate([step, problem.motions_of_angles(at, step[:, None])[:, 0]])
    held = np.flatnonzero((moved <= lower + 1e-9 * dt) | (moved >= upper - 1e-9 * dt))
    labels = [*map(dynamics.choices.label, range(dynamics.model.nv)), *(name for name, _ in problem.angles)]
    return VelocityStep(step / dt, missing, tuple(dict.fromkeys(labels[k] for k in held)), within)


def _bounds(problem: Problem, q: Array, dt: float, by_velocity: bool) -> tuple[Array, Array]:
    """Of the step of each coordinate, what its speed allows and within that its position; then of limited angles."""
    model = problem.dynamics.model
    fastest = model.velocity_limit * dt if by_velocity else np.full(model.nv, np.inf)
    lower, upper = -fastest, fastest.copy()
    down, up = problem.room(q)
    own, single = problem.limited, len(problem.limited)
    lower[own] = np.clip(down[:single], -fastest[own], fastest[own])
    upper[own] = np.clip(up[:single], -fastest[own], fastest[own])
    return np.concatenate([lower, down[single:]]), np.concatenate([upper, up[single:]])
