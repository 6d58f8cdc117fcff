# SPDX-License-Identifier: Apache-2.0
"""Motions that show parameters well: periodic, within limits, from rest to rest, of the best condition found.

Each joint moves on a Fourier series (Swevers and others 1997),

    q(t) = c + Σ_k  a_k / (k ω) sin(k ω t) - b_k / (k ω) cos(k ω t)      ω = 2π / period

with Σ a_k = 0 and Σ k b_k = 0, so that it begins and ends at rest without acceleration. The search is over shapes: each
is made as large as its joint's limits on position, speed and acceleration allow, so that none breaks a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.closed_configuration import close_loops
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError, ModelError
from ada_dynamics.extras import how_to_install
from ada_dynamics.identification.base_parameters import base_parameters
from ada_dynamics.identification.equations import Equations
from ada_dynamics.identification.smoothing import Samples
from ada_dynamics.identification.which import along_axes, dynamics_of, free_parameters
from ada_dynamics.model.model import Model

USED = 0.9  # of each limit
UNLIMITED_SPEED = 1.0  # [rad/s, m/s] of a joint that has no limit
_TO_SPEED = 0.5  # [s] in which greatest speeds are reached where no acceleration is given
_PER_HARMONIC = 10  # states of a period that count in the search
_FINE = 40  # likewise of those in which limits are looked at
_AT_RANDOM = 0.25  # of the motions that are tried; the others lead on from the best of these
_HOPELESS = 16.0  # decimal digits: the condition of what cannot be computed


@dataclass(frozen=True, eq=False)
class Excitation:
    """A motion of some joints; those that are not in it stand, or follow by the loops.

    Attributes:
        dynamics: of the robot.
        joints: that are moved, each by one coordinate.
        start: pose of all joints, in which the search began.
        period: [s].
        centres: c, of each joint.
        sines: a_k, (joints, harmonics).
        cosines: b_k, (joints, harmonics).
        condition: of the combinations of parameters, in units of what they do in a robot's whole range.
    """

    dynamics: Dynamics
    joints: tuple[str, ...]
    start: Array
    period: float
    centres: Array
    sines: Array
    cosines: Array
    condition: float = np.inf

    def of_joints(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations of the joints that are moved, (N, joints) each."""
        rates = 2.0 * np.pi / self.period * np.arange(1, self.sines.shape[1] + 1)
        angle = np.asarray(t, dtype=np.float64)[..., None] * rates
        s, c = np.sin(angle), np.cos(angle)
        return (
            self.centres + s @ (self.sines / rates).T - c @ (self.cosines / rates).T,
            c @ self.sines.T + s @ self.cosines.T,
            c @ (self.cosines * rates).T - s @ (self.sines * rates).T,
        )

    def states(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Positions (N, nq), velocities and accelerations (N, nv) of all joints, loops closed.

        Raises:
            ModelError: the loops do not close on the way.
        """
        model, (y, dy, ddy) = self.dynamics.model, self.of_joints(np.atleast_1d(np.asarray(t, dtype=np.float64)))
        q = np.repeat(self.start[None], len(y), axis=0)
        q[:, [model.q_index(name).start for name in self.joints]] = y
        if model.loops:
            pose = self.start
            for i, row in enumerate(q):
                guess = pose.copy()
                for name in self.joints:
                    guess[model.q_index(name)] = row[model.q_index(name)]
                pose = np.array(close_loops(model, guess, hold=self.joints), dtype=np.float64)
                q[i] = pose
            v = self.dynamics.complete_velocity(q, dy, coordinates=self.joints)
            return q, v, self.dynamics.complete_acceleration(q, v, ddy, coordinates=self.joints)
        v, a = np.zeros((len(y), model.nv)), np.zeros((len(y), model.nv))
        places = [model.v_index(name).start for name in self.joints]
        v[:, places], a[:, places] = dy, ddy
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
    way: float = 1.0,
    evaluations: int = 2000,
    seed: int = 0,
) -> Excitation:
    """A motion that shows parameters well, within the limits of the joints.

    Collisions and limits of efforts are not looked at: try it in a simulation first.

    Args:
        robot: a model, or its `Dynamics`.
        start: pose of joints that are not moved, and that closes the loops; the neutral one by default.
        parameters: that are to be shown, as `identify` takes them.
        joints: to be moved; the motors by default.
        period: [s].
        harmonics: of the series, two at least.
        acceleration: greatest [rad/s², m/s²]; by default greatest speeds are reached in 0.5 s.
        way: of joints that have no limits, to each side of the start [rad, m].
        evaluations: motions that are tried; with loops each takes a hundred times as long.
        seed: of the first one.

    Raises:
        InputError: a joint has more than one coordinate or no range, or scipy is missing.
    """
    dynamics = dynamics_of(robot)
    model = dynamics.model
    if not period > 0.0:
        raise InputError(f"period is {period!r} s; it must be above zero.", field="period", value=period)
    for name, count, least in (("harmonics", harmonics, 2), ("evaluations", evaluations, 1)):
        if count < least:
            message = f"{name} is {count!r}; it must be at least {least}."
            raise InputError(message, field=name, value=count, allowed=f"at least {least}")
    pose = np.array(close_loops(model, start), dtype=np.float64)
    chosen = tuple(model.actuated if joints is None else joints)
    bounds = _bounds(model, chosen, pose, acceleration, way)
    equations = Equations(dynamics, free_parameters(dynamics, parameters))
    search = _Search(equations, chosen, pose, period, harmonics, bounds)
    rng = np.random.default_rng(seed)
    shapes = rng.normal(size=(max(round(_AT_RANDOM * evaluations), 1), search.size))
    best = _minimised(search.digits, shapes, evaluations - len(shapes))
    return search.motion(best, 10.0 ** search.digits(best))


class _Bounds(NamedTuple):
    """Of each joint: middle and half of its way, greatest speed and acceleration."""

    middle: Array
    way: Array
    speed: Array
    acceleration: Array


def _bounds(model: Model, joints: Sequence[str], pose: Array, acceleration: float | None, way: float) -> _Bounds:
    rows = []
    for name in joints:
        q = model.q_index(name)
        if q.stop - q.start != 1:
            raise InputError(
                f"joint {name!r} has {q.stop - q.start} coordinates; excitation moves joints with one.",
                joint=name,
                field="joints",
                value=q.stop - q.start,
                allowed=1,
            )
        at, lower, upper = float(pose[q.start]), float(model.lower[q.start]), float(model.upper[q.start])
        lower = lower if np.isfinite(lower) else at - way
        upper = upper if np.isfinite(upper) else at + way
        if not lower < upper:
            raise InputError(
                f"joint {name!r} may be from {lower:g} to {upper:g}; it has no way to move.",
                joint=name,
                field="limits",
                value=(float(lower), float(upper)),
            )
        limit = float(model.velocity_limit[model.v_index(name).start])
        speed = limit if np.isfinite(limit) else UNLIMITED_SPEED
        rows.append((0.5 * (lower + upper), 0.5 * (upper - lower), speed, acceleration or speed / _TO_SPEED))
    middle, *sizes = np.array(rows).T
    return _Bounds(middle, *(USED * size for size in sizes))


class _Search:
    """From numbers without limits to motions within them, and how good these are."""

    def __init__(
        self, equations: Equations, joints: tuple[str, ...], pose: Array, period: float, harmonics: int, bounds: _Bounds
    ) -> None:
        self.equations, self.joints, self.pose, self.period, self.bounds = equations, joints, pose, period, bounds
        order = np.arange(1.0, harmonics + 1.0)
        self.of_sines, self.of_cosines = _orthogonal_to(np.ones(harmonics)), _orthogonal_to(order)
        self.shape = (len(joints), 2 * (harmonics - 1) + 2)
        self.size = int(np.prod(self.shape))
        self.times = np.arange(_PER_HARMONIC * harmonics) * period / (_PER_HARMONIC * harmonics)
        self.fine = np.arange(_FINE * harmonics) * period / (_FINE * harmonics)
        here = np.zeros((1, equations.dynamics.model.nv))
        fastest, strongest = here.copy(), here.copy()
        places = [equations.dynamics.model.v_index(name).start for name in joints]
        fastest[:, places], strongest[:, places] = bounds.speed, bounds.acceleration
        at = Samples(np.zeros(1), pose[None], fastest, strongest, here, np.zeros(1))
        reference, _ = equations.of(equations.reference(at))
        base = base_parameters(reference, equations.names, along_axes(equations.dynamics.model))
        self.columns = list(base.leading)
        self.sizes = np.sqrt(np.mean(np.sum(reference[..., self.columns] ** 2, axis=1), axis=0))

    def motion(self, z: Array, condition: float = np.inf) -> Excitation:
        """As large as limits allow, times a share; its middle where there is room."""
        rows, bounds = z.reshape(self.shape), self.bounds
        half = (self.shape[1] - 2) // 2
        sines, cosines = rows[:, :half] @ self.of_sines.T, rows[:, half:-2] @ self.of_cosines.T
        shape = Excitation(
            self.equations.dynamics, self.joints, self.pose, self.period, np.zeros(len(rows)), sines, cosines
        )
        y, dy, ddy = shape.of_joints(self.fine)
        low, high = y.min(axis=0), y.max(axis=0)
        largest = [
            2.0 * bounds.way / np.maximum(high - low, 1e-12),
            bounds.speed / np.maximum(np.abs(dy).max(axis=0), 1e-12),
            bounds.acceleration / np.maximum(np.abs(ddy).max(axis=0), 1e-12),
        ]
        scale = np.min(largest, axis=0) * (0.55 + 0.45 * np.tanh(rows[:, -2]))
        room = bounds.way - 0.5 * scale * (high - low)
        centres = bounds.middle - 0.5 * scale * (high + low) + room * np.tanh(rows[:, -1])
        return Excitation(
            self.equations.dynamics,
            self.joints,
            self.pose,
            self.period,
            centres,
            scale[:, None] * sines,
            scale[:, None] * cosines,
            condition,
        )

    def digits(self, z: Array) -> float:
        """Decimal logarithm of the condition number."""
        try:
            q, v, a = self.motion(z).states(self.times)
            Y, _ = self.equations.of(Samples(self.times, q, v, a, np.zeros_like(v), np.zeros_like(self.times)))
        except (ModelError, InputError):  # the loops do not close, or become singular
            return _HOPELESS
        rows = (Y[..., self.columns] / self.sizes).reshape(-1, len(self.columns))
        return min(float(np.log10(np.linalg.cond(np.linalg.qr(rows, mode="r")))), _HOPELESS)


def _orthogonal_to(direction: Array) -> Array:
    """A basis of all that is orthogonal to it, in columns."""
    return np.asarray(np.linalg.svd(direction[None])[2][1:].T)


def _minimised(cost: Callable[[Array], float], shapes: Array, evaluations: int) -> Array:
    """The best that is met on the way down from the best of some shapes."""
    try:
        from scipy.optimize import minimize
    except ImportError:
        raise InputError(f"the search for an excitation needs scipy: {how_to_install('tools')}") from None
    met = [(cost(z), z) for z in shapes]

    def noted(z: Array) -> float:
        met.append((cost(z), z.copy()))
        return met[-1][0]

    first = min(met, key=lambda one: one[0])[1]
    if evaluations > 0:
        # The directions that are shown best and worst change places all the time: no slope to follow.
        minimize(noted, first, method="Powell", options={"maxfev": evaluations})
    best: Array = min(met, key=lambda one: one[0])[1]
    return best
