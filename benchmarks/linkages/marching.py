# SPDX-License-Identifier: Apache-2.0
"""Explicit Runge-Kutta methods with fixed steps on the independent coordinates of the judge's linkages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.integrate import DOP853

from ada_dynamics.simulation.methods import METHODS
from benchmarks.linkages.judge import Charts, Judge, Placed

Array = Any
Pose = tuple[Array, Placed, Array]  # closed angles, where the bodies are, Jacobian of the loops


@dataclass(frozen=True)
class Table:
    """Coefficients of an explicit method."""

    A: Array
    b: Array


RKF45 = Table(METHODS["rkf45"].A, METHODS["rkf45"].b)
# Of order 8: scipy's table of Dormand's and Prince's method, not the library's.
ORDER_8 = Table(DOP853.A[:12, :12], DOP853.B)


@dataclass(frozen=True)
class Course:
    """States at equal intervals; the first index counts instants, the second one linkages."""

    t: Array
    angles: Array  # of all pins
    rates: Array
    energy: Array
    gap: Array  # largest one on the way
    defect: Array
    regular: Array  # the smallest singular value of the loops' conditions that counts, beside the largest one
    lost: Array  # linkages that the judge could not follow

    def of(self, i: int) -> Course:
        """One linkage alone, without the index that counts them."""
        in_time = {name: getattr(self, name)[:, i] for name in ("angles", "rates", "energy", "regular")}
        return replace(self, **in_time, gap=self.gap[i], defect=self.defect[i], lost=self.lost[i])


def march(judge: Judge, q: Array, v: Array, seconds: float, step: float, interval: float, table: Table) -> Course:
    """March from closed poses q with tangent rates v; a state is kept at each interval, a multiple of the step."""
    judge.lost[:] = False
    v = np.asarray(v, dtype=judge.dtype)
    charts = judge.charts(q)
    pose = judge.close(np.asarray(q, dtype=judge.dtype), charts)
    v = judge.move(*pose[1:], np.take_along_axis(v, charts.free, 1), charts).v
    each = round(interval / step)
    kept = [_kept(judge, pose, v)]
    worst = np.zeros((2, len(q)))
    for i in range(round(seconds / step)):
        charts = judge.better_charts(charts, judge.tangent(pose[2], charts)[0])
        pose, v, errors = _step(judge, charts, pose, v, judge.dtype(step), table)
        worst = np.maximum(worst, errors)
        if (i + 1) % each == 0:
            kept.append(_kept(judge, pose, v))
    angles, rates, energy, regular = (np.array(x) for x in zip(*kept, strict=True))
    t = interval * np.arange(len(kept))
    return Course(t, angles, rates, energy, worst[0], worst[1], regular, judge.lost.copy())


def _step(judge: Judge, charts: Charts, pose: Pose, v: Array, h: Any, table: Table) -> tuple[Pose, Array, Array]:
    """One step; the dependent angles of each stage are closed from where their rates lead."""
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
