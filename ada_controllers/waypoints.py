# SPDX-License-Identifier: Apache-2.0
"""Motions of joints through waypoints, within limits of velocity, acceleration and position.

They are quintic splines with continuous acceleration, at rest at the last point. Without times the motion starts at
rest and is as fast as the limits allow: stretching time by s reduces velocities by s and accelerations by s². If a
segment would leave the position range, the robot stops at its end points, unless non-zero velocities are given there:
such a path is refused.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ada_controllers.motion import ALLOWED, POSITION_ROUNDING, Bounds, JointMotion, Point, least_excess, stop
from ada_controllers.state import JointPath, ReferenceRefused
from ada_dynamics.arrays import Array
from ada_robot.trajectory.path import segment_coefficients, spline_derivatives


def through(start: Point, path: JointPath, bounds: Bounds, so_far: JointMotion | None = None) -> JointMotion:
    """Return a motion from a state through the points of a path.

    Args:
        start: initial state. If it is in motion and the path has no times, the joints come to rest first.
        path: checked points within the limits.
        bounds: limits of the joints.
        so_far: continuation of the present motion, which ends it if a shorter stop would violate the limits.

    Raises:
        ReferenceRefused: if the times, or the velocities at the points, exceed the limits of the joints.
    """
    bounds = bounds.including(start.position)
    knots = np.vstack([start.position, path.positions])
    if path.times is not None:
        return _in_time(start, path, path.times, knots, bounds)
    if path.velocities is not None:
        text = "the path has velocities at its points, but no times; give times as well, or omit the velocities."
        raise ReferenceRefused(text, field="velocities", value=path.velocities, allowed=None)
    if not start.is_at_rest:
        halt, _ = least_excess([stop(start, bounds), *([] if so_far is None else [so_far])], bounds)
        rest = np.zeros_like(start.velocity)
        return halt.then(through(Point(halt.final, rest, rest), path, bounds))
    if np.array_equal(knots[0], knots[1]):  # already at the first point
        knots = knots[1:]
        if len(knots) == 1:
            return JointMotion.rest(knots[0])
    change = np.abs(np.diff(knots, axis=0))
    repeated = np.flatnonzero(~change.any(axis=1))
    if len(repeated):
        raise ReferenceRefused(
            f"the path contains the point {knots[repeated[0]].tolist()!r:.80} twice in a row; remove one, or give "
            "times.",
            field="positions",
            value=knots[repeated[0]],
        )
    h = np.max(np.maximum(change / bounds.speed, np.sqrt(change / bounds.acceleration)), axis=1)
    return _within_range(start, h * _slower(_within_range(start, h, knots, None, bounds), bounds), knots, None, bounds)


def _slower(motion: JointMotion, bounds: Bounds) -> float:
    """Return the factor by which the duration has to grow for the limits of velocity and acceleration."""
    peaks = motion.peaks()
    by_acceleration = float(np.sqrt(np.max(peaks.acceleration / bounds.acceleration)))
    return max(float(np.max(peaks.speed / bounds.speed)), by_acceleration)


def _in_time(start: Point, path: JointPath, times: Array, knots: Array, bounds: Bounds) -> JointMotion:
    """Return a motion through points at given times."""
    t = np.concatenate([[0.0], times])
    velocities = None if path.velocities is None else np.vstack([start.velocity, path.velocities])
    if t[1] <= 0.0:
        if np.max(np.abs(knots[1] - knots[0])) > POSITION_ROUNDING:
            text = "the first point of the path is due at once, but the robot is not at this point."
            raise ReferenceRefused(text, field="times", value=path.times, allowed="later than now")
        t, knots = t[1:], np.vstack([knots[:1], knots[2:]])
        velocities = None if velocities is None else velocities[1:]
    if len(t) == 1:
        return JointMotion.rest(knots[0])
    motion = _within_range(start, np.diff(t), knots, velocities, bounds)
    if motion.peaks().excess(bounds) > ALLOWED:
        slower = _slower(motion, bounds)
        where, joint = _outside(motion, bounds, path)
        reason = f"a duration of about {slower:.3g} times as long is needed"
        if slower <= ALLOWED:
            reason = f"the points cannot be reached within the position range{where}"
        text = (
            f"the times of the path exceed the limits of the joints: {reason}. Give later times, or none for the "
            "shortest."
        )
        raise ReferenceRefused(text, joint=joint, field="times", value=slower, allowed=ALLOWED)
    return motion


def _within_range(start: Point, h: Array, knots: Array, velocities: Array | None, bounds: Bounds) -> JointMotion:
    """Return the spline, with stops at the ends of segments that would exceed the position range.

    Given velocities are not changed: stops are possible only where they are zero.
    """
    stops = np.zeros(len(knots), dtype=bool)
    can_stop = np.ones(len(knots), dtype=bool) if velocities is None else ~np.any(velocities, axis=1)
    for _ in range(len(knots)):
        motion = _spline(start, h, knots, velocities, stops)
        bad = np.any(motion.peaks_of_pieces().beyond(bounds) > POSITION_ROUNDING, axis=1)
        more = stops.copy()
        more[1:-1] |= (bad[:-1] | bad[1:]) & can_stop[1:-1]
        if np.array_equal(more, stops):
            break
        stops = more
    return motion


def _outside(motion: JointMotion, bounds: Bounds, path: JointPath) -> tuple[str, str | None]:
    """Describe the largest excess over a position range, and return the name of the joint."""
    beyond = motion.peaks_of_pieces().beyond(bounds)
    piece, joint = (int(i) for i in np.unravel_index(np.argmax(beyond), beyond.shape))
    if beyond[piece, joint] <= POSITION_ROUNDING:
        return "", None
    first = len(path.positions) - len(beyond) + piece  # point at the start of the piece; 0 for the present position
    name = bounds.names[joint] if bounds.names else str(joint + 1)
    text = (
        f": between {f'point {first}' if first else 'the start'} and point {first + 1} joint {name!r} would leave its "
        f"range [{bounds.lower[joint]:.6g}, {bounds.upper[joint]:.6g}] by {beyond[piece, joint]:.3g}"
    )
    return text, name


def _spline(start: Point, h: Array, knots: Array, velocities: Array | None, stops: Array) -> JointMotion:
    """Return quintic segments between the knots, at rest at some of them."""
    t = np.concatenate([[0.0], np.cumsum(h)])
    v, a = np.zeros_like(knots), np.zeros_like(knots)
    v[0], a[0] = start.velocity, start.acceleration
    rests = [0, *np.flatnonzero(stops[1:-1] != 0) + 1, len(knots) - 1]
    if velocities is None:
        for i, j in pairwise(rests):
            part = slice(i, j + 1)
            v[part], a[part] = spline_derivatives(t[part], knots[part], v[i], a[i])
    else:
        v[1:] = velocities[1:]
        v[rests[1:]] = 0.0
        a[1:-1] = _accelerations(h, knots, v)
        a[rests[1:]] = 0.0
    states = [(knots[i], v[i], a[i]) for i in range(len(knots))]
    pieces = [(float(x), segment_coefficients(x, *ends)) for x, ends in zip(h, pairwise(states), strict=True)]
    return JointMotion.of_pieces(pieces, knots[-1])


def _accelerations(h: Array, p: Array, v: Array) -> Array:
    """Return accelerations at the inner knots from the cubics on both sides, weighted towards the shorter one."""
    step, h = np.diff(p, axis=0), h[:, None]
    at_end = (-6.0 * step / h + 2.0 * v[:-1] + 4.0 * v[1:]) / h
    at_begin = (6.0 * step / h - 4.0 * v[:-1] - 2.0 * v[1:]) / h
    left, right = h[:-1], h[1:]
    return np.asarray((at_end[:-1] * right + at_begin[1:] * left) / (left + right))
