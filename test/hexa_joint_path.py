# SPDX-License-Identifier: Apache-2.0
"""From a path of the plate to targets of the motors, one for each period of 2 ms, checked before anything moves.

    path = joint_path(lambda t: pose_of((0.02 * sin(t), 0.0, -0.55), (0.0, 0.0, 0.0)), duration=3.0)
    angles = path.q[0]

The rows of `path.q` are the demands of one cycle after another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.errors import InputError
from ada_dynamics.robots.mechanisms.hexa import LEGS
from ada_hardware.hexa.kinematics import HexaKinematics, Unreachable
from ada_hardware.hexa.limits import LEAST_HOLD, LOWER, PERIOD, RATE_LIMIT, UPPER
from ada_robot.errors import HardwareError

Array = NDArray[np.float64]

LEAST_DRIVE = 0.05  # measure of the first kind of singular poses
LONGEST = 3600.0  # [s]


class PathRefused(InputError, HardwareError):
    """The table cannot go along a path.

    Attributes:
        time: of the first point that it cannot do [s].
    """

    def __init__(self, text: str, time: float) -> None:
        """Args: the message, then the attribute."""
        super().__init__(text)
        self.time = time


class JointPath(NamedTuple):
    """Targets of the cranks.

    Attributes:
        t: times, one for each period from 0 on [s].
        q: angles (N, 6) [rad].
        fastest: the highest rate of a crank [rad/s].
        drive: the least distance from singular poses of the first kind on the way; see `Jacobians.drive`.
        hold: likewise of the second kind.
    """

    t: Array
    q: Array
    fastest: float
    drive: float
    hold: float


def joint_path(
    pose_at: Callable[[float], Array] | ArrayLike,
    duration: float | None = None,
    *,
    kinematics: HexaKinematics | None = None,
    period: float = PERIOD,
    rate_limit: float = RATE_LIMIT,
    start: ArrayLike | None = None,
) -> JointPath:
    """Targets along a path of the plate.

    Args:
        pose_at: pose of the plate in the base, 4x4, of a time [s]; or poses (N, 4, 4), one for each period.
        duration: of a path that is a function [s].
        kinematics: of the table; the catalogue's by default.
        period: between two targets [s].
        rate_limit: of the cranks, at most the motors' [rad/s].
        start: angles that the cranks have now, from which the first target may be one step away [rad].

    Raises:
        PathRefused: a point is out of reach, too near to a singular pose, or out of a crank's range; a crank would
            have to be too fast. The message says when, which leg, and by how much.
        InputError: no poses, no duration.
    """
    table = kinematics or HexaKinematics()
    poses = _sampled(pose_at, duration, period)
    times: Array = period * np.arange(len(poses), dtype=np.float64)
    q, reached = table.inverse_batch(poses)
    troubles = [
        _reach(table, poses, reached),
        _range(q),
        _rates(q, period, min(rate_limit, RATE_LIMIT), start),
    ]
    first = min((one for one in troubles if one is not None), key=lambda one: one.at, default=None)
    drive, hold, singular = _singular(table, poses[: None if first is None else first.at], q)
    found = first if singular is None else singular
    if found is not None:
        raise PathRefused(f"at t = {times[found.at]:.4g} s: {found.text}", float(times[found.at]))
    return JointPath(times, q, _fastest(q, period), drive, hold)


class _Trouble(NamedTuple):
    """The first point of a path that cannot be, and why."""

    at: int
    text: str


def _sampled(pose_at: Callable[[float], Array] | ArrayLike, duration: float | None, period: float) -> Array:
    if not callable(pose_at):
        return np.asarray(pose_at, dtype=np.float64)
    if duration is None or not 0.0 < duration <= LONGEST:
        raise InputError(f"HEXA: duration is {duration!r}; a path that is a function needs one up to {LONGEST:g} s.")
    if not period > 0.0:
        raise InputError(f"HEXA: period is {period!r}; it must be positive [s].")
    return np.array([pose_at(i * period) for i in range(round(duration / period) + 1)], dtype=np.float64)


def _reach(table: HexaKinematics, poses: Array, reached: NDArray[np.bool_]) -> _Trouble | None:
    at = _first(~reached)
    if at is None:
        return None
    try:
        table.inverse(poses[at])
    except Unreachable as problem:
        return _Trouble(at, str(problem))
    return None


def _range(q: Array) -> _Trouble | None:
    wrong = (q < LOWER) | (q > UPPER)  # False where a pose is out of reach, with NaN
    at = _first(wrong.any(axis=1))
    if at is None:
        return None
    leg = int(np.argmax(wrong[at]))
    return _Trouble(
        at,
        f"HEXA: crank {leg + 1} would be at {q[at, leg]:.4g} rad, out of its range [{LOWER:g}, {UPPER:g}] rad. Keep "
        "the plate nearer to the middle of the workspace.",
    )


def _rates(q: Array, period: float, limit: float, start: ArrayLike | None) -> _Trouble | None:
    before = q[:1] if start is None else np.reshape(np.asarray(start, dtype=np.float64), (1, LEGS))
    rates = np.abs(np.diff(np.concatenate([before, q]), axis=0)) / period
    at = _first((rates > limit).any(axis=1))
    if at is None:
        return None
    leg = int(np.argmax(rates[at]))
    return _Trouble(
        at,
        f"HEXA: crank {leg + 1} would have to turn at {rates[at, leg]:.4g} rad/s "
        f"{'to its first point' if at == 0 else 'there'}, allowed {limit:g} rad/s. Go slower, without jumps, or begin "
        "where the table stands.",
    )


def _fastest(q: Array, period: float) -> float:
    return float(np.max(np.abs(np.diff(q, axis=0)), initial=0.0)) / period


def _singular(table: HexaKinematics, poses: Array, q: Array) -> tuple[float, float, _Trouble | None]:
    """Least measures of both kinds, and the first pose that has too little of one."""
    least_drive, least_hold = np.inf, np.inf
    for i, (pose, angles) in enumerate(zip(poses, q, strict=False)):
        at = table.jacobians(pose, angles)
        drive, hold = at.drive, at.hold
        if drive < LEAST_DRIVE or hold < LEAST_HOLD:
            leg = int(np.argmin(np.abs(at.motors))) + 1
            what = (
                f"crank and rod of leg {leg} are nearly in line (measure {drive:.3g}, allowed from {LEAST_DRIVE:g})"
                if drive < LEAST_DRIVE
                else f"the rods nearly let go of the plate (measure {hold:.3g}, allowed from {LEAST_HOLD:g})"
            )
            return (
                drive,
                hold,
                _Trouble(i, f"HEXA: {what}. Keep away from singular poses: tilt less, go around."),
            )
        least_drive, least_hold = min(least_drive, drive), min(least_hold, hold)
    return least_drive, least_hold, None


def _first(where: ArrayLike) -> int | None:
    found = np.flatnonzero(where)
    return int(found[0]) if len(found) else None
