# SPDX-License-Identifier: Apache-2.0
"""From what a device measures at its motors to the state of the whole robot, with the joints that loops move; no ROS.

Positions of passive joints come from closing the loops from the last configuration by
`Dynamics.project_to_constraints`, which minimises kinetic energy: in its model the motors have a very large inertia, so
that they keep the measured positions while the passive joints follow.
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
from ada_dynamics.constraints.closed_configuration import close_loops
from ada_dynamics.constraints.closure import free_velocities, gauss_newton, reversed_loops
from ada_dynamics.constraints.constraint_set import ConstraintSet
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import AdaError, ConstraintViolationWarning, InputError, SingularConfigurationWarning
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.model import Model
from ada_robot.driver import Feedback
from ada_robot.messages.state_message import StateNumbers

_MOTOR_INERTIA = 1e6  # [kg m^2]: motors move less than their loads by the ratio of the inertias
_FARTHEST = 0.3  # [rad, m] of a motor since the last pose, beyond which the loops are assembled anew
_STEPS = 30  # of that
_PAUSE = 1.0  # [s] without poses before the next try, once none was found: looking for one takes long
_WIDEST = 1e-6  # [m, rad] of a loop that counts as closed


class StateOfRobot:
    """Puts measured joints into states of a model.

    Attributes:
        model: the robot.
        missing: its motors that the device does not have; they are taken to be at zero.
        problem: why the last pose of the loops is not that of the motors; "" where it is.
    """

    def __init__(self, model: Model, joints: Sequence[str], start: Array | None = None) -> None:
        """Prepare.

        Args:
            model: the robot, with a fixed base.
            joints: of the device, in the order of what is measured.
            start: a pose near to which the loops close; the neutral one by default.

        Raises:
            InputError: the model lacks a joint of the device.
        """
        unknown = [name for name in joints if name not in model.joint_names or model.joints[name].nq != 1]
        if unknown:
            raise InputError(
                f"the model {model.name!r} has no joint {unknown[0]!r} with one position; the device has "
                f"{', '.join(joints)}, the model {', '.join(model.joint_names)}. Give the robot's own model, or none."
            )
        self.model = model
        self.missing = tuple(name for name in model.actuated if name not in joints)
        self.problem = ""
        self._names = list(joints)
        self._rows = np.array([model.q_index(name).start for name in joints], dtype=np.intp)
        self._speeds = np.array([model.v_index(name).start for name in joints], dtype=np.intp)
        self._start = model.home() if start is None else np.array(start)
        self._q = self._start.copy()
        self._closed: Dynamics | None = None  # of the model with heavy motors, once the loops are closed
        self._tried_at = -math.inf

    def copy(self) -> StateOfRobot:
        """A copy for another thread."""
        other = copy(self)
        other._q = self._q.copy()
        return other

    def of(self, feedback: Feedback) -> StateNumbers:
        """The state that a device reports; where it does not know a position, all are those of the first pose."""
        is_known = bool(np.isfinite(feedback.position).all())
        position = feedback.position if is_known else np.array(self._start[self._rows])
        return self.at(feedback.time, position, feedback.velocity, feedback.effort)

    def at(self, time: float, position: Array, velocity: Array, effort: Array) -> StateNumbers:
        """The state in which the device's joints are so; velocities and efforts that are not known are zero in it.

        Args:
            time: when, on the steady clock [s].
            position: all finite.
            velocity: NaN where it is not known.
            effort: likewise.
        """
        v, tau = np.zeros(self.model.nv), np.zeros(self.model.nv)
        v[self._speeds], tau[self._speeds] = np.nan_to_num(velocity), np.nan_to_num(effort)
        if not self.model.loops:
            self._q[self._rows] = position
            return StateNumbers(time, self._q.copy(), v, tau)
        q, v = self._with_passive(time, position, v)
        return StateNumbers(time, q, v, tau)

    def close_loops(self) -> None:
        """Find the pose to begin with, and compile what is needed from there on; takes seconds.

        Raises:
            ModelError: no pose near the first one closes the loops.
        """
        if self.model.loops and self._closed is None:
            self._q = np.array(close_loops(self.model, self._start, self._names))
            parts = Parts.of(self.model)
            for name in self._names:
                joint = parts.joints[name]
                parts.joints[name] = replace(joint, armature=joint.armature + _MOTOR_INERTIA)
            self._closed = Dynamics(parts.build(), q0=self._q)
            self._projected(self._q, np.zeros(self.model.nv))

    def _with_passive(self, time: float, position: Array, v: Array) -> tuple[Array, Array]:
        self.close_loops()
        if self.problem and time - self._tried_at < _PAUSE:
            return self._with(position), v
        is_near = float(np.max(np.abs(position - self._q[self._rows]))) < _FARTHEST
        found = self._projected(self._with(position), v) if is_near and not self.problem else None
        if found is None:  # from where it is, then from where it began
            self._tried_at = time
            starts = (self._q, self._start) if not self.problem else (self._start,)
            found = next((one for start in starts if (one := self._assembled(start, position, v))), None)
        if found is None:
            self.problem = "no pose of its passive joints near the last one, or the first, fits its motors"
            return self._with(position), v
        self._q, self.problem = found[0].copy(), ""
        return found

    def _with(self, position: Array) -> Array:
        """The last pose with the motors elsewhere."""
        q = self._q.copy()
        q[self._rows] = position
        return q

    def _projected(self, q: Array, v: Array) -> tuple[Array, Array] | None:
        """The pose with closed loops beside one that is almost closed, and velocities that keep it so."""
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
        q[self._rows] = measured  # to the last digit
        return q, v

    def _assembled(self, start: Array, position: Array, v: Array) -> tuple[Array, Array] | None:
        """As `_projected`, from a pose that is far from closed; takes as long as some dozen projections."""
        q = start.copy()
        q[self._rows] = position
        closing = gauss_newton(self._numbers, q, free_velocities(self.model, self._names), steps=_STEPS, polish=0)
        if closing.error * self._numbers.length > _WIDEST or reversed_loops(self.model.tree, closing.q):
            return None
        return self._projected(closing.q, v)

    @cached_property
    def _numbers(self) -> ConstraintSet:
        return ConstraintSet(self.model)
