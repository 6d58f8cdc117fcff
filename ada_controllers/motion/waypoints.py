# SPDX-License-Identifier: Apache-2.0
"""Through several points: curves of fifth order with continuous acceleration, at rest at the last point.

Without times the motion is as fast as the limits allow: stretched in time by s, speeds fall by s, accelerations by s².
Where a curve would swing past the range of a joint, the robot stops at the points beside.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ada_controllers.errors import ReferenceRefused
from ada_controllers.motion.joint_motion import ALLOWED, POSITION_ROUNDING, Bounds, JointMotion, Point
from ada_controllers.motion.profiles import stop
from ada_controllers.state import JointPath
from ada_dynamics.arrays import Array
from ada_robot.trajectory.splines import QuinticSpline, segment_coefficients

_STRETCHES = 40  # of a motion that does not begin at rest, until it keeps the limits


def through(start: Point, path: JointPath, bounds: Bounds) -> JointMotion:
    """A motion from a state through the points of a path.

    Args:
        start: which may move.
        path: checked points, within the limits.
        bounds: of the joints.

    Raises:
        ReferenceRefused: the times, or the velocities at the points, ask for more than the joints can do.
    """
    knots = np.vstack([start.position, path.positions])
    inner = None if path.velocities is None else np.vstack([start.velocity, path.velocities])
    if path.times is not None:
        return _in_time(start, path.times, knots, inner, bounds)
    if np.array_equal(knots[0], knots[1]):  # the robot is at the first point
        knots, inner = knots[1:], None if inner is None else inner[1:]
        if len(knots) == 1:
            return JointMotion.rest(knots[0]) if start.is_at_rest else _after_stop(start, path, bounds)
    still = np.flatnonzero(~np.any(np.diff(knots, axis=0), axis=1))
    if len(still):
        raise ReferenceRefused(
            f"the path has the point {knots[still[0]].tolist()!r:.80} twice in a row; leave one out, or give times."
        )
    change = np.abs(np.diff(knots, axis=0))
    h = np.max(np.maximum(1.2 * change / bounds.speed, 1.5 * np.sqrt(change / bounds.acceleration)), axis=1)
    motion = _as_fast_as_allowed(start, h, knots, inner, bounds)
    if motion is not None:
        return motion
    if not start.is_at_rest:
        return _after_stop(start, path, bounds)
    raise ReferenceRefused(
        "the velocities at the points of the path cannot be reached within the limits of the joints; make them smaller "
        "or leave them out."
    )


def _after_stop(start: Point, path: JointPath, bounds: Bounds) -> JointMotion:
    """First to rest, then through the points."""
    halt = stop(start, bounds)
    rest = np.zeros_like(start.velocity)
    return halt.then(through(Point(halt.final, rest, rest), path, bounds))


def _in_time(start: Point, times: Array, knots: Array, inner: Array | None, bounds: Bounds) -> JointMotion:
    """Through points at given times."""
    t = np.concatenate([[0.0], times])
    if t[1] <= 0.0:
        if np.max(np.abs(knots[1] - knots[0])) > POSITION_ROUNDING:
            raise ReferenceRefused("the path is due at its first point at once, and the robot is not there.")
        t, knots, inner = t[1:], np.vstack([knots[:1], knots[2:]]), None if inner is None else inner[1:]
    if len(t) == 1:
        return JointMotion.rest(knots[0])
    motion = _within_range(start, np.diff(t), knots, inner, bounds)
    peaks = motion.peaks()
    excess = peaks.excess(bounds)
    if excess > ALLOWED:
        slower = max(
            float(np.max(peaks.speed / bounds.speed)),
            float(np.sqrt(np.max(peaks.acceleration / bounds.acceleration))),
        )
        raise ReferenceRefused(
            "the times of the path ask for more than its joints can do: "
            + (
                f"about {slower:.3g} times as long is needed. "
                if slower > ALLOWED
                else "a joint would leave its range. "
            )
            + "Give later times, or none, which takes the shortest."
        )
    return motion


def _as_fast_as_allowed(
    start: Point, h: Array, knots: Array, inner: Array | None, bounds: Bounds
) -> JointMotion | None:
    """Stretched or compressed to the limits; None where no stretch keeps them."""
    is_free = start.is_at_rest and (inner is None or not inner.any())
    for _ in range(_STRETCHES):
        motion = _within_range(start, h, knots, inner, bounds)
        peaks = motion.peaks()
        if is_free:  # exactly: the curve is the same, at another speed
            by_speed = float(np.max(peaks.speed / bounds.speed))
            h = h * max(by_speed, float(np.sqrt(np.max(peaks.acceleration / bounds.acceleration))))
            return _within_range(start, h, knots, inner, bounds)
        excess = peaks.excess(bounds)
        if excess <= ALLOWED:
            return motion
        h = h * np.clip(excess, 1.02, 2.0)
    return None


def _within_range(start: Point, h: Array, knots: Array, inner: Array | None, bounds: Bounds) -> JointMotion:
    """The curve, with stops at the points between which it would leave the range of a joint."""
    stops = np.zeros(len(knots), dtype=bool)
    for _ in range(len(knots)):
        motion = _curve(start, h, knots, inner, stops)
        if inner is not None:  # the velocities are wanted as they are
            break
        bad = _pieces_out_of_range(motion, bounds)
        more = stops.copy()
        more[1:-1] |= bad[:-1] | bad[1:]
        if np.array_equal(more, stops):
            break
        stops = more
    return motion


def _pieces_out_of_range(motion: JointMotion, bounds: Bounds) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    whole = motion.peaks()
    if np.all(whole.highest <= bounds.upper + POSITION_ROUNDING) and np.all(
        whole.lowest >= bounds.lower - POSITION_ROUNDING
    ):
        return np.zeros(len(motion.coefficients), dtype=bool)
    found = []
    for h, table in zip(np.diff(motion.times), motion.coefficients, strict=True):
        peaks = JointMotion([0.0, h], table[None], motion.final).peaks()
        out = np.maximum(peaks.highest - bounds.upper, bounds.lower - peaks.lowest)
        found.append(bool(np.any(out > POSITION_ROUNDING)))
    return np.array(found)


def _curve(start: Point, h: Array, knots: Array, inner: Array | None, stops: Array) -> JointMotion:
    """Curves of fifth order between the knots; with `stops` at rest at some of them."""
    t = np.concatenate([[0.0], np.cumsum(h)])
    v, a = np.zeros_like(knots), np.zeros_like(knots)
    v[0], a[0] = start.velocity, start.acceleration
    rests = [0, *np.flatnonzero(stops[1:-1] != 0) + 1, len(knots) - 1]
    if inner is None:
        for i, j in pairwise(rests):
            spline = QuinticSpline(t[i : j + 1], knots[i : j + 1], velocities=(v[i], 0.0), accelerations=(a[i], 0.0))
            within = t[i + 1 : j]
            v[i + 1 : j], a[i + 1 : j] = spline.velocity(within), spline.acceleration(within)
    else:
        v[1:] = inner[1:]
        v[rests[1:]] = 0.0
        a[1:-1] = _accelerations(h, knots, v)
        a[rests[1:]] = 0.0
    pieces = [
        (float(h[i]), segment_coefficients(h[i], (knots[i], v[i], a[i]), (knots[i + 1], v[i + 1], a[i + 1])))
        for i in range(len(h))
    ]
    return JointMotion.of_pieces(pieces, knots[-1])


def _accelerations(h: Array, p: Array, v: Array) -> Array:
    """Accelerations at the inner knots: between those of the cubics on both sides, the shorter one counting more."""
    step, h = np.diff(p, axis=0), h[:, None]
    at_end = (-6.0 * step / h + 2.0 * v[:-1] + 4.0 * v[1:]) / h
    at_begin = (6.0 * step / h - 4.0 * v[:-1] - 2.0 * v[1:]) / h
    left, right = h[:-1], h[1:]
    return np.asarray((at_end[:-1] * right + at_begin[1:] * left) / (left + right))
