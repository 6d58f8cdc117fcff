# SPDX-License-Identifier: Apache-2.0
"""Joint trajectories of the form `trajectory_msgs/JointTrajectory`: checked as a whole, then sampled in time; no ROS.

Their meaning is that of ROS 2's joint_trajectory_controller. Points with positions only are joined by straight lines,
points with velocities by cubics, points with accelerations by quintic polynomials.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_robot.contract import JointLimit, Reason, Refusal, Tally
from ada_robot.limits import CLOCKS, JUMP_RULE, ROUNDING, refused_jump, refused_names, refused_number
from ada_robot.trajectory.path import Path, PathState

Rows = Sequence[Sequence[float]]
_Row: TypeAlias = tuple[float, float, float, float]

MAX_POINTS = 10_000  # maximum per message; the check takes 0.1 s, or 1 s if all points are close to limits
__all__ = ["Trajectory", "TrajectoryError", "TrajectoryFollower", "TrajectoryPoint"]

_TABLES = {"positions": "position", "velocities": "velocity", "accelerations": "acceleration", "efforts": "effort"}


class OfferedTrajectory(NamedTuple):
    """Unchecked points of a trajectory message; see `Trajectory.checked`."""

    names: Sequence[str]  # joint names
    times: Sequence[float]  # times of the points [s]
    positions: Rows  # one row per point
    velocities: Rows = ()  # one row per point; no rows, or empty rows, if not given
    accelerations: Rows = ()  # as velocities
    efforts: Rows = ()  # as velocities
    start_in: float | None = None  # start time relative to now [s]; None for now

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
    """Points in time of joints, within their limits."""

    names: tuple[str, ...]  # joint names
    times: Array  # increasing times since the start, (points,) [s]
    positions: Array  # (points, joints) [rad, m]
    velocities: Array | None = None  # (points, joints), or None
    accelerations: Array | None = None  # (points, joints), or None
    efforts: Array | None = None  # (points, joints), or None

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
        position, velocity, acceleration, effort = tables = [
            _table(what, getattr(offered, what), len(t), names) for what in _TABLES
        ]
        if position is None:
            raise TrajectoryError(Reason.LENGTH, "the points have no positions; each point needs one per joint.")
        if velocity is None and acceleration is not None:
            raise TrajectoryError(Reason.LENGTH, "the points have accelerations without velocities; give both.")
        for what, table in zip(_TABLES.values(), tables, strict=True):
            if table is not None:
                for joint, column in zip([joints[name] for name in names], table.T, strict=True):
                    for i in (int(np.argmin(column)), int(np.argmax(column))):  # argmin finds NaN
                        refuse(refused_number(joint, what, float(column[i]), f" of point {i}"))
        return cls(tuple(names), t, position, velocity, acceleration, effort)

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
            text = f"point {i} has {len(row)} {what} for {len(names)} joints; give one each in all points, or in none."
            raise TrajectoryError(Reason.LENGTH, text)
    return np.array([list(row) for row in rows], dtype=np.float64)


class TrajectoryPoint(NamedTuple):
    """Setpoint of joints: one value per name in each field; effort is zero if not given."""

    names: tuple[str, ...]
    position: tuple[float, ...]
    velocity: tuple[float, ...]
    acceleration: tuple[float, ...]
    effort: tuple[float, ...]


class TrajectoryFollower(Tally):
    """Accepts trajectories that satisfy all rules, and samples the setpoints of their joints; for one thread.

    Example::

        follower = TrajectoryFollower([JointLimit("elbow", -2.0, 2.0, velocity=3.0)])
        offered = OfferedTrajectory(["elbow"], [1.0], [[0.4]])
        refusal = follower.accept(offered, now, present={"elbow": 0.0})
        point = follower.sample(now + 0.5)       # elbow at 0.2

    A joint with a trajectory is followed until `cancel`: it holds the last point, where its next trajectory starts.
    Cancel joints that another command takes over.

    Attributes:
        max_jump: maximum distance of a point due at once from the present position [rad, m]; 0 for any.
    """

    def __init__(self, joints: Sequence[JointLimit], *, max_jump: float = 1.0) -> None:
        """Set the rules for all joints of the robot, including passive ones."""
        super().__init__()
        self._joints = {joint.name: joint for joint in joints}
        self.max_jump = max_jump
        self._motions: dict[str, tuple[Path, int]] = {}  # path and column of each followed joint

    # --- input ----------------------------------------------------------------------------------------------------
    def accept(self, offered: OfferedTrajectory, now: float, present: Mapping[str, float]) -> Refusal | None:
        """Check a trajectory, count it, and follow it if it is accepted.

        It replaces the motion of its joints at once, from their present state; other joints continue. If it starts
        later, its first point is reached at that time. If its start is in the past, elapsed points are dropped, and the
        joints move directly to the next one. A trajectory without points is a stop: its joints (all followed ones, if
        it names none) hold their present position.

        Args:
            offered: points.
            now: present time on the clock of `sample` [s].
            present: positions by joint, measured or last commanded, of joints not yet followed.

        Returns:
            Refusal, in which case the present motion continues; None if the trajectory is accepted.
        """
        refusal = None
        try:
            if offered.is_stop:
                self._stop(offered.names, now, present)
            else:
                start = now if offered.start_in is None else now + offered.start_in
                self._follow(Trajectory.checked(self._joints, offered), start, now, present)
        except TrajectoryError as problem:
            refusal = problem.refusal
        return self.count(refusal, now)

    def _follow(self, trajectory: Trajectory, start: float, now: float, present: Mapping[str, float]) -> None:
        if not math.isfinite(start):
            raise TrajectoryError(Reason.NOT_FINITE, f"the start is {start}; it must be finite, or zero for now.")
        elapsed = now - start
        first = trajectory.first_after(elapsed)
        if first == len(trajectory.times):
            text = (
                f"the trajectory ended {elapsed - float(trajectory.times[-1]):.9g} s ago; set its stamp to zero to "
                f"start it now, or send it earlier. If all are late, the clocks differ. {CLOCKS}"
            )
            raise TrajectoryError(Reason.OLD, text)
        state = PathState(*map(list, zip(*(self._state(name, now, present) for name in trajectory.names), strict=True)))
        if trajectory.times[first] == elapsed and self.max_jump:
            for name, desired, at in zip(trajectory.names, trajectory.positions[first], state.position, strict=True):
                where = f" of point {first}, due at once,"
                refuse(refused_jump(name, float(desired), at, self.max_jump, JUMP_RULE, where))
        path = trajectory.path(start, elapsed, state)
        self._check_way(path, trajectory.names, first, is_bridged=bool(trajectory.times[first] > elapsed))
        self._motions |= {name: (path, column) for column, name in enumerate(trajectory.names)}

    def _state(self, name: str, now: float, present: Mapping[str, float]) -> _Row:
        """Return position, velocity, acceleration and effort of a joint; at rest if it is not followed yet."""
        motion = self._motions.get(name)
        if motion is not None:
            path, column = motion
            return _row(path.state(now), column)
        at = present.get(name)
        if at is None or not math.isfinite(at):
            text = f"joint {name!r}: present position unknown, where the trajectory starts; wait for a joint state."
            raise TrajectoryError(Reason.JUMP, text)
        return at, 0.0, 0.0, 0.0

    def _check_way(self, path: Path, names: tuple[str, ...], first: int, *, is_bridged: bool) -> None:
        """Refuse a path that exceeds the limits between its points, which have been checked."""
        finite = path.is_finite()
        if not finite.all():
            i, j = np.argwhere(np.logical_not(finite))[0]
            where = _between(int(i), first, is_bridged)
            text = f"joint {names[j]!r}: values of its motion {where} overflow; give it more time, or closer points."
            raise TrajectoryError(Reason.OVER_LIMIT, text)
        joints = [self._joints[name] for name in names]
        lower, upper, speed = (np.tile([joint[k] for joint in joints], (len(finite), 1)) for k in (1, 2, 3))
        # a joint outside its limits may return
        lower[:1] = np.minimum(lower[:1], path.positions[:1])
        upper[:1] = np.maximum(upper[:1], path.positions[:1])
        lower, upper, speed = lower - ROUNDING, upper + ROUNDING, speed * (1.0 + ROUNDING)
        least, greatest, top = path.bounds()
        near = np.nonzero((least < lower) | (greatest > upper))
        lowest, highest = path.reach(*near)
        fast = np.nonzero(top > speed)
        fastest = path.top_speed(*fast)
        for does, (i, j), values, is_over, limits, limit in (
            ("reaches the position", near, lowest, lowest < lower[near], lower, "position limit"),
            ("reaches the position", near, highest, highest > upper[near], upper, "position limit"),
            ("reaches the velocity", fast, fastest, fastest > speed[fast], speed, "velocity limit"),
        ):
            if is_over.any():
                k = int(np.argmax(is_over))
                text = (
                    f"joint {names[j[k]]!r} {does} {values[k]:.12g} {_between(int(i[k]), first, is_bridged)}, over the "
                    f"{limit} {limits[i[k], j[k]]:.9g}; give that segment more time, or change its points."
                )
                raise TrajectoryError(Reason.OVER_LIMIT, text)

    def _stop(self, names: Sequence[str], now: float, present: Mapping[str, float]) -> None:
        refuse(refused_names(names, self._joints))
        for name in names or tuple(self._motions):
            at = self._state(name, now, present)[0] if name in self._motions else present.get(name)
            if at is not None and math.isfinite(at):  # joints without a position are not followed
                self._motions[name] = Path.through(now, np.zeros(1), np.array([[at]])), 0

    # --- output ---------------------------------------------------------------------------------------------------
    def sample(self, t: float) -> TrajectoryPoint | None:
        """Return the setpoints of the followed joints at a time; None without any."""
        if not self._motions:
            return None
        states = {id(path): path.state(t) for path, _ in self._motions.values()}
        rows = [_row(states[id(path)], column) for path, column in self._motions.values()]
        return TrajectoryPoint(tuple(self._motions), *zip(*rows, strict=True))

    def is_active(self, t: float) -> bool:
        """Return True if a trajectory has not ended at a time."""
        return any(path.end > t for path, _ in self._motions.values())

    def cancel(self, names: Iterable[str] | None = None) -> None:
        """Stop following joints (all by default), after a reset or when another command takes them over."""
        for name in list(self._motions) if names is None else names:
            self._motions.pop(name, None)


def _row(state: PathState, column: int) -> _Row:
    return state.position[column], state.velocity[column], state.acceleration[column], state.effort[column]


# --- rules ----------------------------------------------------------------------------------------------------------
def _between(segment: int, first: int, is_bridged: bool) -> str:
    """Describe a segment by the points of the message."""
    end = first + segment + (0 if is_bridged else 1)
    start = "the present state" if is_bridged and segment == 0 else f"point {end - 1}"
    return f"between {start} and point {end}"
