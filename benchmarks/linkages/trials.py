# SPDX-License-Identifier: Apache-2.0
"""Random linkages in motion under gravity: the reference motion of each, and that of RKF45 on independent coordinates.

The reference is a Runge-Kutta method of order 8 on independent coordinates in extended precision. A motion is used if
its linkage moves at 3 to 10 rad/s and stays away from bifurcations, where any error grows without bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.integrate import DOP853

from ada_dynamics.simulation.methods import METHODS
from benchmarks.linkages.families import FAMILIES
from benchmarks.linkages.judge import Charts, Judge, Placed
from benchmarks.linkages.linkage import Linkage, Long

Array = Any
Pose = tuple[Array, Placed, Array]  # closed angles, poses of the bodies, Jacobian of the loops
SPEED = 3.0  # largest rate at the start [rad/s]
FASTEST = 10.0  # [rad/s]
REGULAR = 0.03
CONSERVED = 1e-15  # of the energy: the truth is good enough
TRUE_STEP, STEP, INTERVAL = 2.5e-3, 1e-3, 0.02  # [s]
POOL, SPARE = 4, 4  # linkages that are tried for each that is wanted, and besides


@dataclass(frozen=True)
class Tableau:
    """Coefficients of an explicit method."""

    A: Array
    b: Array


RKF45 = Tableau(METHODS["rkf45"].A, METHODS["rkf45"].b)
# Of order 8: scipy's table of Dormand's and Prince's method, not the library's.
ORDER_8 = Tableau(DOP853.A[:12, :12], DOP853.B)


@dataclass(frozen=True)
class Course:
    """States at equal intervals; the first index counts times, the second one linkages."""

    t: Array
    angles: Array  # of all pins
    rates: Array
    energy: Array
    gap: Array  # largest of the motion
    defect: Array
    regular: Array  # smallest non-zero singular value of the loops' Jacobian, relative to the largest one
    lost: Array  # linkages without a result

    def of(self, i: int) -> Course:
        """One linkage, without the index that counts them."""
        in_time = {name: getattr(self, name)[:, i] for name in ("angles", "rates", "energy", "regular")}
        return replace(self, **in_time, gap=self.gap[i], defect=self.defect[i], lost=self.lost[i])


def march(judge: Judge, q: Array, v: Array, seconds: float, step: float, interval: float, table: Tableau) -> Course:
    """Integrate from closed poses q with tangent rates v; a state is stored at each interval of some steps."""
    judge.lost[:] = False
    v = np.asarray(v, dtype=Long)
    charts = judge.charts(q)
    pose = judge.close(np.asarray(q, dtype=Long), charts)
    v = judge.move(*pose[1:], np.take_along_axis(v, charts.free, 1), charts).v
    each = round(interval / step)
    kept = [_kept(judge, pose, v)]
    worst = np.zeros((2, len(q)))
    for i in range(round(seconds / step)):
        charts = judge.better_charts(charts, judge.tangent(pose[2], charts)[0])
        pose, v, errors = _step(judge, charts, pose, v, Long(step), table)
        worst = np.maximum(worst, errors)
        if (i + 1) % each == 0:
            kept.append(_kept(judge, pose, v))
    angles, rates, energy, regular = (np.array(x) for x in zip(*kept, strict=True))
    t = interval * np.arange(len(kept))
    return Course(t, angles, rates, energy, worst[0], worst[1], regular, judge.lost.copy())


def _step(judge: Judge, charts: Charts, pose: Pose, v: Array, h: Any, table: Tableau) -> tuple[Pose, Array, Array]:
    """One step; Newton's method closes the loops of each stage, from angles that their rates predict."""
    w = np.take_along_axis(v, charts.free, 1)
    q, at, J = pose
    speeds: list[Array] = []
    gains: list[Array] = []
    worst = np.zeros((2, len(q)))
    for row in table.A:
        if speeds:
            _, at, J = judge.close(q + h * _sum(row, speeds), charts)
        motion = judge.move(at, J, w + h * _sum(row, gains), charts)
        speeds.append(motion.v)
        gains.append(np.take_along_axis(motion.a, charts.free, 1))
        worst = np.maximum(worst, np.array([motion.gap, motion.defect], dtype=float))
    pose = judge.close(q + h * _sum(table.b, speeds), charts)
    T, _ = judge.tangent(pose[2], charts)
    return pose, (T @ (w + h * _sum(table.b, gains))[..., None])[..., 0], worst


def _sum(weights: Array, rates: list[Array]) -> Array:
    total: Array = 0
    for weight, rate in zip(weights, rates, strict=False):
        if weight:
            total = total + weight * rate
    return total


def _kept(judge: Judge, pose: Pose, v: Array) -> tuple[Array, ...]:
    q, _, J = pose
    sizes = np.linalg.svd(J.astype(float), compute_uv=False)
    regular = sizes[:, judge.n - judge.m - 1] / sizes[:, 0]
    return judge.all_angles(q), judge.all_rates(q, v), judge.energy(q, v), regular


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
    def speed(self) -> float:
        """Largest rate [rad/s]."""
        return largest(self.truth.rates)


def largest(x: Array) -> float:
    """Largest absolute value."""
    return float(np.abs(x).max())


def groups(families: Iterable[str] = FAMILIES) -> list[list[str]]:
    """Families whose linkages have the same tree, which the judge can compute together."""
    found: dict[Any, list[str]] = {}
    for name in families:
        one = FAMILIES[name](np.random.default_rng(0))
        found.setdefault((one.mobility, *((pin.parent, pin.child) for pin in one.pins)), []).append(name)
    return list(found.values())


def trials(families: Sequence[str], count: int, seconds: float, seed: int = 0) -> list[Trial]:
    """`count` trials of each of these families, which must have the same tree."""
    pool = []
    for name in families:
        rng = np.random.default_rng([seed, *name.encode()])
        pool += [(name, FAMILIES[name](rng), rng.normal(size=8)) for _ in range(POOL * count + SPARE)]
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
