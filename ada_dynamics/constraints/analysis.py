# SPDX-License-Identifier: Apache-2.0
"""Rank of the loops' conditions: mobility, redundant conditions, the ones to use, and which joint forces are unique.

What holds in general is distinguished from what holds in one pose by looking at several poses that close the loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.closure import CLOSED, assembled, close, flipped
from ada_dynamics.constraints.constraint_set import LoopNumbers
from ada_dynamics.constraints.rank import ROUNDED_GAP, STEP, Rows, direction, rank_at, stepped
from ada_dynamics.constraints.singular import SINGULAR
from ada_dynamics.errors import ModelError
from ada_dynamics.model.model import Model

NEAR_SINGULAR = 0.05  # of the median relative singular value of the sample poses
POSES = 6
RANK = 1e-8  # of orthonormal motions: smaller singular values of some of their joints count as zero
# Of the largest row of J: smaller ones, in every pose, act on nothing. Descriptions with rounded numbers leave some
# 1e-9 where a planar loop is meant; taken at its word, such a row would be a condition as hard as any other.
IDLE = 1e-7
# Likewise, as long as the rank is the same without them: what is meant may be rounded to four decimals.
ROUNDED_ROW = 5e-3
AWAY = 0.3  # [rad, m] of poses that need not close the loops
_LOOKED_AT = 3  # such poses, and the start, where conditions that never act are looked for
_REACH = 3.0 * STEP  # of the steps from one sample pose to the next, at first


@dataclass(frozen=True)
class Study:
    """Findings about a model's loops."""

    numbers: LoopNumbers
    poses: tuple[Array, ...]  # that close all loops
    rank: int  # of all conditions, in general poses
    used: tuple[int, ...]  # conditions to use
    idle: tuple[int, ...]  # conditions that never act
    spare: tuple[int, ...]  # conditions that follow from the used ones, but act

    @property
    def mobility(self) -> int:
        """Degrees of freedom that the loops leave."""
        return self.numbers.model.nv - self.rank

    @property
    def is_redundant(self) -> bool:
        """True if conditions that act depend on each other, so that all of them have to be kept."""
        return bool(self.spare)

    def rows(self, conditions: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
        """Conditions by loop, as indices into `closure.row_kinds`."""
        chosen: dict[str, tuple[int, ...]] = dict.fromkeys(self.numbers.model.loop_names, ())
        for c in sorted(conditions):
            loop, i, _ = self.numbers.conditions[c]
            chosen[loop] = (*chosen[loop], i)
        return chosen

    def redundant_names(self) -> list[str]:
        """The redundant conditions in words, loop by loop."""
        found = []
        for name in self.numbers.model.loop_names:
            idle = [str(kind) for c in self.idle for loop, _, kind in [self.numbers.conditions[c]] if loop == name]
            if idle:
                found.append(f"{name}: {', '.join(idle)} (never carries anything the mechanism feels)")
        if self.spare:
            loops = sorted({self.numbers.conditions[c][0] for c in (*self.used, *self.spare)})
            surplus = len(self.used) + len(self.spare) - self.rank
            found.append(f"{', '.join(loops)}: {surplus} of the conditions that act follow from the others")
        return found


def study(model: Model, pose: Array | None = None) -> Study:
    """Look at the loops of a model.

    Args:
        model: a model with loops.
        pose: one that closes all loops, of the way of assembly to be used; found by itself by default.
    """
    numbers = LoopNumbers(model)
    refuse_open(numbers)
    start = assembled(model, numbers, model.home() if pose is None else pose)
    return _study_at(numbers, sample_poses(numbers, start))


def turned_study(found: Study) -> Study:
    """The study of the same constraints, with the axes of the other sides of the loop joints."""
    return _study_at(LoopNumbers(found.numbers.model, turned=True), list(found.poses))


def _study_at(numbers: LoopNumbers, poses: list[Array]) -> Study:
    """Study the constraints in configurations that close the loops."""
    jacobians = [numbers.jacobian(q) / numbers.weights[:, None] for q in poses]
    largest = np.max([np.max(np.abs(J), axis=1, initial=0.0) for J in jacobians], axis=0)
    acts, strong = (largest > share * np.max(largest, initial=0.0) for share in (IDLE, ROUNDED_ROW))
    rank = _general_rank(Rows(numbers, np.flatnonzero(acts)), poses)
    if strong.any() and _general_rank(Rows(numbers, np.flatnonzero(strong)), poses) == rank:
        acts = strong
    idle, acting = np.flatnonzero(~acts), np.flatnonzero(acts)
    whitened = [numbers.whitened(q)[:, acting] for q in poses]
    regular = _regular(whitened, rank)
    poses, whitened = [poses[i] for i in regular], [whitened[i] for i in regular]
    used = independent_columns([W / np.maximum(np.linalg.norm(W, axis=0), 1e-300) for W in whitened], rank)
    chosen = tuple(int(acting[i]) for i in used)
    spare = tuple(int(c) for c in acting if int(c) not in chosen)
    return Study(numbers, tuple(poses), rank, chosen, tuple(int(c) for c in idle), spare)


def acting_somewhere(numbers: LoopNumbers, q: Array) -> list[int]:
    """Conditions that some motion of the tree feels, in this pose or in others."""
    rng = np.random.default_rng(20120304)
    largest = np.zeros(len(numbers.conditions))
    for i in range(_LOOKED_AT):
        at = q if i == 0 else numbers.model.integrate(q, AWAY * rng.normal(size=numbers.model.nv))
        sizes = [max((abs(x) for x in row.columns.values()), default=0.0) for row in numbers.rows(at)]
        largest = np.maximum(largest, sizes)
    return [int(c) for c in np.flatnonzero(largest > IDLE * np.max(largest, initial=0.0))]


def sample_poses(numbers: LoopNumbers, start: Array, count: int = POSES) -> list[Array]:
    """The start, and poses that motions lead to from there; the same for the same model.

    Poses that are closed anyhow would not do: they can belong to another way of assembly, with another mobility, as a
    parallelogram with a third crank has them.
    """
    rows = Rows(numbers, np.array(acting_somewhere(numbers, start), dtype=np.intp))
    rng = np.random.default_rng(20120302)
    allowed = max(1e-11, min(ROUNDED_GAP, 10.0 * rows.size(start)))
    found, ranks = [start], [rank_at(rows, start)]
    for attempt in range(6 * count):
        if len(found) >= count:
            break
        i = int(rng.integers(len(found)))
        N = rows.spectrum(found[i]).Vt[ranks[i] :]
        if not len(N):
            break
        moved = _moved(rows, found[i], ranks[i], _REACH * 0.6 ** (attempt // count) * direction(rng, N))
        if moved is not None and rows.size(moved) <= allowed and not flipped(numbers.model.tree, moved):
            found.append(moved)
            ranks.append(rank_at(rows, moved))
    return found


def _moved(rows: Rows, q: Array, rank: int, step: Array) -> Array | None:
    """Where a step leads; from a singular pose onto one of its branches, which no straight step follows."""
    straight = stepped(rows, q, rank, step)
    if straight is not None and rows.size(straight) <= max(1e-11, 10.0 * rows.size(q)):
        return straight
    model = rows.numbers.model
    aim = model.integrate(q, step)
    found = close(rows.numbers, aim, steps=25).q
    size = float(np.max(np.abs(step)))
    short, aside = (float(np.max(np.abs(model.difference(at, found)), initial=0.0)) for at in (q, aim))
    return found if short > 0.25 * size and aside < size else None


def _general_rank(rows: Rows, poses: list[Array]) -> int:
    """The rank in most of the poses; a start that motions lead away from may be singular, and does not count."""
    ranks = [rank_at(rows, q) for q in (poses[1:] or poses)]
    return max(ranks, key=lambda rank: (ranks.count(rank), rank))


def _regular(whitened: list[Array], rank: int) -> list[int]:
    """The poses that are not much nearer to a singular one than most: a start may be in one, and tells nothing then."""
    if rank == 0:
        return list(range(len(whitened)))
    sizes = [np.linalg.svd(W, compute_uv=False) for W in whitened]
    sigma = np.array([s[rank - 1] / max(s[0], 1e-300) for s in sizes])
    return np.flatnonzero(sigma >= NEAR_SINGULAR * np.median(sigma)).tolist()


def independent_columns(matrices: Sequence[Array], count: int) -> list[int]:
    """So many columns that stay far from dependent in the worst of the poses: pivoted Gram-Schmidt."""
    remaining = list(matrices)
    chosen: list[int] = []
    for _ in range(count):
        left = np.min([np.linalg.norm(R, axis=0) for R in remaining], axis=0)
        left[chosen] = -1.0
        k = int(np.argmax(np.round(left, 3)))
        if left[k] <= 0.0:
            break
        chosen.append(k)
        remaining = [_without(R, k) for R in remaining]
    return sorted(chosen)


def _without(R: Array, k: int) -> Array:
    column = R[:, k]
    size = float(column @ column)
    return R if size < 1e-24 else R - np.outer(column, column @ R) / size


def refuse_open(numbers: LoopNumbers) -> None:
    """Raise for an open loop between links that are fixed to each other: it holds in every pose or in none."""
    model = numbers.model
    gaps = numbers.gap(model.neutral())
    for loop in model.tree.loops:
        own = [abs(g) for g, (name, _, _) in zip(gaps, numbers.conditions, strict=True) if name == loop.name]
        if loop.parent == loop.child and max(own, default=0.0) > CLOSED * max(1.0, numbers.length):
            sides = model.loops[loop.name]
            raise ModelError(
                f"model {model.name!r}: loop {loop.name!r} joins links {sides.parent!r} and {sides.child!r}, which are "
                f"already fixed to each other, {max(own):.3g} apart; remove the loop, or a fixed joint between them.",
                loop=loop.name,
                link=sides.parent,
                value=max(own),
            )


# --- one state --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class LoopState:
    """The loops in one state.

    Attributes:
        gap: by loop, how far each of its conditions is from holding [m, rad].
        drift: by loop, how fast [m/s, rad/s]; zero without a velocity.
        sigma: smallest singular value of the conditions, weighted by the mass matrix, by the largest: 0 in a singular
            pose, where the loops lose rank.
        mobility: degrees of freedom in this pose.
    """

    gap: dict[str, Array]
    drift: dict[str, Array]
    sigma: float
    mobility: int

    @property
    def worst_gap(self) -> float:
        """The largest one."""
        return max((float(np.max(np.abs(g), initial=0.0)) for g in self.gap.values()), default=0.0)

    @property
    def is_singular(self) -> bool:
        """True if the pose counts as singular."""
        return self.sigma < SINGULAR


def loop_state(study: Study, q: Array, v: Array | None) -> LoopState:
    """Look at one state.

    Args:
        study: of the model.
        q: positions.
        v: velocities, or None.
    """
    numbers = study.numbers
    gaps = numbers.gap(q)
    drifts = np.zeros(len(gaps)) if v is None else numbers.jacobian(q) @ v
    names = np.array([loop for loop, _, _ in numbers.conditions])
    acting = sorted((*study.used, *study.spare))
    s = np.linalg.svd(numbers.whitened(q)[:, acting], compute_uv=False)
    kept = min(int(np.sum(s > SINGULAR * np.max(s, initial=0.0))), study.rank)
    return LoopState(
        {name: gaps[names == name] for name in numbers.model.loop_names},
        {name: drifts[names == name] for name in numbers.model.loop_names},
        float(s[study.rank - 1] / s[0]) if study.rank else 1.0,
        numbers.model.nv - kept,
    )


# --- uniqueness of joint forces ---------------------------------------------------------------------------------------
Flags = dict[str, NDArray[np.bool_]]  # six flags per joint, [force, moment]

REACHED = 1e-9  # share of a unit multiplier in a component


def in_general(study: Study) -> Flags:
    """Components that are unique in general poses."""
    return common([at_pose(study.numbers, q, study.rank) for q in study.poses])


def at_pose(numbers: LoopNumbers, q: Array, rank: int) -> Flags:
    """Components that are unique in a pose where the conditions have the given rank."""
    J = numbers.jacobian(q) / numbers.weights[:, None]
    U = np.linalg.svd(J, full_matrices=True)[0]
    reached: dict[str, Array] = {}
    for wrenches in numbers.wrenches(q, U[:, rank:].T / numbers.weights):
        for name, wrench in wrenches.items():
            reached[name] = np.maximum(reached.get(name, np.zeros(6)), np.abs(wrench) / numbers.moment_units)
    names = [body.name for body in numbers.model.full_tree.bodies] + numbers.model.loop_names
    return {name: reached.get(name, np.zeros(6)) < REACHED for name in names}


def common(several: Sequence[Flags]) -> Flags:
    """Components that are unique in all of several poses."""
    first, *others = several
    return {name: np.logical_and.reduce([flags, *(o[name] for o in others)]) for name, flags in first.items()}
