# SPDX-License-Identifier: Apache-2.0
"""Analysis of the loop constraints: rank, mobility, independent, redundant and trivial constraints, unique reactions.

Several sample configurations that close the loops distinguish the general rank from that of one configuration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.closure import CLOSED, closed_near, gauss_newton, reversed_loops
from ada_dynamics.constraints.constraint_set import ConstraintSet
from ada_dynamics.constraints.rank import ROUNDED_GAP, STEP, ConstraintSubset, direction, rank_at, stepped
from ada_dynamics.constraints.singular import SINGULAR
from ada_dynamics.errors import ModelError
from ada_dynamics.model.model import Model

NEAR_SINGULAR = 0.05  # of the median relative singular value of the sample configurations
SAMPLES = 6
RANK = 1e-8  # of orthonormal motions: smaller singular values of some of their joints count as zero
# Rows of J below this share of the largest row, in every configuration, are trivial constraints. Descriptions with
# rounded numbers leave some 1e-9 in planar loops; such a row would otherwise count as an independent constraint.
TRIVIAL = 1e-7
# Share that is trivial if the rank is the same without these rows: the description may be rounded to four decimals.
ROUNDED_ROW = 5e-3
AWAY = 0.3  # [rad, m] of configurations that need not close the loops
_LOOKED_AT = 3  # such configurations, and the start, in which trivial constraints are looked for
_REACH = 3.0 * STEP  # of the first steps between sample configurations


@dataclass(frozen=True)
class ConstraintAnalysis:
    """Rank and classes of the constraints of a model, found in sample configurations.

    Attributes:
        constraints: all constraints of all loops.
        configurations: samples that close all loops.
        rank: of all constraints in general configurations.
        independent: a set of independent constraints.
        trivial: constraints that no motion of the tree violates.
        redundant: non-trivial constraints that depend on the independent ones.
    """

    constraints: ConstraintSet
    configurations: tuple[Array, ...]
    rank: int
    independent: tuple[int, ...]
    trivial: tuple[int, ...]
    redundant: tuple[int, ...]

    @property
    def mobility(self) -> int:
        """Degrees of freedom of the mechanism."""
        return self.constraints.model.nv - self.rank

    @property
    def is_redundant(self) -> bool:
        """True if non-trivial constraints depend on each other."""
        return bool(self.redundant)

    @property
    def nontrivial(self) -> tuple[int, ...]:
        """Independent and redundant constraints, sorted."""
        return tuple(sorted((*self.independent, *self.redundant)))

    def by_loop(self, constraints: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
        """Constraints by loop, as indices into `Loop.rows`."""
        chosen: dict[str, tuple[int, ...]] = dict.fromkeys(self.constraints.model.loop_names, ())
        for c in sorted(constraints):
            loop, i, _ = self.constraints.rows[c]
            chosen[loop] = (*chosen[loop], i)
        return chosen

    def trivial_names(self) -> dict[str, list[str]]:
        """Trivial constraints in words, by loop."""
        found: dict[str, list[str]] = {}
        for c in self.trivial:
            loop, _, kind = self.constraints.rows[c]
            found.setdefault(loop, []).append(str(kind))
        return found

    def redundant_names(self) -> list[str]:
        """Trivial and redundant constraints in words, loop by loop."""
        found = [
            f"{name}: {', '.join(trivial)} (trivial: no motion of the tree violates it)"
            for name, trivial in self.trivial_names().items()
        ]
        if self.redundant:
            loops = sorted({self.constraints.rows[c][0] for c in (*self.independent, *self.redundant)})
            surplus = len(self.nontrivial) - self.rank
            found.append(f"{', '.join(loops)}: {surplus} of the non-trivial constraints depend on the others")
        return found


def analyse(model: Model, q: Array | None = None) -> ConstraintAnalysis:
    """Analyse the loop constraints of a model.

    Args:
        model: a model with loops.
        q: configuration near one that closes all loops, in the assembly mode to be used; the model's home by default.
    """
    constraints = ConstraintSet(model)
    refuse_open(constraints)
    constraints.trace()
    start = closed_near(model, constraints, model.home() if q is None else q)
    return _analyse_at(constraints, sample_configurations(constraints, start))


def analyse_turned(analysis: ConstraintAnalysis) -> ConstraintAnalysis:
    """Analyse the same constraints with the axes of the other sides of the loop joints."""
    constraints = analysis.constraints.turned()
    constraints.trace([*analysis.configurations, constraints.model.neutral()])
    return _analyse_at(constraints, list(analysis.configurations))


def _analyse_at(constraints: ConstraintSet, samples: list[Array]) -> ConstraintAnalysis:
    """Analyse the constraints in configurations that close the loops."""
    jacobians = [constraints.jacobian(q) / constraints.weights[:, None] for q in samples]
    largest = np.max([np.max(np.abs(J), axis=1, initial=0.0) for J in jacobians], axis=0)
    acts, strong = (largest > share * np.max(largest, initial=0.0) for share in (TRIVIAL, ROUNDED_ROW))
    rank = _general_rank(constraints, acts, samples)
    if strong.any() and _general_rank(constraints, strong, samples) == rank:
        acts = strong
    trivial, nontrivial = np.flatnonzero(~acts), np.flatnonzero(acts)
    whitened = [W[:, nontrivial] for W in constraints.whitened(samples)]
    regular = _regular(whitened, rank)
    samples, whitened = [samples[i] for i in regular], [whitened[i] for i in regular]
    columns = independent_columns([W / np.maximum(np.linalg.norm(W, axis=0), 1e-300) for W in whitened], rank)
    independent = tuple(int(nontrivial[i]) for i in columns)
    redundant = tuple(int(c) for c in nontrivial if int(c) not in independent)
    return ConstraintAnalysis(constraints, tuple(samples), rank, independent, tuple(trivial.tolist()), redundant)


def nontrivial_constraints(constraints: ConstraintSet, q: Array) -> list[int]:
    """Constraints that some velocity of the tree violates, in q or in random configurations near it."""
    rng = np.random.default_rng(20120304)
    largest = np.zeros(len(constraints.rows))
    for i in range(_LOOKED_AT):
        at = q if i == 0 else constraints.model.integrate(q, AWAY * rng.normal(size=constraints.model.nv))
        sizes = [max((abs(x) for x in row.columns.values()), default=0.0) for row in constraints.equations(at)]
        largest = np.maximum(largest, sizes)
    return [int(c) for c in np.flatnonzero(largest > TRIVIAL * np.max(largest, initial=0.0))]


def sample_configurations(constraints: ConstraintSet, start: Array) -> list[Array]:
    """The start and configurations reached from it by motions that keep the loops closed; deterministic.

    Any closed configurations would not do, as they can belong to another assembly mode with another mobility; a
    parallelogram with a third crank is an example.
    """
    rows = ConstraintSubset(constraints, np.array(nontrivial_constraints(constraints, start), dtype=np.intp))
    rng = np.random.default_rng(20120302)
    found, ranks = [start], [rank_at(rows, start)]
    by_rounding = float(np.max(rows.spectrum(start).s[ranks[0] :], initial=0.0))
    allowed = max(1e-11, min(ROUNDED_GAP, 10.0 * max(rows.size(start), by_rounding)))
    for attempt in range(6 * SAMPLES):
        if len(found) >= SAMPLES:
            break
        i = int(rng.integers(len(found)))
        N = rows.spectrum(found[i]).Vt[ranks[i] :]
        if not len(N):
            break
        moved = _moved(rows, found[i], ranks[i], _REACH * 0.6 ** (attempt // SAMPLES) * direction(rng, N))
        if moved is not None and rows.size(moved) <= allowed and not reversed_loops(constraints.model.tree, moved):
            found.append(moved)
            ranks.append(rank_at(rows, moved))
    return found


def _moved(rows: ConstraintSubset, q: Array, rank: int, step: Array) -> Array | None:
    """Closed configuration after a step; from a singular configuration on one of its branches."""
    straight = stepped(rows, q, rank, step)
    if straight is not None and rows.size(straight) <= max(1e-11, 10.0 * rows.size(q)):
        return straight
    model = rows.constraints.model
    aim = model.integrate(q, step)
    found = gauss_newton(rows.constraints, aim, steps=25).q
    size = float(np.max(np.abs(step)))
    short, aside = (float(np.max(np.abs(model.difference(at, found)), initial=0.0)) for at in (q, aim))
    return found if short > 0.25 * size and aside < size else None


def _general_rank(constraints: ConstraintSet, chosen: NDArray[np.bool_], samples: list[Array]) -> int:
    """Most frequent rank of the samples; the start, which may be singular, does not count if there are others."""
    rows = ConstraintSubset(constraints, np.flatnonzero(chosen))
    ranks = [rank_at(rows, q) for q in samples[1:] or samples]
    return max(ranks, key=lambda rank: (ranks.count(rank), rank))


def _regular(whitened: list[Array], rank: int) -> list[int]:
    """Indices of the samples that are not much nearer to a singular configuration than the median."""
    if rank == 0:
        return list(range(len(whitened)))
    sizes = [np.linalg.svd(W, compute_uv=False) for W in whitened]
    sigma = np.array([s[rank - 1] / max(s[0], 1e-300) for s in sizes])
    return np.flatnonzero(sigma >= NEAR_SINGULAR * np.median(sigma)).tolist()


def independent_columns(matrices: Sequence[Array], count: int) -> list[int]:
    """Indices of `count` columns that are best conditioned in the worst sample, by pivoted Gram-Schmidt."""
    remaining = list(matrices)
    chosen: list[int] = []
    for _ in range(count):
        left = np.min([np.linalg.norm(R, axis=0) for R in remaining], axis=0)
        left[chosen] = -1.0
        k = int(np.argmax(np.round(left / np.clip(1e3 * np.max(left), 1e-300, 1.0), 3)))  # the first of similar ones
        if left[k] <= 0.0:
            break
        chosen.append(k)
        pairs = [(R, R[:, k]) for R in remaining]
        remaining = [R - np.outer(x, x @ R) / (x @ x) if x @ x >= 1e-24 else R for R, x in pairs]
    return sorted(chosen)


def refuse_open(constraints: ConstraintSet) -> None:
    """Raise for a violated constraint between links that are fixed to each other, which no motion can satisfy."""
    model = constraints.model
    violation = constraints.violation(model.neutral())
    for loop in model.tree.loops:
        own = [abs(x) for x, (name, _, _) in zip(violation, constraints.rows, strict=True) if name == loop.name]
        if loop.parent == loop.child and max(own, default=0.0) > CLOSED * max(1.0, constraints.length):
            sides = model.loops[loop.name]
            raise ModelError(
                f"model {model.name!r}: loop {loop.name!r} joins links {sides.parent!r} and {sides.child!r}, which are "
                f"already fixed to each other, {max(own):.3g} apart; remove the loop, or a fixed joint between them.",
                loop=loop.name,
                link=sides.parent,
                value=max(own),
            )


# --- constraint state -------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class ConstraintState:
    """Constraint violation and conditioning in one state.

    Attributes:
        violation: violation of each constraint, by loop [m, rad].
        rate: time derivative of the violation, J v, by loop [m/s, rad/s]; zero without a velocity.
        sigma: ratio of the smallest to the largest singular value of the constraint Jacobian in the metric of the mass
            matrix; 0 in a singular configuration.
        mobility: degrees of freedom in this configuration.
    """

    violation: dict[str, Array]
    rate: dict[str, Array]
    sigma: float
    mobility: int

    @property
    def largest_violation(self) -> float:
        """Largest violation of all constraints [m, rad]."""
        return max((float(np.max(np.abs(x), initial=0.0)) for x in self.violation.values()), default=0.0)

    @property
    def is_singular(self) -> bool:
        """True if the configuration counts as singular."""
        return self.sigma < SINGULAR


def constraint_state(analysis: ConstraintAnalysis, q: Array, v: Array | None) -> ConstraintState:
    """Constraint violation, its rate, and the singular values of the constraint Jacobian in a state."""
    constraints = analysis.constraints
    violation = constraints.violation(q)
    rate = np.zeros(len(violation)) if v is None else constraints.jacobian(q) @ v
    s = np.linalg.svd(constraints.whitened([q])[0][:, list(analysis.nontrivial)], compute_uv=False)
    kept = min(int(np.sum(s > SINGULAR * np.max(s, initial=0.0))), analysis.rank)
    return ConstraintState(
        constraints.by_loop(violation),
        constraints.by_loop(rate),
        float(s[analysis.rank - 1] / s[0]) if analysis.rank else 1.0,
        constraints.model.nv - kept,
    )


# --- uniqueness of joint forces ---------------------------------------------------------------------------------------
# Multipliers n with Jᵀ n = 0 are internal forces: they press the parts of the mechanism against each other. A component
# of a joint's wrench is uniquely determined if no such n contributes to it.
UniqueComponents = dict[str, NDArray[np.bool_]]  # six flags per joint, [force, moment]

CONTRIBUTES = 1e-9  # share of a unit multiplier in a component


def unique_in_general(analysis: ConstraintAnalysis) -> UniqueComponents:
    """Components of the joint wrenches that are uniquely determined in all sample configurations."""
    return unique_in_all([unique_at(analysis.constraints, q, analysis.rank) for q in analysis.configurations])


def unique_at(constraints: ConstraintSet, q: Array, rank: int) -> UniqueComponents:
    """Components that are uniquely determined in a configuration where J has the given rank."""
    J = constraints.jacobian(q) / constraints.weights[:, None]
    U = np.linalg.svd(J, full_matrices=True)[0]
    reached: dict[str, Array] = {}
    for wrenches in constraints.wrenches(q, U[:, rank:].T / constraints.weights):
        for name, wrench in wrenches.items():
            reached[name] = np.maximum(reached.get(name, np.zeros(6)), np.abs(wrench) / constraints.moment_units)
    return {name: reached.get(name, np.zeros(6)) < CONTRIBUTES for name in joints_with_wrenches(constraints.model)}


def joints_with_wrenches(model: Model) -> list[str]:
    """All joints that carry wrenches: those of the tree, then those of the loops."""
    return [body.name for body in model.full_tree.bodies] + model.loop_names


def unique_in_all(several: Sequence[UniqueComponents]) -> UniqueComponents:
    """Components that are unique in each of several cases."""
    first, *others = several
    return {name: np.logical_and.reduce([flags, *(o[name] for o in others)]) for name, flags in first.items()}
