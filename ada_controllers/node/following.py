# SPDX-License-Identifier: Apache-2.0
"""From what topics and actions ask for to the references that a controller takes; no ROS.

Joints that a request does not name stay where they are told to be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ada_controllers.control_loop import ControlLoop
from ada_controllers.errors import ReferenceRefused
from ada_controllers.node.tolerances import Tolerance, first_beyond
from ada_controllers.state import Array, JointPath, JointReference, PoseReference
from ada_dynamics.commanding.rules import refused_names
from ada_dynamics.commanding.trajectory import TrajectoryFollower
from ada_dynamics.errors import unknown_name


class OfferedTrajectory(NamedTuple):
    """Points over time, as they came; see `commanding.trajectory.Trajectory.checked`.

    Attributes:
        names: of joints.
        times: of the points [s].
        positions: rows.
        velocities: rows.
        accelerations: rows.
        start_in: when its time 0 is, from now on [s]; None: now.
    """

    names: Sequence[str]
    times: Sequence[float]
    positions: Sequence[Sequence[float]]
    velocities: Sequence[Sequence[float]] = ()
    accelerations: Sequence[Sequence[float]] = ()
    start_in: float | None = None


class Progress(NamedTuple):
    """How a trajectory is followed at a moment, for each of the controller's joints.

    Attributes:
        time: the controller's [s].
        is_followed: whether it still is.
        is_over: whether its last point is due.
        left: how the way was left before, in words; empty where it was not.
        desired: where the joints shall be.
        actual: where they are.
    """

    time: float
    is_followed: bool
    is_over: bool
    left: str
    desired: JointReference
    actual: JointReference


class Following:
    """Turns requests into offers to a control loop; both belong to one thread."""

    def __init__(self, control: ControlLoop) -> None:
        """Args: the loop."""
        self._control = control
        self._rest: Array = np.zeros(0)  # positions of the joints that no trajectory moves
        self._path: JointPath | None = None
        self._begins = -1  # of the loop, when the trajectory was taken
        self._way: Sequence[Tolerance] = ()
        self._left = ""
        self.renew()

    def renew(self, *, keep: bool = False) -> None:
        """Take note of another controller.

        Args:
            keep: go on with the trajectory that is followed.
        """
        if keep and self._path is None:
            self._begins = self._control.begins
            return
        self._follower = TrajectoryFollower(self._control.controller.limits)
        self._rest, self._path, self._begins = np.zeros(0), None, -1

    # --- requests -------------------------------------------------------------------------------------------------
    def joints(self, names: Sequence[str], position: Sequence[float], velocity: Sequence[float] = ()) -> None:
        """Joints to positions.

        Raises:
            ReferenceRefused: they cannot be followed; all goes on as before.
        """
        controller = self._control.controller
        self._check_names(names)
        if len(position) != len(names) or len(velocity) not in (0, len(names)):
            raise self._refused(
                f"{len(names)} names, {len(position)} positions and {len(velocity)} velocities; give a position for "
                "each name, and a velocity for each or none."
            )
        where = self._places(names)
        target = self._present()
        target[where] = position
        speed = None
        if len(velocity):
            speed = np.zeros_like(target)
            speed[where] = velocity
        if JointReference in controller.REFERENCES or JointPath not in controller.REFERENCES:
            self._control.offer(JointReference(target, speed))
        else:
            self._control.offer(JointPath(target[None, :]))
        self._begins = -1

    def pose(self, pose: Array) -> None:
        """A link to a pose, in the frame of the base.

        Raises:
            ReferenceRefused: it cannot be followed; all goes on as before.
        """
        self._control.offer(PoseReference(pose))
        self._begins = -1

    def trajectory(self, offered: OfferedTrajectory) -> None:
        """Joints through points over time; one without points is a stop.

        Raises:
            ReferenceRefused: it cannot be followed; all goes on as before.
        """
        control = self._control
        latest, references = control.latest, control.controller.REFERENCES
        if not control.is_active or latest is None:
            raise self._refused(f"{control.controller.NAME} is not active ({control.reason}).")
        if JointReference not in references and JointPath not in references:
            raise self._refused(f"{control.controller.NAME} follows no joint positions.")
        if offered.names:
            self._check_names(offered.names)
        if not self.is_followed:
            self._follower.cancel()
        present, now = self._present(), latest.stamp
        refusal = self._follower.accept(
            offered.names,
            offered.times,
            offered.positions,
            offered.velocities,
            offered.accelerations,
            start=None if offered.start_in is None else now + offered.start_in,
            now=now,
            present=dict(zip(control.controller.joints, present.tolist(), strict=True)),
        )
        if refusal is not None:
            raise self._refused(refusal.text)
        if not self.is_followed:
            self._rest = present
        try:
            if JointPath not in references:
                self._path = None
                control.offer(self._sample)
            elif offered.times:
                self._path = self._path_of(offered, now)
                control.offer(self._path)
            else:
                self._path = None
                control.offer(JointReference(self._sample(now).position))
        except ReferenceRefused:
            self._begins = -1
            raise
        self._begins = control.begins

    def stop(self) -> None:
        """Hold the joints of a trajectory where they are told to be now."""
        if self.is_followed:
            self.trajectory(OfferedTrajectory((), (), ()))

    def keep_to(self, way: Sequence[Tolerance]) -> None:
        """From now on note where a joint is off the last trajectory by more than this on its way; nothing: any."""
        self._way, self._left = way, ""

    # --- how it goes ----------------------------------------------------------------------------------------------
    @property
    def is_followed(self) -> bool:
        """Whether the last trajectory is still what the controller follows."""
        control = self._control
        is_same = self._begins == control.begins and control.is_active
        return is_same and (self._path is None or control.target is self._path)

    def look(self) -> None:
        """See whether the joints keep to the way; after each command, so that no stall of another thread hides it."""
        latest = self._control.latest
        if not self._way or self._left or latest is None or not self.is_followed:
            return
        if self._follower.is_active(latest.stamp):
            joints = self._control.controller.joints
            self._left = first_beyond(self._way, joints, self._sample(latest.stamp), self._actual())

    def progress(self) -> Progress | None:
        """How the last trajectory is followed; None while there is no state."""
        latest = self._control.latest
        if latest is None:
            return None
        is_over = not self._follower.is_active(latest.stamp)
        return Progress(latest.stamp, self.is_followed, is_over, self._left, self._sample(latest.stamp), self._actual())

    # --- inside ---------------------------------------------------------------------------------------------------
    def _actual(self) -> JointReference:
        controller, latest = self._control.controller, self._control.latest
        assert latest is not None
        q, v, _ = latest.state
        return JointReference(q[controller.q_index], v[controller.v_index])

    def _sample(self, time: float) -> JointReference:
        point = self._follower.sample(time)
        position = self._rest.copy() if self._rest.size else self._present()
        velocity, acceleration = np.zeros_like(position), np.zeros_like(position)
        if point is not None:
            where = self._places(point.names)
            position[where], velocity[where], acceleration[where] = point.position, point.velocity, point.acceleration
        return JointReference(position, velocity, acceleration)

    def _path_of(self, offered: OfferedTrajectory, now: float) -> JointPath:
        """The points that are not over, for all joints."""
        times = np.array(offered.times) + (offered.start_in or 0.0)
        left = times > 0.0
        where = self._places(offered.names)
        positions = np.tile(self._rest, (int(left.sum()), 1))
        positions[:, where] = np.array(offered.positions)[left]
        velocities = None
        if any(len(row) for row in offered.velocities):
            velocities = np.zeros_like(positions)
            velocities[:, where] = np.array(offered.velocities)[left]
        return JointPath(positions, times[left], velocities)

    def _places(self, names: Sequence[str]) -> list[int]:
        joints = self._control.controller.joints
        return [joints.index(name) for name in names]

    def _present(self) -> Array:
        """Where the joints are told to be; where they are, where nobody says so."""
        control = self._control
        target, command, latest = control.target, control.command, control.latest
        if self.is_followed and self._path is None and latest is not None:
            return self._sample(latest.stamp).position
        if isinstance(target, JointReference):
            return target.position.copy()
        if isinstance(target, JointPath):
            told = None if command is None else command.position
            if told is not None:
                return told.copy()
        if latest is None:
            raise self._refused("no state of the robot came so far.")
        return latest.state.q[control.controller.q_index]

    def _check_names(self, names: Sequence[str]) -> None:
        controller = self._control.controller
        if not len(names):
            raise self._refused("it names no joint.")
        known = {limit.name: limit for limit in controller.limits}
        for name in names:
            if name not in known:
                raise self._refused(str(unknown_name(f"joint of {controller.NAME}", name[:80], known)))
        refusal = refused_names(names, known)
        if refusal is not None:
            raise self._refused(refusal.text)

    def _refused(self, text: str) -> ReferenceRefused:
        self._control.refuse("reference", text)
        return ReferenceRefused(text)
