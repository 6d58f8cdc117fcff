# SPDX-License-Identifier: Apache-2.0
"""Tasks of a robot in one pose or in many, as least squares along its loops.

Velocities of the tree are v = U N z: the columns of N are the orthonormal motions that the loops leave, U the units of
the mechanism's length. So no choice of independent joints can fail on the way, and no step opens a loop to first order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError, WrongTypeError
from ada_dynamics.ik.tasks import Task
from ada_dynamics.loops.assemble import assemble
from ada_dynamics.loops.assembly import close, start_of
from ada_dynamics.loops.velocities import motions
from ada_dynamics.model.bounds import Bound, bounds_of
from ada_dynamics.model.model import Model

WITHIN = 1e-9  # beyond a limit: rounding
_OPEN = 1e-9  # of the mechanism's length: a gap that closing may leave
_NEARLY = 1e-3  # likewise: from there plain Newton steps lead to the nearest closed pose
_CLOSING_STEPS, _RANK = 12, 1e-9
JointBounds = bool | Mapping[str, tuple[float, float]]


class Here(NamedTuple):
    """A pose, or many of them, and what is left there.

    Attributes:
        q: positions.
        left: of each task, level by level [m, rad].
        weighted: likewise, weighted, in units of the mechanism's length.
        excess: by how much the worst joint is beyond its limit [m, rad].
    """

    q: Array
    left: list[list[Array]]
    weighted: list[Array]
    excess: Array

    @property
    def costs(self) -> list[Array]:
        """Squares of what is beyond limits, and of what is left, by level."""
        return [self.excess**2, *((x * x).sum(axis=-1) for x in self.weighted)]

    def some(self, rows: NDArray[np.bool_]) -> Here:
        """Some of the poses."""
        left = [[x[rows] for x in level] for level in self.left]
        return Here(self.q[rows], left, [x[rows] for x in self.weighted], self.excess[rows])


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
    def of(cls, robot: Model | Dynamics, tasks: Task | Iterable[Task], limits: JointBounds) -> Problem:
        """Arguments of callers, checked."""
        dynamics = robot if isinstance(robot, Dynamics) else Dynamics(_as_model(robot))
        given = listed(tasks)
        for task in given:
            task.refuse_unfit(dynamics)
            task.weights(dynamics)
        numbers = sorted({task.level for task in given})
        levels = [[task for task in given if task.level == number] for number in numbers]
        return cls(dynamics, levels, *_bounds(dynamics.model, limits))

    @property
    def count(self) -> int | None:
        """How many goals the tasks have; None where none of them is stacked."""
        counts = {task.count for task in self.tasks} - {None}
        if len(counts) > 1:
            raise InputError(
                f"tasks have {sorted(filter(None, counts))} goals; those that are stacked must be as many.",
                field="tasks",
                value=tuple(sorted(filter(None, counts))),
            )
        return counts.pop() if counts else None

    def some(self, rows: NDArray[np.intp]) -> Problem:
        """The same for some of the goals."""
        return replace(self, levels=[[task.some(rows) for task in level] for level in self.levels])

    def of_one_goal(self) -> Problem:
        """Itself; refused where goals are stacked."""
        if self.count is not None:
            raise InputError(
                f"{self.count} goals are stacked; ada.ik.solve_many takes them, all at once.",
                field="tasks",
                value=self.count,
            )
        return self

    @property
    def tasks(self) -> list[Task]:
        """All of them, by level."""
        return [task for level in self.levels for task in level]

    @cached_property
    def _weights(self) -> list[list[Array]]:
        return [[task.weights(self.dynamics) for task in level] for level in self.levels]

    @cached_property
    def _free(self) -> Array:
        """U N where there are no loops."""
        return np.diag(self.dynamics.choices.units)

    def motions(self, q: Array) -> Array:
        """U N, (nv, mobility)."""
        if not self.dynamics.model.loops:
            return np.broadcast_to(self._free, (*q.shape[:-1], *self._free.shape))
        choices = self.dynamics.choices
        basis = motions(self.dynamics.loop_conditions(q), choices.mobility).basis()
        return np.asarray(choices.units[:, None] * basis)

    def at(self, q: Array) -> Here:
        """Residuals of all tasks."""
        left = [[task.left(self.dynamics, q) for task in level] for level in self.levels]
        weighted = [
            np.concatenate([w * x for w, x in zip(weights, level, strict=True)], axis=-1)
            for weights, level in zip(self._weights, left, strict=True)
        ]
        return Here(q, left, weighted, self.excess(q))

    def is_served(self, here: Here, tolerance: float) -> NDArray[np.bool_]:
        """True if every task of the first level is."""
        served = here.excess <= WITHIN
        for weights, left in zip(self._weights[0], here.left[0], strict=True):
            served = served & (np.abs(left[..., weights > 0.0]) <= tolerance).all(axis=-1)
        return np.asarray(served)

    def jacobians(self, q: Array, along: Array) -> list[Array]:
        """By how much each motion lessens what is left, weighted, level by level."""
        dynamics = self.dynamics
        return [
            np.concatenate([w[:, None] * t.jacobian(dynamics, q) for w, t in zip(weights, level, strict=True)], axis=-2)
            @ along
            for weights, level in zip(self._weights, self.levels, strict=True)
        ]

    def limited_motions(self, q: Array, along: Array) -> Array:
        """Derivatives of limited quantities by each motion, (limits, mobility)."""
        single = along[..., self.limited, :]
        return np.concatenate([single, self.motions_of_angles(q, along)], axis=-2) if self.angles else single

    def motions_of_angles(self, q: Array, along: Array) -> Array:
        """Derivatives of limited angles of spherical joints by each motion."""
        rates = np.zeros((*q.shape[:-1], len(self.angles), self.dynamics.model.nv))
        for i, (name, bound) in enumerate(self.angles):
            rates[..., i, self.dynamics.model.v_index(name)] = np.stack(bound.directions(self._own(q, name)), axis=-1)
        return np.asarray(rates @ along)

    def _own(self, q: Array, joint: str) -> list[Array]:
        """A joint's positions, one by one."""
        return list(np.moveaxis(q[..., self.dynamics.model.q_index(joint)], -1, 0))

    def room(self, q: Array) -> tuple[Array, Array]:
        """How far what is limited is from its limits, down and up; the other way where it is beyond."""
        single = q[..., self.positions]
        down, up = self.lower - single, self.upper - single
        if not self.angles:
            return down, up
        at = np.stack([bound.value(self._own(q, name)) for name, bound in self.angles], axis=-1)
        least, most = np.transpose([bound.ends for _, bound in self.angles])
        return np.concatenate([down, least - at], axis=-1), np.concatenate([up, most - at], axis=-1)

    def excess(self, q: Array) -> Array:
        """By how much the worst joint is beyond its limit [m, rad]."""
        down, up = self.room(q)
        return np.asarray(np.maximum(np.max(down, axis=-1, initial=0.0), np.max(-up, axis=-1, initial=0.0)))

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

    def start(self, q: ArrayLike | None) -> Array:
        """A pose with its loops closed, near a guess; ModelError where there is none."""
        model, guess = self.dynamics.model, start_of(self.dynamics.model, q)
        if self.dynamics.largest_gap(guess) < _NEARLY * self.dynamics.choices.length:
            (plain,), (good,) = self.all_closed(guess[None])
            if good:
                return np.asarray(plain)
        return np.asarray(assemble(model, guess))

    def closed(self, q: Array) -> Array | None:
        """The pose with its loops closed, close by; None where they do not close from there."""
        study = self.dynamics.choices.study
        if study is None:
            return q
        (plain,), (good,) = self.all_closed(q[None])
        if good:
            return np.asarray(plain)
        found = close(study.numbers, q)
        return found.q if found.gap < _OPEN else None

    def all_closed(self, q: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Many poses with their loops closed by plain Newton steps, and which of them are."""
        dynamics, q = self.dynamics, np.array(q)
        if not dynamics.model.loops:
            return q, np.ones(len(q), dtype=np.bool_)
        most = _OPEN * dynamics.choices.length
        gaps = dynamics.loop_gaps(q)
        size = np.max(np.abs(gaps), axis=-1, initial=0.0)
        for _ in range(_CLOSING_STEPS):
            was_closed = size <= most
            back = np.linalg.pinv(dynamics.loop_conditions(q), rcond=_RANK) @ gaps[..., None]
            moved = dynamics.model.integrate(q, -dynamics.choices.units * back[..., 0])
            gaps_there = dynamics.loop_gaps(moved)
            there = np.max(np.abs(gaps_there), axis=-1, initial=0.0)
            taken = ~was_closed | (there < size)  # near a singular pose a last step may open what is closed
            q[taken], gaps[taken], size[taken] = moved[taken], gaps_there[taken], there[taken]
            if was_closed.all():
                break
        return q, size <= most

    def all_moved(self, q: Array, steps: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Many poses, each after a step of its own."""
        at = self.dynamics.model.integrate(q, steps)
        if not self.dynamics.model.loops:
            at[:, self.positions] = np.clip(at[:, self.positions], *self._reachable(q))
            for before, after in zip(q, at, strict=True) if self.angles else ():
                self._clip_turns(before, after)
        return self.all_closed(at)

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
        own = q[..., self.positions]
        return np.minimum(self.lower, own), np.maximum(self.upper, own)


def listed(tasks: object) -> list[Task]:
    """Tasks as a caller gives them, one or several, in their order."""
    given = [tasks] if isinstance(tasks, Task) else list(tasks) if isinstance(tasks, Iterable) else []
    if not given or not all(isinstance(task, Task) for task in given):
        raise WrongTypeError(
            f"tasks are {tasks!r:.100}; inverse kinematics needs at least one of PoseTask, PositionTask, "
            "OrientationTask, ComTask, PostureTask.",
            field="tasks",
            value=tasks,
        )
    return given


def _as_model(robot: object) -> Model:
    if not isinstance(robot, Model):
        raise WrongTypeError(
            f"the robot is {robot!r:.100}; inverse kinematics needs a Model or a Dynamics.", field="robot", value=robot
        )
    return robot


def _rising(joint: str, pair: object) -> tuple[float, float]:
    """Two limits of a joint, checked."""
    try:
        least, most = (float(x) for x in pair)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        least, most = np.nan, np.nan
    if not least <= most:
        raise InputError(
            f"limits of joint {joint!r} are {pair!r:.80}; they must be two numbers that do not fall.",
            joint=joint,
            field="limits",
            value=pair,
            allowed="two numbers that do not fall",
        )
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
        raise WrongTypeError(
            f"limits are {limits!r:.100}; they must be True, False, or {{joint: (lower, upper)}}.",
            field="limits",
            value=limits,
        )
    given = limits if isinstance(limits, Mapping) else {}
    for name, pair in given.items():
        lower[model.q_index(name)], upper[model.q_index(name)] = _rising(name, pair)
    for name in () if limits is False else model.joint_names:
        q_own, v_own = model.q_index(name), model.v_index(name)
        if q_own.stop - q_own.start != v_own.stop - v_own.start:
            if name in given:
                raise InputError(
                    f"joint {name!r} cannot be limited: its positions are not free numbers. Give its angles limits in "
                    "the model (turns).",
                    joint=name,
                    field="limits",
                    allowed="joints whose positions are free numbers",
                )
            angles += [(name, bound) for bound in bounds_of(model.joints[name])]
            continue
        q_places += range(q_own.start, q_own.stop)
        v_places += range(v_own.start, v_own.stop)
    places = np.array(q_places, dtype=np.intp)
    bounded = np.isfinite(lower[places]) | np.isfinite(upper[places])
    kept = places[bounded]
    return np.array(v_places, dtype=np.intp)[bounded], kept, lower[kept], upper[kept], tuple(angles)
