# SPDX-License-Identifier: Apache-2.0
"""Conversion of requests by topics and actions to references of a controller; no ROS.

Joints that a request does not name hold their commanded position. A planning controller gets a trajectory as a path,
and its plan is the reference for tolerances. For other controllers the trajectory is interpolated, and sampled for
each state.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ada_controllers.running.control_loop import REFERENCE, ControlLoop
from ada_controllers.state import JointPath, JointReference, PoseReference, ReferenceRefused
from ada_dynamics.arrays import Array
from ada_dynamics.errors import unknown_name
from ada_robot.contract import Reason
from ada_robot.limits import refused_names
from ada_robot.trajectory.trajectory import OfferedTrajectory, Trajectory, TrajectoryError, TrajectoryFollower


# --- tolerances -------------------------------------------------------------------------------------------------------
class Tolerance(NamedTuple):
    """Maximum deviation of a joint; infinite for any.

    Attributes:
        position: maximum position error [rad, m].
        velocity: maximum velocity error [rad/s, m/s].
    """

    position: float = math.inf
    velocity: float = math.inf


def tolerances_of(requested: Sequence[Any], joints: Sequence[str], default: float) -> list[Tolerance]:
    """Return the tolerance of each joint.

    Args:
        requested: messages with name, position and velocity: 0 for the default, negative for any.
        joints: joints of the controller.
        default: default of positions; 0 for any.

    Raises:
        ReferenceRefused: if a joint is unknown, or a value is not finite.
    """
    found = dict.fromkeys(joints, Tolerance(default or math.inf))
    for one in requested:
        if one.name not in found:
            raise ReferenceRefused(
                f"tolerance: {unknown_name('joint', one.name[:80], joints)}", joint=one.name, field="name"
            )
        if not (math.isfinite(one.position) and math.isfinite(one.velocity)):
            raise ReferenceRefused(
                f"the tolerance of joint {one.name!r} is {one.position}, {one.velocity}; it must be finite: 0 for the "
                "default, -1 for any.",
                joint=one.name,
                field="tolerance",
            )
        usual = found[one.name]
        found[one.name] = Tolerance(_value(one.position, usual.position), _value(one.velocity, usual.velocity))
    return list(found.values())


def _value(requested: float, usual: float) -> float:
    if requested < 0.0:
        return math.inf
    return requested or usual


def first_beyond(
    tolerances: Sequence[Tolerance], joints: Sequence[str], desired: JointReference, actual: JointReference
) -> str:
    """Describe the first joint that exceeds its tolerance; "" if none does."""
    for i, (name, tolerance) in enumerate(zip(joints, tolerances, strict=True)):
        off = abs(float(desired.position[i] - actual.position[i]))
        if off > tolerance.position:
            return f"joint {name!r} is off by {off:.4g}, more than {tolerance.position:g} [rad, m],"
        if desired.velocity is None or actual.velocity is None:
            continue
        off = abs(float(desired.velocity[i] - actual.velocity[i]))
        if off > tolerance.velocity:
            return f"joint {name!r} is off by {off:.4g}, more than {tolerance.velocity:g} [rad/s, m/s],"
    return ""


# --- requests ---------------------------------------------------------------------------------------------------------
class Progress(NamedTuple):
    """Progress of a trajectory, for each joint of the controller.

    Attributes:
        time: time of the controller [s].
        lost: reason why it is no longer followed; "" while it is.
        is_over: whether its last point is due.
        left: description of a violated path tolerance; "" for none.
        desired: desired joint state, of the controller's plan if it has one.
        actual: measured joint state.
    """

    time: float
    lost: str
    is_over: bool
    left: str
    desired: JointReference
    actual: JointReference


class Following:
    """Converts requests to references of a control loop, in the thread of the loop."""

    def __init__(self, control: ControlLoop) -> None:
        """Start without a trajectory."""
        self._control = control
        self._rest: Array = np.zeros(0)  # positions of joints without a trajectory
        self._path: JointPath | None = None
        self._begins = -1  # number of starts of the loop when the trajectory was accepted
        self._refusals = 0  # number of refused references at that time
        self._way: Sequence[Tolerance] = ()
        self._left = ""
        self.renew()

    def renew(self, *, keep: bool = False) -> None:
        """Restart for another controller; the present trajectory may be kept."""
        if keep and self._path is None:
            self._begins = self._control.begins
            return
        self._follower = TrajectoryFollower(self._control.controller.limits)
        self._rest, self._path, self._begins = np.zeros(0), None, -1

    # --- requests -------------------------------------------------------------------------------------------------
    def joints(self, names: Sequence[str], position: Sequence[float], velocity: Sequence[float] = ()) -> None:
        """Set joint positions, and optionally velocities.

        Raises:
            ReferenceRefused: if they are invalid; the present reference remains.
        """
        self._check_names(names)
        if len(position) != len(names) or len(velocity) not in (0, len(names)):
            raise self._refused(
                f"{len(names)} names, {len(position)} positions and {len(velocity)} velocities; give a position for "
                "each name, and a velocity for each or none.",
                "position" if len(position) != len(names) else "velocity",
            )
        where = self._places(names)
        target = self._present()
        target[where] = position
        speed = None
        if len(velocity):
            speed = np.zeros_like(target)
            speed[where] = velocity
        self._control.offer(JointReference(target, speed))
        self._begins = -1

    def pose(self, pose: Array) -> None:
        """Set the pose of a link, in the base frame.

        Raises:
            ReferenceRefused: if it is invalid; the present reference remains.
        """
        self._control.offer(PoseReference(pose))
        self._begins = -1

    def trajectory(self, offered: OfferedTrajectory) -> None:
        """Follow a trajectory; one without points is a stop.

        Raises:
            ReferenceRefused: if it is invalid; the present reference remains.
        """
        control = self._control
        control.require_active()
        assert control.latest is not None  # required by the activation
        references = control.controller.REFERENCES
        if JointReference not in references and JointPath not in references:
            raise self._refused(
                f"{control.controller.NAME} follows no joint positions.", "controller", control.controller.NAME
            )
        if offered.names:
            self._check_names(offered.names)
        offered = offered._replace(efforts=())  # the control law computes efforts
        if JointPath not in references:
            self._sampled(offered, control.latest.stamp)
        elif offered.is_stop:
            control.brake()
            self._path = None
        else:
            path = self._path_of(offered)
            control.offer(path)
            self._path = path
        self._begins, self._refusals = control.begins, control.refused[REFERENCE]

    def _sampled(self, offered: OfferedTrajectory, now: float) -> None:
        """Pass a sampled reference to the controller for each state."""
        if not self.is_followed:
            self._follower.cancel()
        present = self._present()
        joints = self._control.controller.joints
        refusal = self._follower.accept(offered, now, dict(zip(joints, present.tolist(), strict=True)))
        if refusal is not None:
            raise self._refused(refusal.text, "trajectory", refusal.reason)
        if not self.is_followed:
            self._rest = present
        self._path = None
        self._control.offer(self._sample)

    def stop(self) -> None:
        """Stop the joints of a trajectory, by the plan of the controller or at the present setpoint."""
        if self.is_followed:
            self.trajectory(OfferedTrajectory((), (), ()))

    def keep_to(self, way: Sequence[Tolerance]) -> None:
        """Monitor path tolerances of the present trajectory; an empty sequence disables the monitoring."""
        self._way, self._left = way, ""

    # --- progress -------------------------------------------------------------------------------------------------
    @property
    def is_followed(self) -> bool:
        """True if the controller follows the last trajectory."""
        control = self._control
        is_same = self._begins == control.begins and control.is_active and not control.waits
        return is_same and (self._path is None or control.target is self._path)

    def look(self) -> None:
        """Check the path tolerances, after each command."""
        latest = self._control.latest
        if not self._way or self._left or latest is None or not self.is_followed or self._is_over(latest.stamp):
            return
        joints = self._control.controller.joints
        self._left = first_beyond(self._way, joints, self._desired(latest.stamp), self._actual())

    def progress(self) -> Progress | None:
        """Return the progress of the last trajectory; None without a state."""
        latest = self._control.latest
        if latest is None:
            return None
        time = latest.stamp
        return Progress(time, self._lost(), self._is_over(time), self._left, self._desired(time), self._actual())

    def _lost(self) -> str:
        """Return why the last trajectory is no longer followed, or ""."""
        control = self._control
        if self.is_followed:
            return ""
        if not control.is_active or control.waits:
            return control.waits or control.reason
        if self._begins not in (-1, control.begins):
            return control.start_reason
        if control.refused[REFERENCE] > self._refusals:
            return control.last_refusals[REFERENCE]
        return "another reference is followed"

    def _is_over(self, time: float) -> bool:
        """Return True if the last point is due; False for a path that the controller has not started."""
        controller = self._control.controller
        if self._path is None:
            return not self._follower.is_active(time) and not controller.remaining
        return controller.reference is self._path and not controller.remaining

    # --- helpers --------------------------------------------------------------------------------------------------
    def _actual(self) -> JointReference:
        controller, latest = self._control.controller, self._control.latest
        assert latest is not None
        q, v, _ = latest.state
        return JointReference(q[controller.q_index], v[controller.v_index])

    def _desired(self, time: float) -> JointReference:
        planned = self._control.controller.planned(time)
        return self._sample(time) if planned is None else planned

    def _sample(self, time: float) -> JointReference:
        point = self._follower.sample(time)
        position = self._rest.copy() if self._rest.size else self._present()
        velocity, acceleration = np.zeros_like(position), np.zeros_like(position)
        if point is not None:
            where = self._places(point.names)
            position[where], velocity[where], acceleration[where] = point.position, point.velocity, point.acceleration
        return JointReference(position, velocity, acceleration)

    def _path_of(self, offered: OfferedTrajectory) -> JointPath:
        """Return the points that are not elapsed, for all joints; joints without a trajectory stop."""
        limits = {limit.name: limit for limit in self._control.controller.limits}
        try:
            points = Trajectory.checked(limits, offered)
        except TrajectoryError as problem:
            raise self._refused(problem.refusal.text, "trajectory", problem.refusal.reason) from None
        times = points.times + (offered.start_in or 0.0)
        if times[-1] < 0.0:
            raise self._refused(
                f"the trajectory ended {-times[-1]:.9g} s ago; set its stamp to zero to start it now.",
                "trajectory",
                Reason.OLD,
            )
        left = times > 0.0
        left[-1] = True  # for a single point due at once
        where = self._places(points.names)
        positions = np.tile(self._present(), (int(left.sum()), 1))
        positions[:, where] = points.positions[left]
        velocities = None
        if points.velocities is not None:
            velocities = np.zeros_like(positions)
            velocities[:, where] = points.velocities[left]
        return JointPath(positions, times[left], velocities)

    def _places(self, names: Sequence[str]) -> list[int]:
        joints = self._control.controller.joints
        return [joints.index(name) for name in names]

    def _present(self) -> Array:
        """Return the commanded joint positions, or the measured ones."""
        control = self._control
        target, latest = control.target, control.latest
        resting = None if latest is None else control.controller.resting(latest.stamp)
        if resting is None and self.is_followed and latest is not None:
            return self._sample(latest.stamp).position
        if isinstance(target, JointReference):
            return target.position.copy()
        if resting is not None:
            return resting
        preferred = control.controller.preferred
        if preferred is not None:
            return preferred.copy()
        if latest is None:
            raise self._refused("no state of the robot received yet.")
        return latest.state.q[control.controller.q_index]

    def _check_names(self, names: Sequence[str]) -> None:
        controller = self._control.controller
        if not len(names):
            raise self._refused("the request has no joint names.", "name")
        known = {limit.name: limit for limit in controller.limits}
        refusal = refused_names(names, known)
        if refusal is not None:
            raise self._refused(refusal.text, "name", refusal.reason)

    def _refused(self, text: str, field: str | None = None, value: object = None) -> ReferenceRefused:
        self._control.refuse(REFERENCE, text)
        return ReferenceRefused(text, field=field, value=value)
