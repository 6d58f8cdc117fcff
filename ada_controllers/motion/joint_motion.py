# SPDX-License-Identifier: Apache-2.0
"""Piecewise polynomial motions of joints, with exact maximum velocities and accelerations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import comb, factorial
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.jit.compiled import Vector, compiled
from ada_robot.trajectory.path import extreme_values

ORDER = 5  # order of the polynomials
_SHORTEST = 1e-12  # shortest piece [s]


class Point(NamedTuple):
    """Positions, velocities and accelerations of joints at one time."""

    position: Array
    velocity: Array
    acceleration: Array

    @property
    def is_at_rest(self) -> bool:
        """True if all velocities and accelerations are zero."""
        return not (self.velocity.any() or self.acceleration.any())


class Bounds(NamedTuple):
    """Limits of a motion, one value per joint, infinite for none; joint names are used in messages."""

    speed: Array
    acceleration: Array
    lower: Array
    upper: Array
    names: tuple[str, ...] = ()

    def including(self, position: Array) -> Bounds:
        """Extend the position range to include given positions; joints outside may only move inwards."""
        return self._replace(lower=np.minimum(self.lower, position), upper=np.maximum(self.upper, position))


class Peaks(NamedTuple):
    """Maximum velocities and accelerations of a motion, and its position range, per joint."""

    speed: Array
    acceleration: Array
    lowest: Array
    highest: Array

    def excess(self, bounds: Bounds) -> Any:
        """Return the largest ratio of a quantity to its limit, above 1 if a limit is exceeded; one per row of peaks."""
        beyond = np.maximum(self.highest - bounds.upper, bounds.lower - self.lowest).max(axis=-1, initial=0.0)
        rates = np.maximum(self.speed / bounds.speed, self.acceleration / bounds.acceleration)
        return np.maximum(rates.max(axis=-1, initial=0.0), np.where(beyond > POSITION_ROUNDING, 1.0 + beyond, 0.0))


POSITION_ROUNDING = 1e-9  # tolerance of position limits [rad, m]
ALLOWED = 1.0 + 1e-9  # excess including rounding errors


class JointMotion:
    """Joint positions over time: consecutive polynomials up to order five, at rest after the last one.

    Attributes:
        times: start times of the pieces, and the end of the last one [s], (pieces + 1,); the first is 0.
        coefficients: by powers of the time since the start of a piece, (pieces, 6, joints).
        final: positions at the end.
    """

    def __init__(self, times: Sequence[float] | Array, coefficients: Array, final: Array) -> None:
        """Join pieces; see the attributes."""
        self.times = np.asarray(times, dtype=np.float64)
        self.coefficients = np.ascontiguousarray(coefficients, dtype=np.float64)
        self.final = np.array(final, dtype=np.float64)
        self._rest = np.zeros(len(self.final))
        self._at = _point(len(self.final))
        self._elapsed = np.zeros(1)
        self._flat = self.coefficients.reshape(len(self.coefficients), (ORDER + 1) * len(self.final))
        self._begins: list[float] = self.times.tolist()

    @classmethod
    def of_pieces(cls, pieces: Sequence[tuple[float, Sequence[Array]]], final: Array) -> JointMotion:
        """Create a motion of pieces (duration, coefficients by power); pieces without duration are dropped."""
        kept = [(h, rows) for h, rows in pieces if h > _SHORTEST]
        table = np.zeros((len(kept), ORDER + 1, len(final)))
        for i, (_, rows) in enumerate(kept):
            for k, row in enumerate(rows):
                table[i, k] = row
        return cls(np.concatenate([[0.0], np.cumsum([h for h, _ in kept])]), table, final)

    @classmethod
    def rest(cls, position: Array) -> JointMotion:
        """Create a motion at rest."""
        return cls.of_pieces([], position)

    @property
    def end(self) -> float:
        """Duration [s]."""
        return self._begins[-1]

    def __call__(self, t: float) -> Point:
        """Return the joint state at a time [s]."""
        if t >= self.end:
            return Point(self.final, self._rest, self._rest)
        i = max(int(np.searchsorted(self.times, t, side="right")) - 1, 0)
        self._elapsed[0] = max(t - self._begins[i], 0.0)
        return Point(*self._at(self._flat[i], self._elapsed))

    def after(self, t: float) -> JointMotion:
        """Return the remaining motion after a time."""
        if t >= self.end - _SHORTEST:
            return JointMotion.rest(self.final)
        i = max(int(np.searchsorted(self.times, t + _SHORTEST, side="right")) - 1, 0)
        gone = max(t - self._begins[i], 0.0)
        table = self.coefficients[i:].copy()
        for k in range(ORDER + 1):  # Taylor series at the elapsed time
            table[0, k] = sum(comb(j, k) * gone ** (j - k) * self.coefficients[i, j] for j in range(ORDER, k - 1, -1))
        return JointMotion(np.concatenate([[0.0], self.times[i + 1 :] - t]), table, self.final)

    def then(self, other: JointMotion) -> JointMotion:
        """Append a motion that starts where this one ends."""
        times = np.concatenate([self.times, self.end + other.times[1:]])
        return JointMotion(times, np.concatenate([self.coefficients, other.coefficients]), other.final)

    def peaks(self) -> Peaks:
        """Return the exact extrema of the whole motion."""
        if not len(self.coefficients):
            return Peaks(self._rest, self._rest, self.final, self.final)
        speed, acceleration, lowest, highest = self.peaks_of_pieces()
        return Peaks(speed.max(axis=0), acceleration.max(axis=0), lowest.min(axis=0), highest.max(axis=0))

    def peaks_of_pieces(self) -> Peaks:
        """Return the exact extrema of each piece, (pieces, joints), at its ends and at roots of the next derivative."""
        n = len(self.final)
        h = np.diff(self.times)[:, None, None]
        powers = np.arange(ORDER + 1)[:, None]
        scaled = np.moveaxis(self.coefficients * h**powers, 1, 0).reshape(ORDER + 1, -1)  # over [0, 1]
        pos, vel, acc = (
            values.reshape(-1, len(h), n) / h[:, :, 0] ** order
            for order, values in enumerate(extreme_values(scaled, 3))
        )
        return Peaks(np.max(np.abs(vel), axis=0), np.max(np.abs(acc), axis=0), np.min(pos, axis=0), np.max(pos, axis=0))


@lru_cache(maxsize=32)
def _point(joints: int) -> Callable[..., Any]:
    """Compile (coefficients by power, time) -> position, velocity, acceleration."""

    def body(coefficients: Vector, time: Vector) -> Any:
        found: dict[str, list[Any]] = {}
        for order, name in enumerate(Point._fields):
            found[name] = []
            for joint in range(joints):
                value: Any = 0.0
                for power in range(ORDER, order - 1, -1):  # Horner's rule
                    factor = float(factorial(power) // factorial(power - order))
                    value = value * time[0] + factor * coefficients[power * joints + joint]
                found[name].append(value)
        return found

    return compiled("joint_motion", {"coefficients": (ORDER + 1) * joints, "time": 1}, body)
