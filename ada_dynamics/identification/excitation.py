# SPDX-License-Identifier: Apache-2.0
"""Exciting trajectories: periodic, within limits, from rest to rest, with a small condition number.

Each joint follows a Fourier series (Swevers et al. 1997),

    q(t) = c + Σ_k  a_k / (k ω) sin(k ω t) - b_k / (k ω) cos(k ω t)      ω = 2π / period

with Σ a_k = 0 and Σ k b_k = 0, so that it starts and ends at rest without acceleration. The optimization varies the
shapes; each is scaled to the limits on position, velocity and acceleration of its joint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.closed_configuration import closed_configuration
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError, ModelError, invalid
from ada_dynamics.identification.base_parameters import base_parameters
from ada_dynamics.identification.regression import RegressionEquations, free_parameters, shared_parameters
from ada_dynamics.identification.samples import MotionSamples
from ada_dynamics.model.model import Model
from ada_dynamics.resources import how_to_install

USED = 0.9  # fraction of each limit
UNLIMITED_SPEED = 1.0  # [rad/s, m/s], for joints without a limit
_TO_SPEED = 0.5  # [s], duration of the acceleration to the largest speed by default
_PER_HARMONIC = 10  # states per harmonic for the condition number
_FINE = 40  # states per harmonic for the limits
_AT_RANDOM = 0.25  # fraction of random trajectories among all evaluations
_HOPELESS = 16.0  # decimal log_condition of the condition number of infeasible trajectories


@dataclass(frozen=True, eq=False)
class Excitation:
    """A trajectory of some joints; other joints are at rest or follow by the loop constraints.

    Attributes:
        dynamics: dynamics of the robot.
        joints: names of the moved joints, each with one coordinate.
        start: initial configuration of the optimization, (nq,).
        period: period [s].
        centres: c of each joint.
        sines: a_k, (joints, harmonics).
        cosines: b_k, (joints, harmonics).
        condition: condition number of the parameter combinations, scaled by their efforts in reference states.
    """

    dynamics: Dynamics
    joints: tuple[str, ...]
    start: Array
    period: float
    centres: Array
    sines: Array
    cosines: Array
    condition: float = np.inf

    def joint_trajectory(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations of the moved joints, (N, joints) each."""
        rates = 2.0 * np.pi / self.period * np.arange(1, self.sines.shape[1] + 1)
        angle = np.asarray(t, dtype=np.float64)[..., None] * rates
        s, c = np.sin(angle), np.cos(angle)
        return (
            self.centres + s @ (self.sines / rates).T - c @ (self.cosines / rates).T,
            c @ self.sines.T + s @ self.cosines.T,
            c @ (self.cosines * rates).T - s @ (self.sines * rates).T,
        )

    def states(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Configurations (N, nq), velocities and accelerations (N, nv) of all joints, with closed loops.

        Raises:
            ModelError: the loops cannot be closed along the trajectory.
        """
        model, (y, dy, ddy) = self.dynamics.model, self.joint_trajectory(np.atleast_1d(np.asarray(t, dtype=np.float64)))
        if model.loops:
            constraints = self.dynamics.constraints
            q = constraints.complete_position(y, self.joints, self.start)
            v = constraints.complete_velocity(q, dy, coordinates=self.joints)
            return q, v, constraints.complete_acceleration(q, v, ddy, coordinates=self.joints)
        q = np.repeat(self.start[None], len(y), axis=0)
        q[:, [model.q_index(name).start for name in self.joints]] = y
        v, a = np.zeros((len(y), model.nv)), np.zeros((len(y), model.nv))
        columns = [model.v_index(name).start for name in self.joints]
        v[:, columns], a[:, columns] = dy, ddy
        return q, v, a


def excitation(
    robot: Model | Dynamics,
    start: ArrayLike | None = None,
    *,
    parameters: str | Sequence[str] | None = None,
    joints: Sequence[str] | None = None,
    period: float = 10.0,
    harmonics: int = 4,
    acceleration: float | None = None,
    travel: float = 1.0,
    evaluations: int = 2000,
    seed: int = 0,
) -> Excitation:
    """Optimize an exciting trajectory within the limits of the joints.

    Collisions and effort limits are not checked; simulate the trajectory first.

    Args:
        robot: a model, or its `Dynamics`.
        start: configuration of the joints at rest, and guess for closing the loops; neutral by default.
        parameters: parameters to excite, as in `identify`.
        joints: names of the joints to move; the motors by default.
        period: period [s].
        harmonics: number of harmonics, at least 2.
        acceleration: largest acceleration [rad/s², m/s²]; by default the largest speed is reached in 0.5 s.
        travel: range of unlimited joints to each side of the start [rad, m].
        evaluations: number of trajectories.
        seed: seed of the random trajectories.

    Raises:
        InputError: a joint has more than one coordinate or no range, or scipy is not installed.
    """
    dynamics = robot if isinstance(robot, Dynamics) else Dynamics(robot)
    model = dynamics.model
    if not period > 0.0:
        raise invalid("period", period, "a positive number of seconds")
    for name, count, least in (("harmonics", harmonics, 2), ("evaluations", evaluations, 1)):
        if count < least:
            raise invalid(name, count, f"at least {least}")
    pose = np.array(closed_configuration(model, start), dtype=np.float64)
    chosen = tuple(model.actuated if joints is None else joints)
    bounds = _bounds(model, chosen, pose, acceleration, travel)
    equations = RegressionEquations(dynamics, free_parameters(dynamics, parameters))
    search = _TrajectorySearch(equations, chosen, pose, period, harmonics, bounds)
    rng = np.random.default_rng(seed)
    shapes = rng.normal(size=(max(round(_AT_RANDOM * evaluations), 1), search.size))
    best = _minimize(search.log_condition, shapes, evaluations - len(shapes))
    return search.motion(best, 10.0 ** search.log_condition(best))


class _Bounds(NamedTuple):
    """Center and half range, largest speed and largest acceleration of each joint."""

    middle: Array
    travel: Array
    speed: Array
    acceleration: Array


def _bounds(model: Model, joints: Sequence[str], pose: Array, acceleration: float | None, travel: float) -> _Bounds:
    rows = []
    for name in joints:
        q = model.q_index(name)
        if q.stop - q.start != 1:
            where = f"number of coordinates of joint {name!r} among "
            raise invalid("joints", q.stop - q.start, 1, where, joint=name)
        at, lower, upper = float(pose[q.start]), float(model.lower[q.start]), float(model.upper[q.start])
        lower = lower if np.isfinite(lower) else at - travel
        upper = upper if np.isfinite(upper) else at + travel
        if not lower < upper:
            text = f"joint {name!r} is limited to {lower:g} to {upper:g}; it has no range to move."
            raise InputError(text, joint=name, field="limits", value=(float(lower), float(upper)))
        limit = float(model.velocity_limit[model.v_index(name).start])
        speed = limit if np.isfinite(limit) else UNLIMITED_SPEED
        rows.append((0.5 * (lower + upper), 0.5 * (upper - lower), speed, acceleration or speed / _TO_SPEED))
    middle, *sizes = np.array(rows).T
    return _Bounds(middle, *(USED * size for size in sizes))


class _TrajectorySearch:
    """Trajectories within limits from unbounded variables, and their condition numbers."""

    def __init__(
        self,
        equations: RegressionEquations,
        joints: tuple[str, ...],
        pose: Array,
        period: float,
        harmonics: int,
        bounds: _Bounds,
    ) -> None:
        self.equations, self.joints, self.pose, self.period, self.bounds = equations, joints, pose, period, bounds
        order = np.arange(1.0, harmonics + 1.0)
        self.of_sines, self.of_cosines = _orthogonal_to(np.ones(harmonics)), _orthogonal_to(order)
        self.shape = (len(joints), 2 * (harmonics - 1) + 2)
        self.size = int(np.prod(self.shape))
        self.times = np.arange(_PER_HARMONIC * harmonics) * period / (_PER_HARMONIC * harmonics)
        self.fine = np.arange(_FINE * harmonics) * period / (_FINE * harmonics)
        at_rest = np.zeros((1, equations.dynamics.model.nv))
        fastest, strongest = at_rest.copy(), at_rest.copy()
        columns = [equations.dynamics.model.v_index(name).start for name in joints]
        fastest[:, columns], strongest[:, columns] = bounds.speed, bounds.acceleration
        at = MotionSamples(np.zeros(1), pose[None], fastest, strongest, at_rest, np.zeros(1))
        reference, _ = equations.of(equations.reference(at))
        base = base_parameters(reference, equations.names, shared_parameters(equations.dynamics.model))
        self.columns = list(base.leading)
        self.sizes = np.sqrt(np.mean(np.sum(reference[..., self.columns] ** 2, axis=1), axis=0))

    def motion(self, z: Array, condition: float = np.inf) -> Excitation:
        """Trajectory scaled within the limits by a tanh of its scale and center variables."""
        rows, bounds = z.reshape(self.shape), self.bounds
        half = (self.shape[1] - 2) // 2
        sines, cosines = rows[:, :half] @ self.of_sines.T, rows[:, half:-2] @ self.of_cosines.T
        shape = Excitation(
            self.equations.dynamics, self.joints, self.pose, self.period, np.zeros(len(rows)), sines, cosines
        )
        y, dy, ddy = shape.joint_trajectory(self.fine)
        low, high = y.min(axis=0), y.max(axis=0)
        largest = [
            2.0 * bounds.travel / np.maximum(high - low, 1e-12),
            bounds.speed / np.maximum(np.abs(dy).max(axis=0), 1e-12),
            bounds.acceleration / np.maximum(np.abs(ddy).max(axis=0), 1e-12),
        ]
        scale = np.min(largest, axis=0) * (0.55 + 0.45 * np.tanh(rows[:, -2]))
        room = bounds.travel - 0.5 * scale * (high - low)
        centres = bounds.middle - 0.5 * scale * (high + low) + room * np.tanh(rows[:, -1])
        sines, cosines = scale[:, None] * sines, scale[:, None] * cosines
        return replace(shape, centres=centres, sines=sines, cosines=cosines, condition=condition)

    def log_condition(self, z: Array) -> float:
        """Decimal logarithm of the condition number."""
        try:
            q, v, a = self.motion(z).states(self.times)
            Y, _ = self.equations.of(MotionSamples(self.times, q, v, a, np.zeros_like(v), np.zeros_like(self.times)))
        except (ModelError, InputError):  # the loops cannot be closed, or become singular
            return _HOPELESS
        rows = (Y[..., self.columns] / self.sizes).reshape(-1, len(self.columns))
        return min(float(np.log10(np.linalg.cond(np.linalg.qr(rows, mode="r")))), _HOPELESS)


def _orthogonal_to(direction: Array) -> Array:
    """Orthonormal basis of the orthogonal complement of a direction, in columns."""
    return np.asarray(np.linalg.svd(direction[None])[2][1:].T)


def _minimize(cost: Callable[[Array], float], shapes: Array, evaluations: int) -> Array:
    """Best trajectory found by Powell's method from the best of some random ones."""
    try:
        from scipy.optimize import minimize
    except ImportError:
        raise InputError(f"the search for an excitation needs scipy: {how_to_install('tools')}") from None
    results = [(cost(z), z) for z in shapes]

    def noted(z: Array) -> float:
        results.append((cost(z), z.copy()))
        return results[-1][0]

    first = min(results, key=lambda one: one[0])[1]
    if evaluations > 0:
        # The condition number is not differentiable where singular values cross, so no gradient is used.
        minimize(noted, first, method="Powell", options={"maxfev": evaluations})
    best: Array = min(results, key=lambda one: one[0])[1]
    return best
