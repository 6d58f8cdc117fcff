# SPDX-License-Identifier: Apache-2.0
"""Random linkages in motion under gravity: the true course of each, and that of RKF45 on independent coordinates.

A course is taken if its linkage moves at 3 to 10 rad/s and stays away from poses in which it could branch off: there
any error grows without end, whatever the method.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.linkages.families import FAMILIES, Maker
from benchmarks.linkages.judge import Judge
from benchmarks.linkages.linkage import Linkage, Long
from benchmarks.linkages.marching import ORDER_8, RKF45, Course, march

Array = Any
SPEED = 3.0  # largest rate at the start [rad/s]
FASTEST = 10.0  # [rad/s]
REGULAR = 0.03
CONSERVED = 1e-15  # of the energy: the truth is good enough
TRUE_STEP, STEP, INTERVAL = 2.5e-3, 1e-3, 0.02  # [s]
POOL, SPARE = 4, 4  # linkages that are tried for each that is wanted, and besides


@dataclass(frozen=True)
class Trial:
    """One linkage and its motion."""

    family: str
    linkage: Linkage
    truth: Course
    usual: Course  # RKF45 at 1 ms on independent coordinates

    @property
    def error(self) -> float:
        """Largest error of a rate in the usual course [rad/s]."""
        return largest(self.usual.rates - self.truth.rates)

    @property
    def drift(self) -> float:
        """Largest change of energy in the usual course [J]."""
        return largest(self.usual.energy - self.usual.energy[0])

    @property
    def rounding(self) -> float:
        """What rates lose to rounding in double precision [rad/s].

        Each step rounds them to 1e-16, and the loops' conditions take that across their rank.
        """
        steps = self.truth.t[-1] / STEP
        return float(steps * np.finfo(float).eps * self.speed / self.truth.regular.min())

    @property
    def speed(self) -> float:
        """Largest rate [rad/s]."""
        return largest(self.truth.rates)


def largest(x: Array) -> float:
    """Largest absolute value."""
    return float(np.abs(x).max())


def groups(families: Iterable[str] = FAMILIES, makers: Mapping[str, Maker] = FAMILIES) -> list[list[str]]:
    """Families whose linkages have the same tree, which the judge takes together."""
    found: dict[Any, list[str]] = {}
    for name in families:
        one = makers[name](np.random.default_rng(0))
        found.setdefault((one.mobility, *((pin.parent, pin.child) for pin in one.pins)), []).append(name)
    return list(found.values())


def trials(
    families: Sequence[str], count: int, seconds: float, seed: int = 0, makers: Mapping[str, Maker] = FAMILIES
) -> list[Trial]:
    """`count` trials of each of these families, which must have the same tree."""
    pool = []
    for name in families:
        rng = np.random.default_rng([seed, *name.encode()])
        pool += [(name, makers[name](rng), rng.normal(size=8)) for _ in range(POOL * count + SPARE)]
    judge = Judge([one for _, one, _ in pool])
    angles = np.zeros((len(pool), judge.n), dtype=Long)
    rates = start_rates(judge, angles, np.array([push[: judge.n] for _, _, push in pool]))
    truth = march(judge, angles, rates, seconds, TRUE_STEP, INTERVAL, ORDER_8)
    chosen: list[int] = []
    for name in families:
        own = [i for i, entry in enumerate(pool) if entry[0] == name and _is_fit(truth.of(i))]
        own.sort(key=lambda i: -largest(truth.rates[:, i]))
        if len(own) < count:
            raise RuntimeError(
                f"{len(own)} of {POOL * count + SPARE} linkages {name!r} move as they should; {count} are needed."
            )
        chosen += own[:count]
    judge = Judge([pool[i][1] for i in chosen])
    usual = march(judge, angles[chosen], rates[chosen], seconds, STEP, INTERVAL, RKF45)
    return [Trial(pool[i][0], pool[i][1], truth.of(i), usual.of(k)) for k, i in enumerate(chosen)]


def start_rates(judge: Judge, angles: Array, push: Array) -> Array:
    """Rates that the loops allow, in a random direction, the largest of them `SPEED`."""
    charts = judge.charts(angles)
    _, _, J = judge.close(angles, charts)
    T, _ = judge.tangent(J, charts)
    rates = (T @ push[:, : judge.m, None])[..., 0]
    return SPEED * rates / np.abs(rates).max(axis=1, keepdims=True)


def _is_fit(course: Course) -> bool:
    drift = largest(course.energy - course.energy[0])
    return bool(
        not course.lost
        and largest(course.rates) < FASTEST
        and course.regular.min() > REGULAR
        and drift < CONSERVED * (1.0 + largest(course.energy))
    )
