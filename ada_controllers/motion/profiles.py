# SPDX-License-Identifier: Apache-2.0
"""Point-to-point motions: trapezoidal with quartic ramps (Yamada, sec. 4.1), or quintic; from rest or in motion.

All joints start and end together. Yamada's three parts, with accelerations quartic in time, are

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

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ada_controllers.motion.joint_motion import ALLOWED, Bounds, JointMotion, Point
from ada_dynamics.arrays import Array
from ada_robot.trajectory.splines import segment_coefficients

PROFILES = ("quartic", "quintic")

# constants of a quintic from rest to rest: maximum velocity by change/time, maximum acceleration by change/time²
_QUINTIC_SPEED, _QUINTIC_ACCELERATION = 15.0 / 8.0, 10.0 / np.sqrt(3.0)
_SHORTEST = 1e-6  # shortest acceleration time [s]
_NOTHING = 1e-12  # distance that needs no time [rad, m]
_TRIES = 4  # number of plans whose extrema are computed exactly
_SAMPLES = np.linspace(0.0, 1.0, 11)  # normalized sample times of a piece, to discard bad plans


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
        t1 = max(acceleration_time, _SHORTEST)
        return t1, t1 + max(by_speed, by_acceleration / t1, t1)
    rest = max(by_speed, np.sqrt(by_acceleration))
    return by_acceleration / rest, by_acceleration / rest + rest


def quintic_time(change: Array, bounds: Bounds) -> float:
    """Return the shortest duration of a quintic within the limits, from rest [s]."""
    by_speed = _QUINTIC_SPEED * float(np.max(np.abs(change) / bounds.speed, initial=0.0))
    return max(by_speed, float(np.sqrt(np.max(_QUINTIC_ACCELERATION * np.abs(change) / bounds.acceleration))))


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


def _to_speed(start: Point, speed: Array, t1: float) -> list[Array]:
    """Return the coefficients of positions whose velocity is the cubic from (v_0, a_0) to (speed, 0)."""
    p0, v0, a0 = start
    d, A = speed - v0, t1 * a0
    return [p0, v0, 0.5 * a0, (3.0 * d - 2.0 * A) / (3.0 * t1**2), (A - 2.0 * d) / (4.0 * t1**3)]


def from_rest(begin: Array, goal: Array, bounds: Bounds, profile: str, acceleration_time: float = 0.0) -> JointMotion:
    """Return the shortest motion of a profile from rest to rest within the limits; arguments as in `plan`."""
    rest = np.zeros_like(goal)
    start = Point(begin, rest, rest)
    if np.max(np.abs(goal - begin)) < _NOTHING:
        return JointMotion.rest(goal)
    if profile == "quintic":
        return quintic(start, goal, quintic_time(goal - begin, bounds))
    return quartic(start, goal, *quartic_times(goal - begin, bounds, acceleration_time))


# --- choice -----------------------------------------------------------------------------------------------------------
def plan(
    start: Point, goal: Array, bounds: Bounds, profile: str, acceleration_time: float = 0.0
) -> tuple[JointMotion, float]:
    """Return the shortest motion of a profile from a state to rest at a goal within the limits.

    Args:
        start: initial state, possibly in motion.
        goal: final positions.
        bounds: limits of the joints.
        profile: "quartic" or "quintic"; in motion, the other profile is used if only that satisfies the limits.
        acceleration_time: t_1 of the quartic profile [s]; 0 for as short as the limits allow.

    Returns:
        Motion, and its largest ratio of a quantity to its limit, above 1 if no motion satisfies all limits.
    """
    if start.is_at_rest:
        return from_rest(start.position, goal, bounds, profile, acceleration_time), 1.0
    ways = [_moving_quintics(start, goal, bounds), _moving_quartics(start, goal, bounds, acceleration_time)]
    best: list[tuple[JointMotion, float]] = []
    for way in ways if profile == "quintic" else ways[::-1]:
        best.append(least_excess(way, bounds))
        if best[-1][1] <= ALLOWED:
            return best[-1]
    return min(best, key=lambda found: found[1])


def least_excess(motions: Iterable[JointMotion], bounds: Bounds) -> tuple[JointMotion, float]:
    """Return the first motion within the limits, or the one with the least excess."""
    best: tuple[JointMotion, float] | None = None
    for motion in motions:
        excess = motion.peaks().excess(bounds)
        if best is None or excess < best[1]:
            best = motion, excess
        if excess <= ALLOWED:
            break
    if best is None:
        raise ValueError("least_excess needs at least one motion")
    return best


def _moving_quartics(start: Point, goal: Array, bounds: Bounds, acceleration_time: float) -> Iterator[JointMotion]:
    """Yield motions of a grid of t_1 and t_f that satisfy the limits at samples, the shortest first."""
    p0, v0, a0 = start
    slowest = 1.5 * float(np.max((np.abs(v0) + np.minimum(bounds.speed, 1e3)) / bounds.acceleration))
    grid = slowest * np.geomspace(0.02, 1.2, 36)
    t1 = np.concatenate([[acceleration_time], grid]) if acceleration_time > 0.0 else grid
    way = np.abs(_cruise(start, goal, t1[:, None], 1.0))
    least = np.max(np.maximum(way / bounds.speed, 1.5 * way / (bounds.acceleration * t1[:, None])), axis=1)
    rest = np.maximum(least, t1)[:, None] * np.array([1.0, 1.15, 1.4, 2.0])
    t1s, rests = np.repeat(t1, rest.shape[1])[:, None], rest.reshape(-1, 1)
    speed = _cruise(start, goal, t1s, rests)
    # the first part, sampled
    d, A = speed - v0, t1s * a0
    x = _SAMPLES[:, None, None]
    velocity = v0 + x * (A + x * (3.0 * d - 2.0 * A + x * (A - 2.0 * d)))
    acceleration = (A + x * (2.0 * (3.0 * d - 2.0 * A) + x * 3.0 * (A - 2.0 * d))) / t1s
    position = p0 + t1s * x * (v0 + x * (0.5 * A + x * ((3.0 * d - 2.0 * A) / 3.0 + x * (A - 2.0 * d) / 4.0)))
    excess = _sampled_excess(position, velocity, acceleration, bounds)
    # t_1 other than a given one only if that fails
    order = np.lexsort(((t1s + rests)[:, 0], (t1s[:, 0] != acceleration_time) & (acceleration_time > 0.0)))
    for i in _promising(excess, order):
        yield quartic(start, goal, float(t1s[i, 0]), float(t1s[i, 0] + rests[i, 0]))


def _moving_quintics(start: Point, goal: Array, bounds: Bounds) -> Iterator[JointMotion]:
    """Yield quintics that satisfy the limits at samples, the shortest first."""
    p0, v0, a0 = start
    slowest = quintic_time(goal - p0, bounds) + 4.0 * float(np.max(np.abs(v0) / bounds.acceleration)) + 1e-3
    T = slowest * np.geomspace(0.02, 3.0, 72)[:, None]
    rest = np.zeros_like(goal)
    c = segment_coefficients(1.0, (p0 + 0.0 * T, v0 * T, a0 * T * T), (goal, rest, rest))
    x = _SAMPLES[:, None, None]
    position = sum(row * x**k for k, row in enumerate(c))
    velocity = sum(k * row * x ** (k - 1) for k, row in enumerate(c) if k) / T
    acceleration = sum(k * (k - 1) * row * x ** (k - 2) for k, row in enumerate(c) if k > 1) / T**2
    excess = _sampled_excess(np.asarray(position), np.asarray(velocity), np.asarray(acceleration), bounds)
    for i in _promising(excess, np.arange(len(T))):
        yield quintic(start, goal, float(T[i, 0]))


def _sampled_excess(position: Array, velocity: Array, acceleration: Array, bounds: Bounds) -> Array:
    """Return the approximate `Peaks.excess` of each plan from samples, (samples, plans, joints) each."""
    rates = np.maximum(np.abs(velocity) / bounds.speed, np.abs(acceleration) / bounds.acceleration)
    beyond = np.max(np.maximum(position - bounds.upper, bounds.lower - position), axis=(0, 2))
    return np.asarray(np.maximum(np.max(rates, axis=(0, 2)), np.where(beyond > 1e-9, 1.0 + beyond, 0.0)))


def _promising(excess: Array, order: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the first plans within the limits at the samples, then the one with the least excess."""
    kept = order[excess[order] <= ALLOWED]
    # every second one: if samples miss a peak, they miss those of neighbouring plans as well
    return np.concatenate([kept[: 2 * _TRIES : 2], kept[-1:], [np.argmin(excess)]])
