# SPDX-License-Identifier: Apache-2.0
"""Redundancy resolution of the PA-10 along a path: continuous, within limits, away from singular configurations.

The redundant angle is sampled on a grid for each pose, and the best sequence of solutions is found by dynamic
programming. The grid is then refined around the result until the angle hardly changes; first for a subset of the poses,
so that the grid cells are not smaller than the motion between poses, then for all. The cost approximates an integral
along the path:

    ∫ |dq/ds|² + limits * Σ_j (1 / (1 - (q_j / end_j)²) - 1) + singular * (w_0 / w)²  ds,  s = 0 ... 1

with the manipulability w. Motions of more than `largest_step` between two poses are not allowed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_controllers.arm.pa10_chain import JOINTS, Lengths, forward, joint_limits, manipulability
from ada_controllers.arm.pa10_inverse import COLUMNS, TOLERANCE, Redundant, inverse_batch
from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError

# E2 and W2, whose limits allow more than one turn: they are continued beyond ±π
_TURNING = [4, 6]
_TURN = 2.0 * math.pi
_CELLS = 72  # cells of the first grid, over a full turn
_FINER = 11  # angles of each refined grid; odd, so that it contains the previous result
_FINEST = math.radians(0.05)  # half width at which the refinement ends
_FEW = 17  # number of poses of the first subset
_SPREAD = 1.5  # half width of a refined grid, in cells of the previous one
_LOW_MANIPULABILITY = 0.01  # w_0 [m³]; the maximum of the arm is 0.23
_AT_START = 1e-6  # tolerance of the start pose


class PathUnresolved(InputError):
    """Path without a continuous motion.

    Attributes:
        index: index of the first pose without solution, or not reachable from the previous one.
    """

    def __init__(self, text: str, index: int, **facts: Any) -> None:
        """Args: message, the attribute, and facts of an `AdaError`."""
        super().__init__(text, **facts)
        self.index = index


@dataclass(frozen=True)
class Preferences:
    """Weights of the cost, and constraints."""

    limits: float = 0.1  # weight of the distance to limits
    singular: float = 0.1  # weight of the distance to singular configurations
    largest_step: float = 0.5  # maximum motion of a joint between two poses [rad]
    margin: float = 0.01  # minimum distance to the limits [rad]


class ResolvedPath(NamedTuple):
    """Joint motion along a path.

    Attributes:
        q: (N, 7) [rad], continuous: E2 and W2 may exceed ±π.
        value: angle of the redundant joint at each pose (N,) [rad].
        manipulability: manipulability at each pose (N,).
    """

    q: Array
    value: Array
    manipulability: Array


class _Sets(NamedTuple):
    """Candidate solutions: K for each of N poses."""

    q: Array  # (N, K, 7)
    allowed: NDArray[np.bool_]  # (N, K)
    cost: Array  # (N, K)


@dataclass(frozen=True)
class _Task:
    """Data common to all grids."""

    poses: Array
    lengths: str | Lengths
    redundant: Redundant
    hand: ArrayLike | None
    start: Array | None
    lower: Array
    upper: Array
    desired: Preferences

    def of(self, some: NDArray[np.int64], stride: int) -> _Task:
        """Return the task for a subset of the poses, `stride` apart."""
        desired = replace(self.desired, largest_step=stride * self.desired.largest_step)
        return replace(self, poses=self.poses[some], desired=desired)


def resolve_path(
    poses: ArrayLike,
    lengths: str | Lengths = "CE",
    redundant: Redundant = "s1",
    start: ArrayLike | None = None,
    hand: ArrayLike | None = None,
    limits: tuple[ArrayLike, ArrayLike] | None = None,
    preferences: Preferences = Preferences(),
) -> ResolvedPath:
    """Return a continuous joint motion along a path of poses.

    Args:
        poses: closely spaced poses of the hand in the base frame (N, 4, 4).
        lengths: "CE", "7C", or user-defined lengths.
        redundant: redundant joint, "s1" or "s3".
        start: joint angles at the first pose; None to optimize them.
        hand: as in `inverse`.
        limits: lower and upper joint limits [rad]; None for those of the robot description.
        preferences: weights and constraints.

    Raises:
        PathUnresolved: if a pose has no solution, or cannot be reached from the previous one.
        InputError: if poses are invalid, the start does not match, or a name is unknown.
    """
    task = _task(poses, lengths, redundant, start, hand, limits, preferences)
    count = len(task.poses)
    _require_each_pose(task)
    some = np.unique(np.linspace(0, count - 1, min(count, _FEW)).round().astype(int))
    stride = math.ceil((count - 1) / max(len(some) - 1, 1))
    try:
        q = _refined(task.of(some, stride), np.zeros(len(some)), math.pi, _CELLS + 1)
        if len(some) < count:
            value = np.interp(np.arange(count), some, q[:, COLUMNS[redundant]])
            q = _refined(task, value, _SPREAD * _TURN / _CELLS, _FINER)
    except PathUnresolved:
        if len(some) == count:
            raise
        q = _refined(task, np.zeros(count), math.pi, _CELLS + 1)
    q = _unwound(task, q)
    return ResolvedPath(q, q[:, COLUMNS[redundant]].copy(), np.asarray(manipulability(q, lengths)))


def _refined(task: _Task, centre: Array, half: float, cells: int) -> Array:
    """Return the best solutions with angles around a centre, on successively finer grids."""
    rows = np.arange(len(task.poses))
    q = np.empty((len(rows), 7))
    while half > _FINEST:
        sets = _solutions(task, centre[:, np.newaxis] + np.linspace(-half, half, cells))
        q = sets.q[rows, _best_way(task, sets)]
        centre = q[:, COLUMNS[task.redundant]]
        half, cells = _SPREAD * 2.0 * half / (cells - 1), _FINER
    return q


def _task(
    poses: ArrayLike,
    lengths: str | Lengths,
    redundant: Redundant,
    start: ArrayLike | None,
    hand: ArrayLike | None,
    limits: tuple[ArrayLike, ArrayLike] | None,
    preferences: Preferences,
) -> _Task:
    frames = np.asarray(poses, dtype=np.float64)
    if frames.ndim != 3 or frames.shape[1:] != (4, 4) or len(frames) < 1:
        raise InputError(
            f"PA-10: the path has the shape {frames.shape}; give poses (N, 4, 4), one at least.",
            field="poses",
            value=frames.shape,
            allowed="(N, 4, 4)",
        )
    if limits is None and not isinstance(lengths, str):
        raise InputError("PA-10: limits are known for the lengths 'CE' and '7C' only; give `limits`.", field="limits")
    lower, upper = (np.asarray(end, dtype=np.float64) for end in (limits or joint_limits(str(lengths))))
    if lower.shape != (7,) or upper.shape != (7,) or not (upper - lower > 2.0 * preferences.margin).all():
        raise InputError(
            "PA-10: limits must be lower and upper limits of the seven joints, farther apart than twice the margin.",
            field="limits",
            value=(lower, upper),
        )
    begin = None
    if start is not None:
        begin = np.asarray(start, dtype=np.float64)
        there = forward(begin, lengths, hand)
        away = float(np.abs(there - frames[0]).max()) if there.ndim == 2 else math.inf
        if not away <= _AT_START:
            raise InputError(
                f"PA-10: the start does not match the first pose: they differ by {away:.2g} "
                f"(allowed {_AT_START:g}). Start the path at the present pose, `forward(start)`.",
                field="start",
                value=away,
                allowed=_AT_START,
            )
        beyond = np.flatnonzero((begin < lower) | (begin > upper))
        if len(beyond):
            raise InputError(
                f"PA-10: joint {JOINTS[beyond[0]]} is outside its limits at the start.",
                joint=JOINTS[beyond[0]],
                field="start",
                value=float(begin[beyond[0]]),
            )
    return _Task(frames, lengths, redundant, hand, begin, lower, upper, preferences)


def _solutions(task: _Task, values: Array) -> _Sets:
    """Return all solutions on a grid of angles (N, cells)."""
    q, allowed, _ = _within_limits(task, values)
    if task.start is not None:
        # the start may be within the margin
        q[0], allowed[0] = task.start, np.arange(q.shape[1]) == 0
    return _Sets(q, allowed, _posture_cost(task, q, allowed))


def _within_limits(task: _Task, values: Array) -> tuple[Array, NDArray[np.bool_], Array]:
    """Return the solutions (N, K, 7), a mask of the allowed ones, and the distance of each pose from the workspace."""
    count, cells = values.shape
    every = np.repeat(task.poses, cells, axis=0)
    found = inverse_batch(every, values.ravel(), task.lengths, task.redundant, task.hand)
    q = np.nan_to_num(found.q).reshape(count, cells * 8, 7)
    lower, upper = task.lower + task.desired.margin, task.upper - task.desired.margin
    inside = (q >= lower) & (q <= upper)
    for turn in (-_TURN, _TURN):
        shifted = q[..., _TURNING] + turn
        inside[..., _TURNING] |= (shifted >= lower[_TURNING]) & (shifted <= upper[_TURNING])
    allowed = inside.all(axis=2) & np.repeat(found.valid.reshape(count, cells), 8, axis=1)
    return q, allowed, found.distance.reshape(count, cells)[:, 0]


def _require_each_pose(task: _Task) -> None:
    """Raise PathUnresolved for the first pose without a solution."""
    grid = np.tile(np.linspace(-math.pi, math.pi, _CELLS + 1), (len(task.poses), 1))
    q, allowed, distance = _within_limits(task, grid)
    first = 0 if task.start is None else 1
    for index in first + np.flatnonzero(~allowed[first:].any(axis=1))[:1]:
        _refuse_pose(task, int(index), q[index], float(distance[index]))


def _posture_cost(task: _Task, q: Array, allowed: NDArray[np.bool_]) -> Array:
    """Return the posture terms of the cost; zero for solutions that are not allowed."""
    some = q[allowed]
    still = [i for i in range(7) if i not in _TURNING]
    middle, half = (task.lower + task.upper)[still] / 2.0, (task.upper - task.lower)[still] / 2.0
    part = np.minimum(((some[:, still] - middle) / half) ** 2, 1.0 - 1e-6)
    singular = (_LOW_MANIPULABILITY / np.maximum(manipulability(some, task.lengths), 1e-9)) ** 2
    cost = np.zeros(allowed.shape)
    cost[allowed] = task.desired.limits * (1.0 / (1.0 - part) - 1.0).sum(axis=1) + task.desired.singular * singular
    return cost


def _best_way(task: _Task, sets: _Sets) -> NDArray[np.intp]:
    """Return the index of the solution to use at each pose, by dynamic programming."""
    count = len(sets.q)
    here = np.flatnonzero(sets.allowed[0])
    sums = sets.cost[0, here] / count
    sources: list[tuple[NDArray[np.intp], NDArray[np.intp]]] = [(here, here)]
    for i in range(1, count):
        there = np.flatnonzero(sets.allowed[i])
        step = sets.q[i, there][:, np.newaxis] - sets.q[i - 1, here]
        step[..., _TURNING] -= _TURN * np.round(step[..., _TURNING] / _TURN)
        largest = np.abs(step).max(axis=2)
        total = sums + (count - 1) * np.einsum("abj,abj->ab", step, step)
        total[largest > task.desired.largest_step] = math.inf
        source = total.argmin(axis=1)
        reached = total[np.arange(len(there)), source]
        alive = np.isfinite(reached)
        if not alive.any():
            raise PathUnresolved(
                f"PA-10: from pose {i - 1} of the path to pose {i} a joint would have to move by at least "
                f"{largest.min():.3g} rad; the maximum is {task.desired.largest_step:g} rad (`largest_step`). Insert "
                "poses, or change the path: solution branches end or meet at this pose.",
                i,
                field="largest_step",
                value=float(largest.min()),
                allowed=task.desired.largest_step,
            )
        sums = reached[alive] + sets.cost[i, there[alive]] / count
        sources.append((there[alive], source[alive]))
        here = there[alive]
    return _way_back(sources, int(sums.argmin()))


def _way_back(sources: list[tuple[NDArray[np.intp], NDArray[np.intp]]], last: int) -> NDArray[np.intp]:
    """Trace the best sequence back from the end, by reached solutions and their predecessors at each pose."""
    way = np.empty(len(sources), dtype=np.intp)
    for i in range(len(sources) - 1, -1, -1):
        reached, source = sources[i]
        way[i], last = reached[last], int(source[last])
    return way


def _unwound(task: _Task, q: Array) -> Array:
    """Remove full turns of E2 and W2, within their limits."""
    result = q.copy()
    for j in _TURNING:
        angles = np.unwrap(q[:, j])
        turns = [0.0] if task.start is not None else [0.0, -_TURN, _TURN]
        for turn in turns:
            inside = (angles + turn >= task.lower[j]) & (angles + turn <= task.upper[j])
            if inside.all():
                result[:, j] = angles + turn
                break
        else:
            index = int(np.argmin((angles >= task.lower[j]) & (angles <= task.upper[j])))
            raise PathUnresolved(
                f"PA-10: joint {JOINTS[j]} accumulates turns along the path: at pose {index} it is at "
                f"{angles[index]:.4g} rad, outside its limits {task.lower[j]:.4g} and {task.upper[j]:.4g} rad. Split "
                "the path and turn back in between.",
                index,
                joint=JOINTS[j],
                field="limits",
                value=float(angles[index]),
                allowed=(float(task.lower[j]), float(task.upper[j])),
            )
    return result


def _refuse_pose(task: _Task, index: int, q: Array, distance: float) -> NoReturn:
    elbow = np.abs(q[:, 3]).max()  # equal for all solutions
    facts: dict[str, Any] = {"field": "limits"}
    if distance > TOLERANCE:
        facts = {"field": "reach", "value": distance}
        why = f"the wrist would be {distance:.3g} m out of reach (eq. 24)"
    elif not task.lower[3] <= elbow <= task.upper[3] and not task.lower[3] <= -elbow <= task.upper[3]:
        facts |= {"joint": JOINTS[3], "value": float(elbow)}
        why = f"E1 would be at ±{elbow:.4g} rad, outside its limits {task.lower[3]:.4g} and {task.upper[3]:.4g}"
    else:
        why = (
            f"no angle of {task.redundant.upper()} on a grid of {math.degrees(_TURN / _CELLS):g} degrees keeps all "
            f"joints {task.desired.margin:g} rad within their limits"
        )
    raise PathUnresolved(f"PA-10: pose {index} of the path has no solution: {why}. Move the path.", index, **facts)
