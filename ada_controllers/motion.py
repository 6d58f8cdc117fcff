# SPDX-License-Identifier: Apache-2.0
"""Motions of joints to a goal, within limits of velocity, acceleration and position.

Motions to a goal are trapezoidal with quartic ramps (Yamada, sec. 4.1), or quintic; all joints start and end together.
Yamada's three parts, with accelerations quartic in time, are

    θ(t) = θ_0 + k t³ (2 t_1 - t)                        0 <= t <= t_1
    θ(t) = θ_f + k t_1³ {2 (t - t_f) + t_1}              t_1 <= t <= t_f - t_1
    θ(t) = θ_f + k (t - t_f)³ (2 t_1 + t - t_f)          t_f - t_1 <= t <= t_f

with k = (θ_f - θ_0) / {2 t_1³ (t_f - t_1)}. The third one is printed with θ_0 instead of θ_f, which would jump by
θ_f - θ_0; with θ_f position, velocity and acceleration are continuous. The speed is ω = (θ_f - θ_0) / (t_f - t_1), the
maximum acceleration 3/2 ω / t_1. A constant part requires t_f >= 2 t_1, which the document omits.

For a joint in motion (v_0, a_0) the velocity of the first part is the cubic from (v_0, a_0) to (ω, 0), and
ω = {θ_f - θ_0 - v_0 t_1 / 2 - a_0 t_1² / 12} / (t_f - t_1), which is the same motion for v_0 = a_0 = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from math import comb, factorial
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.jit.compiled import Vector, compiled
from ada_robot.trajectory.path import extreme_values, segment_coefficients

PROFILES = ("quartic", "quintic")

# constants of a quintic from rest to rest: maximum velocity by change/time, maximum acceleration by change/time²
_QUINTIC_SPEED, _QUINTIC_ACCELERATION = 15.0 / 8.0, 10.0 / np.sqrt(3.0)
_SHORTEST_RAMP = 1e-6  # shortest acceleration time [s]
_NOTHING = 1e-12  # distance that needs no time [rad, m]
ORDER = 5  # order of the polynomials
_SHORTEST = 1e-12  # shortest piece [s]


# --- piecewise polynomials --------------------------------------------------------------------------------------------
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

    def beyond(self, bounds: Bounds) -> Array:
        """Return the excess over the position range of each joint; negative inside."""
        return np.asarray(np.maximum(self.highest - bounds.upper, bounds.lower - self.lowest))

    def excess(self, bounds: Bounds) -> Any:
        """Return the largest ratio of a quantity to its limit, above 1 if a limit is exceeded; one per row of peaks."""
        beyond = self.beyond(bounds).max(axis=-1, initial=0.0)
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


# --- from rest --------------------------------------------------------------------------------------------------------
def quartic_times(change: Array, bounds: Bounds, acceleration_time: float = 0.0) -> tuple[float, float]:
    """Return the shortest t_1 and t_f of sec. 4.1 within the limits, from rest.

    For all joints, the velocity limit requires t_f - t_1 >= |θ_f - θ_0| / ω, the acceleration limit
    t_1 (t_f - t_1) >= 3/2 |θ_f - θ_0| / a, and the part at constant velocity t_f - t_1 >= t_1.

    Args:
        change: θ_f - θ_0 [rad, m].
        bounds: limits of the joints.
        acceleration_time: t_1 [s]; 0 for the one that minimizes t_f.
    """
    by_speed = float(np.max(np.abs(change) / bounds.speed, initial=0.0))
    by_acceleration = 1.5 * float(np.max(np.abs(change) / bounds.acceleration, initial=0.0))
    if by_speed == by_acceleration == 0.0:
        return 0.0, 0.0
    if acceleration_time > 0.0:
        t1 = max(acceleration_time, _SHORTEST_RAMP)
        return t1, t1 + max(by_speed, by_acceleration / t1, t1)
    rest = max(by_speed, np.sqrt(by_acceleration))
    return by_acceleration / rest, by_acceleration / rest + rest


# --- curves -----------------------------------------------------------------------------------------------------------
def quartic(start: Point, goal: Array, t1: float, tf: float) -> JointMotion:
    """Return a motion that accelerates in t_1, keeps the velocity, and decelerates in t_1, at rest after t_f."""
    if tf <= 0.0:
        return JointMotion.rest(goal)
    speed = _cruise(start, goal, t1, tf - t1)
    first = _to_speed(start, speed, t1)
    middle = goal - speed * (tf - 1.5 * t1)  # start of the constant part
    last = [goal - 0.5 * t1 * speed, speed, 0.0 * speed, -speed / t1**2, 0.5 * speed / t1**3]
    return JointMotion.of_pieces([(t1, first), (tf - 2.0 * t1, [middle, speed]), (t1, last)], goal)


def quintic(start: Point, goal: Array, time: float) -> JointMotion:
    """Return one quintic, at rest at its end."""
    if time <= 0.0:
        return JointMotion.rest(goal)
    rest = np.zeros_like(goal)
    return JointMotion.of_pieces([(time, segment_coefficients(time, start, (goal, rest, rest)))], goal)


def stop(start: Point, bounds: Bounds) -> JointMotion:
    """Return a motion to rest in minimum time within the limits, if possible; all joints stop together."""
    if start.is_at_rest:
        return JointMotion.rest(start.position)
    base = 1.5 * float(np.max(np.abs(start.velocity) / bounds.acceleration)) + 1e-3
    rest = np.zeros_like(start.velocity)

    def in_time(t: float) -> JointMotion:
        final = start.position + 0.5 * t * start.velocity + t * t / 12.0 * start.acceleration
        return JointMotion.of_pieces([(t, _to_speed(start, rest, t))], final)

    return least_excess((in_time(float(t)) for t in base * np.geomspace(1.0, 3.0, 4)), bounds)[0]


def brake(start: Point, bounds: Bounds) -> JointMotion:
    """Return a motion to rest at the maximum deceleration of each joint, with a step of the acceleration.

    No joint accelerates, and none moves farther than v²/2a, so that motions within the limits stay within the position
    range.
    """
    position, velocity, _ = start
    needed = np.abs(velocity) / bounds.acceleration  # braking time per joint [s]
    room = bounds.including(position)
    final = np.clip(position + 0.5 * needed * velocity, room.lower, room.upper)
    pieces = []
    for begin, end in pairwise([0.0, *np.unique(needed)]):
        is_moving = needed > begin
        slower = -np.sign(velocity) * np.where(is_moving, bounds.acceleration, 0.0)
        at = np.where(is_moving, position + begin * (velocity + 0.5 * begin * slower), final)
        pieces.append((end - begin, [at, np.where(is_moving, velocity + begin * slower, 0.0), 0.5 * slower]))
    return JointMotion.of_pieces(pieces, final)


def _cruise(start: Point, goal: Array, t1: Array | float, rest: Array | float) -> Array:
    """Return the constant velocity of `quartic`, with rest = t_f - t_1."""
    p0, v0, a0 = start
    return np.asarray((goal - p0 - 0.5 * t1 * v0 - t1 * t1 / 12.0 * a0) / rest)


def _to_speed(start: Point, speed: Array, t1: Array | float) -> list[Array]:
    """Return the coefficients of positions whose velocity is the cubic from (v_0, a_0) to (speed, 0)."""
    p0, v0, a0 = start
    d, A = speed - v0, t1 * a0
    return [p0, v0, 0.5 * a0, (3.0 * d - 2.0 * A) / (3.0 * t1**2), (A - 2.0 * d) / (4.0 * t1**3)]


def from_rest(begin: Array, goal: Array, bounds: Bounds, profile: str, acceleration_time: float = 0.0) -> JointMotion:
    """Return the shortest motion of a profile from rest to rest within the limits; arguments as in `plan`."""
    rest, change = np.zeros_like(goal), np.abs(goal - begin)
    start = Point(begin, rest, rest)
    if np.max(change) < _NOTHING:
        return JointMotion.rest(goal)
    if profile == "quintic":
        by_acceleration = np.sqrt(np.max(_QUINTIC_ACCELERATION * change / bounds.acceleration))
        return quintic(start, goal, float(max(_QUINTIC_SPEED * np.max(change / bounds.speed), by_acceleration)))
    return quartic(start, goal, *quartic_times(goal - begin, bounds, acceleration_time))


# --- to a goal --------------------------------------------------------------------------------------------------------
def plan(
    start: Point,
    goal: Array,
    bounds: Bounds,
    profile: str,
    acceleration_time: float = 0.0,
    so_far: JointMotion | None = None,
) -> JointMotion:
    """Return the shortest motion from a state to rest at a goal within the limits.

    A joint in motion starts with a quartic ramp for both profiles, or the present motion is ended first: from rest each
    goal can be reached.

    Args:
        start: initial state, possibly in motion.
        goal: final positions.
        bounds: limits of the joints.
        profile: "quartic" or "quintic".
        acceleration_time: t_1 of the quartic profile [s]; 0 for as short as the limits allow.
        so_far: continuation of the present motion.

    Returns:
        Motion; if none satisfies all limits, the one with the least excess.
    """
    if start.is_at_rest:
        return from_rest(start.position, goal, bounds, profile, acceleration_time)
    best, excess = _in_motion(start, goal, bounds, acceleration_time)
    for halt in (stop(start, bounds), *([] if so_far is None else [so_far])):
        other = halt.then(from_rest(halt.final, goal, bounds, profile, acceleration_time))
        if excess > ALLOWED or other.end < best.end:
            other_excess = float(halt.peaks().excess(bounds))
            if max(other_excess, ALLOWED) <= max(excess, ALLOWED):
                best, excess = other, other_excess
    return best


def least_excess(motions: Iterable[JointMotion], bounds: Bounds) -> tuple[JointMotion, float]:
    """Return the first motion within the limits, or the one with the least excess."""
    best: tuple[JointMotion, float] | None = None
    for motion in motions:
        excess = float(motion.peaks().excess(bounds))
        if best is None or excess < best[1]:
            best = motion, excess
        if excess <= ALLOWED:
            break
    if best is None:
        raise ValueError("least_excess needs at least one motion")
    return best


def _in_motion(start: Point, goal: Array, bounds: Bounds, acceleration_time: float) -> tuple[JointMotion, float]:
    """Return the shortest motion within limits for a grid of t_1 and t_f, or with the least excess; and the excess."""
    slowest = 1.5 * float(np.max((np.abs(start.velocity) + np.minimum(bounds.speed, 1e3)) / bounds.acceleration))
    grid = slowest * np.geomspace(0.02, 1.2, 24)
    t1 = np.concatenate([[acceleration_time], grid]) if acceleration_time > 0.0 else grid
    way = np.abs(_cruise(start, goal, t1[:, None], 1.0))
    least = np.max(np.maximum(way / bounds.speed, 1.5 * way / (bounds.acceleration * t1[:, None])), axis=1)
    rest = np.maximum(least, t1)[:, None] * np.array([1.0, 1.15, 1.4, 2.0])
    t1s, rests = np.repeat(t1, rest.shape[1]), rest.ravel()
    # the first parts of all motions, as pieces of one; the others are within the limits
    rows = _to_speed(start, _cruise(start, goal, t1s[:, None], rests[:, None]), t1s[:, None])
    table = np.stack([*np.broadcast_arrays(*rows), np.zeros((len(t1s), len(goal)))], axis=1)
    excess = JointMotion(np.concatenate([[0.0], np.cumsum(t1s)]), table, goal).peaks_of_pieces().excess(bounds)
    # t_1 other than a given one only if that fails
    order = np.lexsort((t1s + rests, (t1s != acceleration_time) & (acceleration_time > 0.0)))
    fitting = order[excess[order] <= ALLOWED]
    i = int(fitting[0] if len(fitting) else np.argmin(excess))
    return quartic(start, goal, float(t1s[i]), float(t1s[i] + rests[i])), float(excess[i])
