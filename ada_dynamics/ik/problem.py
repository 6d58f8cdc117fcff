# SPDX-License-Identifier: Apache-2.0
"""Tasks of a robot in one pose, as least squares along its loops.

Velocities of the tree are v = U N z: the columns of N are the orthonormal motions that the loops leave, U the units of
the mechanism's length. So no choice of independent joints can fail on the way, and no step opens a loop to first order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError, WrongTypeError
from ada_dynamics.ik.tasks import Task
from ada_dynamics.loops.assembly import close
from ada_dynamics.loops.velocities import motions
from ada_dynamics.model.bounds import Bound, bounds_of
from ada_dynamics.model.model import Model

_OPEN = 1e-9  # of the mechanism's length: a gap that closing may leave
JointBounds = bool | Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class Problem:
    """Tasks by level, and the limits of the joints that have one: of single coordinates first, then of angles."""

    dynamics: Dynamics
    levels: list[list[Task]]
    limited: NDArray[np.intp]  # places in v
    positions: NDArray[np.intp]  # the same ones' places in q
    lower: Array
    upper: Array
    angles: tuple[tuple[str, Bound], ...]  # of spherical joints, by their names

    @classmethod
    def of(cls, robot: Model | Dynamics, tasks: Task | Sequence[Task], limits: JointBounds) -> Problem:
        """What callers give, checked."""
        dynamics = robot if isinstance(robot, Dynamics) else Dynamics(_as_model(robot))
        given = [tasks] if isinstance(tasks, Task) else list(tasks)
        if not given or not all(isinstance(task, Task) for task in given):
            raise WrongTypeError(
                f"tasks are {tasks!r:.100}; inverse kinematics needs at least one of PoseTask, PositionTask, "
                "OrientationTask, ComTask, PostureTask."
            )
        for task in given:
            task.refuse_unfit(dynamics)
            task.weights(dynamics)
        numbers = sorted({task.level for task in given})
        levels = [[task for task in given if task.level == number] for number in numbers]
        return cls(dynamics, levels, *_bounds(dynamics.model, limits))

    @property
    def tasks(self) -> list[Task]:
        """All of them, by level."""
        return [task for level in self.levels for task in level]

    def motions(self, q: Array) -> Array:
        """U N, (nv, mobility)."""
        choices = self.dynamics.choices
        basis = motions(self.dynamics.loop_conditions(q), choices.mobility).basis()
        return np.asarray(choices.units[:, None] * basis)

    def residuals(self, q: Array) -> list[Array]:
        """What is left, weighted, in units of the mechanism's length; level by level."""
        return [
            np.concatenate([task.weights(self.dynamics) * task.left(self.dynamics, q) for task in level])
            for level in self.levels
        ]

    def jacobians(self, q: Array, along: Array) -> list[Array]:
        """By how much each motion lessens them."""
        return [
            np.concatenate([task.weights(self.dynamics)[:, None] * task.jacobian(self.dynamics, q) for task in level])
            @ along
            for level in self.levels
        ]

    def limited_rates(self, q: Array) -> Array:
        """Rates of what is limited by those of the joints, (limits, nv)."""
        model = self.dynamics.model
        rates = np.zeros((len(self.limited) + len(self.angles), model.nv))
        rates[np.arange(len(self.limited)), self.limited] = 1.0
        for row, (name, bound) in zip(rates[len(self.limited) :], self.angles, strict=True):
            row[model.v_index(name)] = bound.directions(q[model.q_index(name)].tolist())
        return rates

    def room(self, q: Array) -> tuple[Array, Array]:
        """How far what is limited is from its limits, down and up; the other way where it is beyond."""
        at = [bound.value(q[self.dynamics.model.q_index(name)].tolist()) for name, bound in self.angles]
        down = [-np.inf if bound.lower is None else bound.lower for _, bound in self.angles]
        up = [np.inf if bound.upper is None else bound.upper for _, bound in self.angles]
        own = np.concatenate([q[self.positions], at])
        return np.concatenate([self.lower, down]) - own, np.concatenate([self.upper, up]) - own

    def excess(self, q: Array) -> float:
        """By how much the worst joint is beyond its limit [m, rad]."""
        down, up = self.room(q)
        return float(max(np.max(down, initial=0.0), np.max(-up, initial=0.0)))

    def at_limit(self, q: Array, margin: float = 1e-9) -> tuple[str, ...]:
        """Joints at a limit."""
        down, up = self.room(q)
        held = (down >= -margin) | (up <= margin)
        return tuple(dict.fromkeys(label for label, is_held in zip(self.labels, held, strict=True) if is_held))

    @property
    def labels(self) -> tuple[str, ...]:
        """Of what is limited."""
        single = (self.dynamics.choices.label(int(k)) for k in self.limited)
        return (*single, *(name for name, _ in self.angles))

    def closed(self, q: Array) -> Array | None:
        """The pose with its loops closed, close by; None where they do not close from there."""
        study = self.dynamics.choices.study
        if study is None:
            return q
        found = close(study.numbers, q)
        return found.q if found.gap < _OPEN else None

    def moved(self, q: Array, step: Array) -> Array | None:
        """The pose after a step along the loops, with the loops closed and rounding beyond a limit taken off."""
        at = self.dynamics.model.integrate(q, step)
        if self.dynamics.choices.study is None:
            at[self.positions] = np.clip(at[self.positions], *self._reachable(q))
            self._clip_turns(q, at)
            return at
        return self.closed(at)

    def _clip_turns(self, q: Array, at: Array) -> None:
        """Take off by how much the angles of spherical joints are led over their limits in a step from q."""
        model = self.dynamics.model
        for name in dict.fromkeys(name for name, _ in self.angles):
            turns, own = model.joints[name].turns, model.q_index(name)
            if turns is None:
                continue
            now, wanted = turns.read(q[own]), turns.read(at[own])
            kept = np.clip(wanted, np.minimum(turns.lower, now), np.maximum(turns.upper, now))
            if (kept != wanted).any():
                at[own] = turns.position(kept)

    def _reachable(self, q: Array) -> tuple[Array, Array]:
        """Limits, widened to where joints already are."""
        own = q[self.positions]
        return np.minimum(self.lower, own), np.maximum(self.upper, own)


def _as_model(robot: object) -> Model:
    if not isinstance(robot, Model):
        raise WrongTypeError(f"the robot is {robot!r:.100}; inverse kinematics needs a Model or a Dynamics.")
    return robot


def _rising(joint: str, pair: object) -> tuple[float, float]:
    """Two limits of a joint, checked."""
    try:
        least, most = (float(x) for x in pair)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        least, most = np.nan, np.nan
    if not least <= most:
        raise InputError(f"limits of joint {joint!r} are {pair!r:.80}; they must be two numbers that do not fall.")
    return least, most


def _bounds(
    model: Model, limits: JointBounds
) -> tuple[NDArray[np.intp], NDArray[np.intp], Array, Array, tuple[tuple[str, Bound], ...]]:
    """Places in v and q of limited joints whose positions are free numbers, their limits, and those of angles."""
    angles: list[tuple[str, Bound]] = []
    v_places: list[int] = []
    q_places: list[int] = []
    lower, upper = model.lower.copy(), model.upper.copy()
    if not isinstance(limits, (bool, Mapping)):
        raise WrongTypeError(f"limits are {limits!r:.100}; they must be True, False, or {{joint: (lower, upper)}}.")
    given = limits if isinstance(limits, Mapping) else {}
    for name, pair in given.items():
        lower[model.q_index(name)], upper[model.q_index(name)] = _rising(name, pair)
    for name in () if limits is False else model.joint_names:
        q_own, v_own = model.q_index(name), model.v_index(name)
        if q_own.stop - q_own.start != v_own.stop - v_own.start:
            if name in given:
                raise InputError(
                    f"joint {name!r} cannot be limited: its positions are not free numbers. Give its angles limits in "
                    "the model (turns)."
                )
            angles += [(name, bound) for bound in bounds_of(model.joints[name])]
            continue
        q_places += range(q_own.start, q_own.stop)
        v_places += range(v_own.start, v_own.stop)
    places = np.array(q_places, dtype=np.intp)
    bounded = np.isfinite(lower[places]) | np.isfinite(upper[places])
    kept = places[bounded]
    return np.array(v_places, dtype=np.intp)[bounded], kept, lower[kept], upper[kept], tuple(angles)
