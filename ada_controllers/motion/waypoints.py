# SPDX-License-Identifier: Apache-2.0
"""Through several points: curves of fifth order with continuous acceleration, at rest at the last point.

Without times the motion is as fast as the limits allow: stretched in time by s, speeds fall by s, accelerations by s².
Where a curve would swing past the range of a joint, the robot stops at the points beside, unless velocities are given
there that are not zero: such a path is refused.
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

_STRETCHES = 40  # of a motion that does not begin at rest, until it keeps the limits


def through(start: Point, path: JointPath, bounds: Bounds, so_far: JointMotion | None = None) -> JointMotion:
    """A motion from a state through the points of a path.

    Args:
        start: which may move.
        path: checked points, within the limits.
        bounds: of the joints.
        so_far: the motion that goes on from there without the path; it is ended first where a shorter stop leaves the
            limits.

    Raises:
        ReferenceRefused: the times, or the velocities at the points, ask for more than the joints can do.
    """
    bounds = bounds.including(start.position)
    knots = np.vstack([start.position, path.positions])
    inner = None if path.velocities is None else np.vstack([start.velocity, path.velocities])
    if path.times is not None:
        return _in_time(start, path, path.times, knots, inner, bounds)
    if np.array_equal(knots[0], knots[1]):  # the robot is at the first point
        knots, inner = knots[1:], None if inner is None else inner[1:]
        if len(knots) == 1:
            return JointMotion.rest(knots[0]) if start.is_at_rest else _after_stop(start, path, bounds, so_far)
    still = np.flatnonzero(~np.any(np.diff(knots, axis=0), axis=1))
    if len(still):
        raise ReferenceRefused(
            f"the path has the point {knots[still[0]].tolist()!r:.80} twice in a row; leave one out, or give times.",
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
        f"{where}; make them smaller or leave them out.",
        joint=joint,
        field="velocities",
        value=path.velocities,
    )


def _after_stop(start: Point, path: JointPath, bounds: Bounds, so_far: JointMotion | None) -> JointMotion:
    """First to rest, within the limits if the motion so far is, then through the points."""
    halt, _ = least_excess([stop(start, bounds), *([] if so_far is None else [so_far])], bounds)
    rest = np.zeros_like(start.velocity)
    return halt.then(through(Point(halt.final, rest, rest), path, bounds))


def _in_time(
    start: Point, path: JointPath, times: Array, knots: Array, inner: Array | None, bounds: Bounds
) -> JointMotion:
    """Through points at given times."""
    t = np.concatenate([[0.0], times])
    if t[1] <= 0.0:
        if np.max(np.abs(knots[1] - knots[0])) > POSITION_ROUNDING:
            raise ReferenceRefused(
                "the path is due at its first point at once, and the robot is not there.",
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
            "the times of the path ask for more than its joints can do: "
            + (
                f"about {slower:.3g} times as long is needed. "
                if slower > ALLOWED
                else f"they cannot be reached within the range of the joints{where}. "
            )
            + "Give later times, or none, which takes the shortest.",
            joint=joint,
            field="times",
            value=slower,
            allowed=ALLOWED,
        )
    return motion


def _as_fast_as_allowed(start: Point, h: Array, knots: Array, inner: Array | None, bounds: Bounds) -> JointMotion:
    """Stretched or compressed to the limits, or beyond them where no stretch keeps them."""
    motion = _within_range(start, h, knots, inner, bounds)
    if start.is_at_rest and (inner is None or not inner.any()):  # exactly: the curve is the same, at another speed
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
    """The curve, with stops at the points between which it would leave the range of a joint.

    Velocities that are given stay as they are: then it stops only where they are zero.
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
    """How far each piece of a motion leaves the range of each joint, (pieces, joints); negative within it."""
    peaks = motion.peaks_of_pieces()
    return np.maximum(peaks.highest - bounds.upper, bounds.lower - peaks.lowest)


def _way_out(motion: JointMotion, bounds: Bounds, path: JointPath) -> tuple[str, str | None]:
    """Where and by how much a joint would leave its range most, in words, and that joint; nothing if none does."""
    beyond = _beyond(motion, bounds)
    piece, joint = (int(i) for i in np.unravel_index(np.argmax(beyond), beyond.shape))
    if beyond[piece, joint] <= POSITION_ROUNDING:
        return "", None
    first = len(path.positions) - len(beyond) + piece  # the piece begins there; 0 is where the robot is
    name = repr(bounds.names[joint]) if bounds.names else str(joint + 1)
    text = (
        f": between {f'point {first}' if first else 'the start'} and point {first + 1} joint {name} would leave its "
        f"range [{bounds.lower[joint]:.6g}, {bounds.upper[joint]:.6g}] by {beyond[piece, joint]:.3g}"
    )
    return text, bounds.names[joint] if bounds.names else str(joint + 1)


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
