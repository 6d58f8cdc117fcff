# SPDX-License-Identifier: Apache-2.0
"""Estimation of the full state, with passive joints of loops, from the motor state measured by a device; no ROS.

The passive joints follow from loop closure (`LoopFollower`), if the joints of the device determine the motion.
Otherwise `Dynamics.project_to_constraints` moves them with the smallest kinetic energy; the motors of its model have a
very large inertia, so that they keep their measured positions.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.closed_configuration import closed_configuration
from ada_dynamics.constraints.closure import free_velocities, gauss_newton, reversed_loops
from ada_dynamics.constraints.constraint_set import ConstraintSet
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.loop_closure import NOT_CLOSED
from ada_dynamics.errors import (
    AdaError,
    ConstraintViolationWarning,
    InputError,
    SingularConfigurationError,
    SingularConfigurationWarning,
)
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.model import Model
from ada_robot.driver import Feedback
from ada_robot.messages.incoming import StateNumbers
from ada_robot.node.loop_states import LoopFollower

_MOTOR_INERTIA = 1e6  # [kg m^2]; motors move less than passive joints by the ratio of the inertias
_FARTHEST = 0.3  # motion of a motor since the last configuration above which the loops are closed from scratch [rad, m]
_STEPS = 30  # maximum number of Gauss-Newton steps of that
_PAUSE = 1.0  # time between attempts after a failed loop closure, which is slow [s]
_WIDEST = 1e-6  # tolerance of the closure error [m, rad]
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
        self._follower: LoopFollower | None = None  # once the loops are closed, if the joints determine the motion
        self._closed: Dynamics | None = None  # otherwise dynamics of the model with heavy motors
        self._tried_at = -math.inf

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
            ModelError: if the loops cannot be closed near the start configuration.
        """
        if self.model.loops and self._follower is None and self._closed is None:
            self._q = np.array(closed_configuration(self.model, self._start, self._names))
            try:
                self._follower = LoopFollower(Dynamics(self.model, q0=self._q), self._names, self._q, _PAUSE)
                return
            except InputError:  # joints are missing, or more than determine the motion
                pass
            parts = Parts.of(self.model)
            for name in self._names:
                joint = parts.joints[name]
                parts.joints[name] = replace(joint, armature=joint.armature + _MOTOR_INERTIA)
            self._closed = Dynamics(parts.build(), q0=self._q)
            self._projected(self._q, np.zeros(self.model.nv))

    def _with_passive(self, time: float, position: Array, v: Array) -> tuple[Array, Array]:
        self.close_loops()
        if self._follower is not None:
            return self._followed(self._follower, time, position, v)
        if self.problem and time - self._tried_at < _PAUSE:
            return self._with(position), v
        is_near = float(np.max(np.abs(position - self._q[self._rows]))) < _FARTHEST
        found = self._projected(self._with(position), v) if is_near and not self.problem else None
        if found is None:  # from the last configuration, then from the start
            self._tried_at = time
            starts = (self._q, self._start) if not self.problem else (self._start,)
            found = next((one for start in starts if (one := self._assembled(start, position, v))), None)
        if found is None:
            self.problem = _FAILED
            return self._with(position), v
        self._q, self.problem = found[0].copy(), ""
        return found

    def _followed(self, follower: LoopFollower, time: float, position: Array, v: Array) -> tuple[Array, Array]:
        found = follower.solve(time, position)
        if found is None or found.status >= NOT_CLOSED:
            self.problem = _FAILED
            return self._with(position), v
        self._q, self.problem, q = found.q, "", found.q.copy()
        try:
            return q, follower.tangent_map() @ v[self._speeds]
        except SingularConfigurationError:
            self.problem = "singular configuration: the motors do not determine the velocities of the passive joints"
            return q, v

    def _with(self, position: Array) -> Array:
        """Return the last configuration with other motor positions."""
        q = self._q.copy()
        q[self._rows] = position
        return q

    def _projected(self, q: Array, v: Array) -> tuple[Array, Array] | None:
        """Project an almost closed configuration and its velocities onto the constraints; None on failure."""
        assert self._closed is not None
        measured = q[self._rows]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SingularConfigurationWarning)
                warnings.simplefilter("ignore", ConstraintViolationWarning)
                q, v = self._closed.project_to_constraints(q, v)
                is_closed = float(np.max(self._closed.constraints.closure_error(q))) < _WIDEST
        except (AdaError, np.linalg.LinAlgError):
            return None
        if not is_closed:
            return None
        q[self._rows] = measured  # restore the exact values
        return q, v

    def _assembled(self, start: Array, position: Array, v: Array) -> tuple[Array, Array] | None:
        """Close the loops from a distant configuration; takes about as long as a dozen projections."""
        q = start.copy()
        q[self._rows] = position
        closing = gauss_newton(self._numbers, q, free_velocities(self.model, self._names), steps=_STEPS, polish=0)
        if closing.error * self._numbers.length > _WIDEST or reversed_loops(self.model.tree, closing.q):
            return None
        return self._projected(closing.q, v)

    @cached_property
    def _numbers(self) -> ConstraintSet:
        return ConstraintSet(self.model)
