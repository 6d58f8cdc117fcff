# SPDX-License-Identifier: Apache-2.0
"""Motions through waypoints: quintic splines with continuous acceleration, at rest at the last point.

Without times the motion is as fast as the limits allow: stretching time by s reduces velocities by s and accelerations
by s². If a segment would leave the position range, the robot stops at its end points, unless non-zero velocities are
given there: such a path is refused.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ada_controllers.errors import ReferenceRefused
from ada_controllers.motion.joint_motion import ALLOWED, POSITION_ROUNDING, Bounds, JointMotion, Point
from ada_controllers.motion.profiles import least_excess, stop
from ada_controllers.state import JointPath
from ada_dynamics.arrays import Array
from ada_robot.trajectory.splines import QuinticSpline, segment_coefficients

_STRETCHES = 40  # maximum number of time stretches of a motion that does not start at rest


def through(start: Point, path: JointPath, bounds: Bounds, so_far: JointMotion | None = None) -> JointMotion:
    """Return a motion from a state through the points of a path.

    Args:
        start: initial state, possibly in motion.
        path: checked points within the limits.
        bounds: limits of the joints.
        so_far: continuation of the present motion without the path; it is ended first if a shorter stop would violate
            the limits.

    Raises:
        ReferenceRefused: if the times, or the velocities at the points, exceed the limits of the joints.
    """
    bounds = bounds.including(start.position)
    knots = np.vstack([start.position, path.positions])
    inner = None if path.velocities is None else np.vstack([start.velocity, path.velocities])
    if path.times is not None:
        return _in_time(start, path, path.times, knots, inner, bounds)
    if np.array_equal(knots[0], knots[1]):  # already at the first point
        knots, inner = knots[1:], None if inner is None else inner[1:]
        if len(knots) == 1:
            return JointMotion.rest(knots[0]) if start.is_at_rest else _after_stop(start, path, bounds, so_far)
    still = np.flatnonzero(~np.any(np.diff(knots, axis=0), axis=1))
    if len(still):
        raise ReferenceRefused(
            f"the path contains the point {knots[still[0]].tolist()!r:.80} twice in a row; remove one, or give times.",
            field="positions",
            value=knots[still[0]],
        )
    change = np.abs(np.diff(knots, axis=0))
    h = np.max(np.maximum(1.2 * change / bounds.speed, 1.5 * np.sqrt(change / bounds.acceleration)), axis=1)
    motion = _as_fast_as_allowed(start, h, knots, inner, bounds)
    if motion.peaks().excess(bounds) <= ALLOWED:
        return motion
    if not start.is_at_rest:
        return _after_stop(start, path, bounds, so_far)
    where, joint = _way_out(motion, bounds, path)
    raise ReferenceRefused(
        "the velocities at the points of the path cannot be reached within the limits of the joints"
        f"{where}; reduce or omit them.",
        joint=joint,
        field="velocities",
        value=path.velocities,
    )


def _after_stop(start: Point, path: JointPath, bounds: Bounds, so_far: JointMotion | None) -> JointMotion:
    """Return a stop, within the limits if the present motion is, followed by the path."""
    halt, _ = least_excess([stop(start, bounds), *([] if so_far is None else [so_far])], bounds)
    rest = np.zeros_like(start.velocity)
    return halt.then(through(Point(halt.final, rest, rest), path, bounds))


def _in_time(
    start: Point, path: JointPath, times: Array, knots: Array, inner: Array | None, bounds: Bounds
) -> JointMotion:
    """Return a motion through points at given times."""
    t = np.concatenate([[0.0], times])
    if t[1] <= 0.0:
        if np.max(np.abs(knots[1] - knots[0])) > POSITION_ROUNDING:
            raise ReferenceRefused(
                "the first point of the path is due at once, but the robot is not at this point.",
                field="times",
                value=path.times,
                allowed="later than now",
            )
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
        where, joint = _way_out(motion, bounds, path)
        raise ReferenceRefused(
            "the times of the path exceed the limits of the joints: "
            + (
                f"a duration of about {slower:.3g} times as long is needed. "
                if slower > ALLOWED
                else f"the points cannot be reached within the position range{where}. "
            )
            + "Give later times, or none for the shortest.",
            joint=joint,
            field="times",
            value=slower,
            allowed=ALLOWED,
        )
    return motion


def _as_fast_as_allowed(start: Point, h: Array, knots: Array, inner: Array | None, bounds: Bounds) -> JointMotion:
    """Return the motion stretched or compressed to the limits, or beyond them if no stretch satisfies them."""
    motion = _within_range(start, h, knots, inner, bounds)
    if start.is_at_rest and (inner is None or not inner.any()):  # time scaling is exact
        peaks = motion.peaks()
        by_speed = float(np.max(peaks.speed / bounds.speed))
        h = h * max(by_speed, float(np.sqrt(np.max(peaks.acceleration / bounds.acceleration))))
        return _within_range(start, h, knots, inner, bounds)
    for _ in range(_STRETCHES):
        excess = motion.peaks().excess(bounds)
        if excess <= ALLOWED:
            break
        h = h * np.clip(excess, 1.02, 2.0)
        motion = _within_range(start, h, knots, inner, bounds)
    return motion


def _within_range(start: Point, h: Array, knots: Array, inner: Array | None, bounds: Bounds) -> JointMotion:
    """Return the spline, with stops at the ends of segments that would leave the position range.

    Given velocities are kept: stops are possible only where they are zero.
    """
    stops = np.zeros(len(knots), dtype=bool)
    can_stop = np.ones(len(knots), dtype=bool) if inner is None else ~np.any(inner, axis=1)
    for _ in range(len(knots)):
        motion = _curve(start, h, knots, inner, stops)
        bad = np.any(_beyond(motion, bounds) > POSITION_ROUNDING, axis=1)
        more = stops.copy()
        more[1:-1] |= (bad[:-1] | bad[1:]) & can_stop[1:-1]
        if np.array_equal(more, stops):
            break
        stops = more
    return motion


def _beyond(motion: JointMotion, bounds: Bounds) -> Array:
    """Return how far each piece leaves the position range of each joint, (pieces, joints); negative inside."""
    peaks = motion.peaks_of_pieces()
    return np.maximum(peaks.highest - bounds.upper, bounds.lower - peaks.lowest)


def _way_out(motion: JointMotion, bounds: Bounds, path: JointPath) -> tuple[str, str | None]:
    """Describe where and by how much a joint would leave its position range most, and return its name."""
    beyond = _beyond(motion, bounds)
    piece, joint = (int(i) for i in np.unravel_index(np.argmax(beyond), beyond.shape))
    if beyond[piece, joint] <= POSITION_ROUNDING:
        return "", None
    first = len(path.positions) - len(beyond) + piece  # point at the start of the piece; 0 for the present position
    name = repr(bounds.names[joint]) if bounds.names else str(joint + 1)
    text = (
        f": between {f'point {first}' if first else 'the start'} and point {first + 1} joint {name} would leave its "
        f"range [{bounds.lower[joint]:.6g}, {bounds.upper[joint]:.6g}] by {beyond[piece, joint]:.3g}"
    )
    return text, bounds.names[joint] if bounds.names else str(joint + 1)


def _curve(start: Point, h: Array, knots: Array, inner: Array | None, stops: Array) -> JointMotion:
    """Return quintic segments between the knots, at rest at some of them."""
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
    """Return accelerations at the inner knots from the cubics on both sides, weighted towards the shorter one."""
    step, h = np.diff(p, axis=0), h[:, None]
    at_end = (-6.0 * step / h + 2.0 * v[:-1] + 4.0 * v[1:]) / h
    at_begin = (6.0 * step / h - 4.0 * v[:-1] - 2.0 * v[1:]) / h
    left, right = h[:-1], h[1:]
    return np.asarray((at_end[:-1] * right + at_begin[1:] * left) / (left + right))
