# SPDX-License-Identifier: Apache-2.0
"""Trajectories as `trajectory_msgs/JointTrajectory` holds them: checked as a whole, then followed in time; no ROS.

They mean what they mean to ROS 2's joint_trajectory_controller. Points are joined by straight lines where they have
positions only, by cubics where they have velocities, by curves of fifth order where they have accelerations too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from typing import NamedTuple

import numpy as np

from ada_robot.contract import JointLimit, Reason, Refusal, Tally
from ada_robot.limits import ROUNDING, checked_joints, not_negative, refused_jump, refused_names
from ada_robot.trajectory.path import Path, PathState
from ada_robot.trajectory.points import OfferedTrajectory, Trajectory, TrajectoryError, refuse

__all__ = ["Trajectory", "TrajectoryError", "TrajectoryFollower", "TrajectoryPoint"]

MAX_WAITING = 10  # trajectories of a joint that wait for their start


class TrajectoryPoint(NamedTuple):
    """Where joints shall be: a number per name in each of the others; effort is zero where none was given."""

    names: tuple[str, ...]
    position: tuple[float, ...]
    velocity: tuple[float, ...]
    acceleration: tuple[float, ...]
    effort: tuple[float, ...]


class _Layer(NamedTuple):
    """The motion of a joint from a time on: a column of a path."""

    begin: float
    path: Path
    column: int


class TrajectoryFollower(Tally):
    """Takes trajectories that keep every rule, and gives the wanted positions of their joints.

    Example::

        follower = TrajectoryFollower([JointLimit("elbow", -2.0, 2.0, velocity=3.0)])
        offered = OfferedTrajectory(["elbow"], [1.0], [[0.4]])
        refusal = follower.accept(offered, now, present={"elbow": 0.0})
        point = follower.sample(now + 0.5)       # elbow at 0.2

    A joint that got a trajectory is followed until `cancel`: after the last point it is held there, and from there its
    next trajectory starts; so cancel joints that another command takes over. What `sample` reads is replaced at once:
    another thread than that of `accept` may call it.

    Attributes:
        max_jump: farthest that a point may be which is due at once [rad, m]; 0 takes any.
    """

    def __init__(
        self, joints: Sequence[JointLimit], *, max_jump: float = 1.0, jump_parameter: str = "max_position_jump"
    ) -> None:
        """Set the rules.

        Args:
            joints: all joints of the robot, those without a motor too.
            max_jump: see above.
            jump_parameter: the node's parameter that sets `max_jump`, for texts.

        Raises:
            InputError: joints of one name, limits that cannot be met, a negative bound.
        """
        super().__init__()
        self._joints = checked_joints(joints)
        self.max_jump = not_negative("max_jump", max_jump)
        self._jump_rule = f"parameter {jump_parameter}; 0 = any"
        self._layers: dict[str, tuple[_Layer, ...]] = {}
        self._change = Lock()

    # --- input ----------------------------------------------------------------------------------------------------
    def accept(self, offered: OfferedTrajectory, now: float, present: Mapping[str, float]) -> Refusal | None:
        """Judge a trajectory, count it, and follow it if it keeps every rule.

        From its start on it replaces what its joints did; others go on. It begins where they are then: at the present
        position, or in the state that the trajectory before has there. Of one that started already, the points that
        are over are dropped, and its joints go straight to the next one. Without any point it is a stop: its joints
        (all that are followed, where it names none) are held where they are, at once.

        Args:
            offered: its points.
            now: on the clock that `sample` is asked by [s]. Where another thread samples meanwhile, one that is ahead
                by what judging takes, a few ms, makes the change without the smallest step.
            present: positions, measured or commanded last, by joint: of those that no trajectory moved before.

        Returns:
            None for a trajectory that is followed; else why not, and all goes on as before.
        """
        refusal = None
        try:
            with self._change:
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
        begin = max(start, now)
        elapsed = begin - start
        first = trajectory.first_after(elapsed)
        if first == len(trajectory.times):
            raise TrajectoryError(
                Reason.OLD,
                f"the trajectory was over {elapsed - float(trajectory.times[-1]):.9g} s ago; leave its stamp zero to "
                f"start it now, or send it earlier; if all are as late, let sender and receiver share a clock "
                f"(use_sim_time).",
            )
        before = {name: self._before(name, begin, now, present) for name in trajectory.names}
        state = PathState(*map(list, zip(*(_state_of(layers, begin) for layers in before.values()), strict=True)))
        if trajectory.times[first] == elapsed and self.max_jump:
            for name, wanted, at in zip(trajectory.names, trajectory.positions[first], state.position, strict=True):
                where = f" of point {first}, due at once,"
                refuse(refused_jump(name, float(wanted), at, self.max_jump, self._jump_rule, where))
        path = trajectory.path(start, elapsed, state)
        self._check_way(path, trajectory.names, first, is_bridged=bool(trajectory.times[first] > elapsed))
        changed = dict(self._layers)
        for column, (name, layers) in enumerate(before.items()):
            kept = _needed(tuple(layer for layer in layers if layer.begin < begin), now)
            own = (*kept, _Layer(begin, path, column))
            if len(own) > MAX_WAITING:
                raise TrajectoryError(
                    Reason.FROM_THE_FUTURE,
                    f"joint {name!r} has {len(own) - 1} trajectories that wait for their start, as many as are kept; "
                    f"send the next one later, or stop these with an empty one.",
                )
            changed[name] = own
        self._layers = changed

    def _before(self, name: str, begin: float, now: float, present: Mapping[str, float]) -> tuple[_Layer, ...]:
        """The motion of a joint up to a time: at least one layer."""
        own = self._layers.get(name)
        if own:
            return tuple(layer for layer in own if layer.begin <= begin) or (_resting(_state_of(own, begin)[0], now),)
        at = present.get(name)
        if at is None or not math.isfinite(at):
            raise TrajectoryError(
                Reason.JUMP,
                f"joint {name!r}: its present position is not known, from which the trajectory has to start; wait for "
                f"its first state.",
            )
        return (_resting(at, now),)

    def _check_way(self, path: Path, names: tuple[str, ...], first: int, *, is_bridged: bool) -> None:
        """Refuse a way that leaves the limits between its points; ends of segments were checked before."""
        finite = path.is_finite()
        if not finite.all():
            i, j = np.argwhere(np.logical_not(finite))[0]
            raise TrajectoryError(
                Reason.OVER_LIMIT,
                f"joint {names[j]!r}: its motion {_between(int(i), first, is_bridged)} has numbers beyond any machine; "
                f"give it more time, or nearer points.",
            )
        joints = [self._joints[name] for name in names]
        lower, upper, speed = (np.tile([joint[k] for joint in joints], (len(finite), 1)) for k in (1, 2, 3))
        # A joint that is outside already has to come back.
        lower[:1] = np.minimum(lower[:1], path.positions[:1])
        upper[:1] = np.maximum(upper[:1], path.positions[:1])
        lower, upper, speed = lower - ROUNDING, upper + ROUNDING, speed * (1.0 + ROUNDING)
        bounds = path.bounds()
        near = np.nonzero((bounds.lowest < lower) | (bounds.highest > upper))
        lowest, highest = path.reach(*near)
        fast = np.nonzero(bounds.speed > speed)
        fastest = path.top_speed(*fast)
        for does, (i, j), values, is_over, limits, limit in (
            ("comes to", near, lowest, lowest < lower[near], lower, "position limit"),
            ("comes to", near, highest, highest > upper[near], upper, "position limit"),
            ("reaches the speed", fast, fastest, fastest > speed[fast], speed, "velocity limit"),
        ):
            if is_over.any():
                k = int(np.argmax(is_over))
                raise TrajectoryError(
                    Reason.OVER_LIMIT,
                    f"joint {names[j[k]]!r} {does} {values[k]:.12g} {_between(int(i[k]), first, is_bridged)}, over "
                    f"the {limit} {limits[i[k], j[k]]:.9g} of the robot description; give that segment more time, or "
                    f"other points.",
                )

    def _stop(self, names: Sequence[str], now: float, present: Mapping[str, float]) -> None:
        refuse(refused_names(names, self._joints))
        changed = dict(self._layers)
        for name in names or tuple(changed):
            at = _state_of(changed[name], now)[0] if name in changed else present.get(name)
            if at is not None and math.isfinite(at):  # one that is neither known nor followed has nothing to stop
                changed[name] = (_resting(at, now),)
        self._layers = changed

    # --- output ---------------------------------------------------------------------------------------------------
    @property
    def followed(self) -> tuple[str, ...]:
        """Joints that got a trajectory and were not cancelled."""
        return tuple(self._layers)

    def sample(self, t: float) -> TrajectoryPoint | None:
        """Where the joints that are followed shall be at a time; None where there is none."""
        layers = self._layers
        if not layers:
            return None
        states: dict[int, PathState] = {}
        rows = [_state_of(own, t, states) for own in layers.values()]
        return TrajectoryPoint(tuple(layers), *zip(*rows, strict=True))

    def is_active(self, t: float) -> bool:
        """True if a joint still has a way to go, or a start to wait for, at a time."""
        return any(own[-1].path.end > t for own in self._layers.values())

    def cancel(self, names: Iterable[str] | None = None) -> None:
        """Follow joints (all by default) no more: after a reset, or where another command takes them over."""
        with self._change:
            gone = set(self._layers if names is None else names)
            self._layers = {name: own for name, own in self._layers.items() if name not in gone}

    def shift(self, dt: float) -> None:
        """Go on as before on a clock that jumped: by `dt` [s], negative where it went back."""
        with self._change:
            moved: dict[int, Path] = {}  # joints of one message share a path, before and after
            for own in self._layers.values():
                for layer in own:
                    moved.setdefault(id(layer.path), layer.path.shifted(dt))
            self._layers = {
                name: tuple(_Layer(begin + dt, moved[id(path)], column) for begin, path, column in own)
                for name, own in self._layers.items()
            }


def _resting(position: float, now: float) -> _Layer:
    return _Layer(now, Path.resting(now, np.array([position])), 0)


def _needed(layers: tuple[_Layer, ...], now: float) -> tuple[_Layer, ...]:
    """Layers without those that others have followed already."""
    over = sum(1 for layer in layers[1:] if layer.begin <= now)
    return layers[over:]


def _state_of(
    layers: tuple[_Layer, ...], t: float, known: dict[int, PathState] | None = None
) -> tuple[float, float, float, float]:
    """Position, velocity, acceleration and effort of a joint at a time.

    Args:
        layers: of the joint, by their begin.
        t: the time.
        known: states of paths at this time by id, which saves work; grows.
    """
    layer = layers[0]
    for later in layers[1:]:
        if later.begin <= t:
            layer = later
    path, j = layer.path, layer.column
    if t < layer.begin:
        state = path.start()
    else:
        found = None if known is None else known.get(id(path))
        state = path.state(t) if found is None else found
        if known is not None:
            known[id(path)] = state
    return state.position[j], state.velocity[j], state.acceleration[j], state.effort[j]


# --- rules ----------------------------------------------------------------------------------------------------------
def _between(segment: int, first: int, is_bridged: bool) -> str:
    """Where a segment is, by the points of the message."""
    end = first + segment + (0 if is_bridged else 1)
    start = "the present state" if is_bridged and segment == 0 else f"point {end - 1}"
    return f"between {start} and point {end}"
