# SPDX-License-Identifier: Apache-2.0
"""Estimation of the full state, with passive joints of loops, from the motor state measured by a device; no ROS."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.closed_configuration import closed_configuration
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.loop_closure import NOT_CLOSED
from ada_dynamics.errors import InputError, SingularConfigurationError
from ada_dynamics.model.model import Model
from ada_robot.driver import Feedback
from ada_robot.messages.incoming import StateNumbers
from ada_robot.node.loop_states import LoopFollower, independent_joints

_PAUSE = 1.0  # time between attempts after a failed loop closure, which is slow [s]
_FAILED = "loop closure failed at the motor positions, from the last and the first configuration"


class StateEstimator:
    """Estimator of the full state of a robot.

    Attributes:
        model: robot model.
        missing: motors that the device lacks; assumed to be at zero.
        problem: reason why the passive joints do not match the motors; "" if they do.
    """

    def __init__(self, model: Model, joints: Sequence[str], start: Array | None = None) -> None:
        """Select the joints.

        Args:
            model: robot model with a fixed base.
            joints: joints of the device, in the order of its feedback.
            start: configuration near which the loops can be closed; the home configuration by default.

        Raises:
            InputError: if the model lacks a joint of the device.
        """
        unknown = [name for name in joints if name not in model.joint_names or model.joints[name].nq != 1]
        if unknown:
            raise InputError(
                f"the model {model.name!r} has no joint {unknown[0]!r} with one position; the device has "
                f"{', '.join(joints)}, the model {', '.join(model.joint_names)}. Use the robot's model, or none."
            )
        self.model = model
        self.missing = tuple(name for name in model.actuated if name not in joints)
        self.problem = ""
        self._names = list(joints)
        self._rows = np.array([model.q_index(name).start for name in joints], dtype=np.intp)
        self._speeds = np.array([model.v_index(name).start for name in joints], dtype=np.intp)
        self._start = model.home() if start is None else np.array(start)
        self._q = self._start.copy()
        self._follower: LoopFollower | None = None  # once the loops are closed
        self._chosen: list[int] = []  # places of its joints among those of the device

    def copy(self) -> StateEstimator:
        """Return a copy for another thread."""
        other = copy(self)
        other._q, other._follower = self._q.copy(), copy(self._follower)
        return other

    def of(self, feedback: Feedback) -> StateNumbers:
        """Return the state of a feedback; at the start configuration if a position is unknown."""
        is_known = bool(np.isfinite(feedback.position).all())
        position = feedback.position if is_known else np.array(self._start[self._rows])
        return self.at(feedback.time, position, feedback.velocity, feedback.effort)

    def at(self, time: float, position: Array, velocity: Array, effort: Array) -> StateNumbers:
        """Return the state for given joint states of the device; unknown velocities and efforts are set to zero.

        Args:
            time: time on the steady clock [s].
            position: finite positions.
            velocity: velocities; NaN if unknown.
            effort: efforts; NaN if unknown.
        """
        v, tau = np.zeros(self.model.nv), np.zeros(self.model.nv)
        v[self._speeds], tau[self._speeds] = np.nan_to_num(velocity), np.nan_to_num(effort)
        if not self.model.loops:
            self._q[self._rows] = position
            return StateNumbers(time, self._q.copy(), v, tau)
        q, v = self._with_passive(time, position, v)
        return StateNumbers(time, q, v, tau)

    def close_loops(self) -> None:
        """Close the loops at the start, and compile the dynamics; takes seconds.

        Raises:
            InputError: if the joints of the device do not determine the passive joints.
            ModelError: if the loops cannot be closed near the start configuration.
        """
        if self.model.loops and self._follower is None:
            self._q = np.array(closed_configuration(self.model, self._start, self._names))
            dynamics = Dynamics(self.model, q0=self._q)
            joints = independent_joints(dynamics, self._names)
            self._chosen = [self._names.index(name) for name in joints]
            self._follower = LoopFollower(dynamics, joints, self._q, _PAUSE)

    def _with_passive(self, time: float, position: Array, v: Array) -> tuple[Array, Array]:
        """Return configuration and velocities with those of the passive joints, which follow from loop closure."""
        self.close_loops()
        assert self._follower is not None
        found = self._follower.solve(time, position[self._chosen])
        if found is None or found.status >= NOT_CLOSED:
            self.problem = _FAILED
            return self._with(position), v
        self._q, self.problem, q = found.q, "", found.q.copy()
        try:
            return q, self._follower.tangent_map() @ v[self._speeds[self._chosen]]
        except SingularConfigurationError:
            self.problem = "singular configuration: the motors do not determine the velocities of the passive joints"
            return q, v

    def _with(self, position: Array) -> Array:
        """Return the last configuration with other motor positions."""
        q = self._q.copy()
        q[self._rows] = position
        return q
