# SPDX-License-Identifier: Apache-2.0
"""Points of a trajectory, checked as a whole; no ROS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_robot.contract import JointLimit, Reason, Refusal
from ada_robot.limits import refused_names, refused_number
from ada_robot.trajectory.path import Path, PathState

Rows = Sequence[Sequence[float]]

MAX_POINTS = 10_000  # maximum per message; the check takes 0.1 s, or 1 s if all points are close to limits


class OfferedTrajectory(NamedTuple):
    """Unchecked points of a trajectory message; see `Trajectory.checked`.

    Attributes:
        names: joint names.
        times: times of the points [s].
        positions: one row per point.
        velocities: one row per point; no rows, or empty rows, if not given.
        accelerations: as velocities.
        efforts: as velocities.
        start_in: start time relative to now [s]; None for now.
    """

    names: Sequence[str]
    times: Sequence[float]
    positions: Rows
    velocities: Rows = ()
    accelerations: Rows = ()
    efforts: Rows = ()
    start_in: float | None = None

    @property
    def is_stop(self) -> bool:
        """True if there are no points: the joints shall hold their position."""
        return not len(self.times) and not len(self.positions)


class TrajectoryError(InputError):
    """Trajectory that violates a rule; see `refusal`."""

    def __init__(self, reason: Reason, text: str, joint: str = "") -> None:
        super().__init__(text, joint=joint or None)
        self.refusal = Refusal(reason, text, joint)


@dataclass(frozen=True)
class Trajectory:
    """Points in time of joints, within their limits.

    Attributes:
        names: joint names.
        times: increasing times since the start, (points,) [s].
        positions: (points, joints) [rad, m].
        velocities: (points, joints), or None.
        accelerations: (points, joints), or None.
        efforts: (points, joints), or None.
    """

    names: tuple[str, ...]
    times: Array
    positions: Array
    velocities: Array | None = None
    accelerations: Array | None = None
    efforts: Array | None = None

    @classmethod
    def checked(cls, joints: Mapping[str, JointLimit], offered: OfferedTrajectory) -> Trajectory:
        """Check all rules that concern single points, and create the trajectory.

        Args:
            joints: joints of the robot by name.
            offered: points, with accelerations only if there are velocities.

        Raises:
            TrajectoryError: if a rule is violated.
        """
        names = offered.names
        if not len(names):
            raise TrajectoryError(Reason.EMPTY, "the trajectory has no joint names; name the joints that it moves.")
        refuse(refused_names(names, joints))
        t = _checked_times(offered.times)
        tables = {
            "position": _table("positions", offered.positions, len(t), names),
            "velocity": _table("velocities", offered.velocities, len(t), names),
            "acceleration": _table("accelerations", offered.accelerations, len(t), names),
            "effort": _table("efforts", offered.efforts, len(t), names),
        }
        position = tables["position"]
        if position is None:
            raise TrajectoryError(Reason.LENGTH, "the points have no positions; each point needs one per joint.")
        if tables["velocity"] is None and tables["acceleration"] is not None:
            raise TrajectoryError(Reason.LENGTH, "the points have accelerations without velocities; give both.")
        for what, table in tables.items():
            if table is not None:
                for joint, column in zip([joints[name] for name in names], table.T, strict=True):
                    for i in (int(np.argmin(column)), int(np.argmax(column))):  # argmin finds NaN
                        refuse(refused_number(joint, what, float(column[i]), f" of point {i}"))
        return cls(tuple(names), t, position, tables["velocity"], tables["acceleration"], tables["effort"])

    def first_after(self, elapsed: float) -> int:
        """Return the index of the first point at or after a time; the number of points if all are before."""
        return int(np.searchsorted(self.times, elapsed, side="left"))

    def path(self, base: float, elapsed: float, start: PathState) -> Path:
        """Return the path from a state through all points that are not elapsed.

        Args:
            base: start time of the trajectory [s].
            elapsed: time since the start; not after the last point.
            start: state of the joints at that time; replaced by a point at exactly this time.
        """
        first = self.first_after(elapsed)
        is_bridged = bool(self.times[first] > elapsed)

        def left(table: Array, own: list[float]) -> Array:
            return np.vstack([own, table[first:]]) if is_bridged else table[first:]

        return Path.through(
            base,
            np.concatenate([[elapsed] * is_bridged, self.times[first:]]),
            left(self.positions, start.position),
            None if self.velocities is None else left(self.velocities, start.velocity),
            None if self.accelerations is None else left(self.accelerations, start.acceleration),
            None if self.efforts is None else left(self.efforts, start.effort),
        )


def refuse(refusal: Refusal | None) -> None:
    """Raise a `TrajectoryError` for a refusal; do nothing for None."""
    if refusal is not None:
        raise TrajectoryError(*refusal)


def _checked_times(times: Sequence[float]) -> Array:
    if len(times) > MAX_POINTS:
        text = f"the trajectory has {len(times)} points; the maximum is {MAX_POINTS}. Split it."
        raise TrajectoryError(Reason.LENGTH, text)
    t = np.array(times, dtype=np.float64)
    if not np.isfinite(t).all():
        i = int(np.flatnonzero(~np.isfinite(t))[0])
        raise TrajectoryError(Reason.NOT_FINITE, f"the time of point {i} is {t[i]}; it must be finite.")
    if len(t) and t[0] < 0.0:
        raise TrajectoryError(Reason.TIMES, f"point 0 is at {t[0]:.9g} s; times must not be negative.")
    late = np.flatnonzero(np.diff(t) <= 0.0)
    if len(late):
        i = int(late[0]) + 1
        text = f"point {i} is at {t[i]:.9g} s, not after point {i - 1} at {t[i - 1]:.9g} s; times must increase."
        raise TrajectoryError(Reason.TIMES, text)
    return t


def _table(what: str, rows: Rows, count: int, names: Sequence[str]) -> Array | None:
    """Convert rows to an array; None if all rows are empty."""
    if len(rows) and len(rows) != count:
        raise TrajectoryError(Reason.LENGTH, f"{what} are given for {len(rows)} of {count} points; give them for all.")
    if not any(len(row) for row in rows):
        return None
    for i, row in enumerate(rows):
        if len(row) != len(names):
            raise TrajectoryError(
                Reason.LENGTH,
                f"point {i} has {len(row)} {what} for {len(names)} joints; give one per joint in all points, or in "
                f"none.",
            )
    return np.array([list(row) for row in rows], dtype=np.float64)
