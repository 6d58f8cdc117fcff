# SPDX-License-Identifier: Apache-2.0
"""Encoding of measured states and demands of a device as sensor_msgs/JointState; no ROS.

Unknown quantities are omitted instead of sent as NaN: a message has all positions or none, all velocities or none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics.simulation.record.messages import JointStates
from ada_robot.contract import Demand, Mode
from ada_robot.driver import Feedback
from ada_robot.messages.outgoing import JointStateLayouts
from ada_robot.messages.state_message import StateNumbers
from ada_robot.node.state_estimation import StateEstimator


class JointStateBytes:
    """Encoder of one robot.

    Attributes:
        names: joints of the device, and dependent joints.
        needs_whole: whether `measured` needs the full state.
    """

    def __init__(self, joints: Sequence[str], whole: StateEstimator | None) -> None:
        """Choose the joints.

        Args:
            joints: joints of the device.
            whole: estimator of the full state with passive joints; None to encode the device's joints only.
        """
        self._device_joints = tuple(joints)
        self._joints = None if whole is None else JointStates(whole.model)
        self.names = self._device_joints if self._joints is None else tuple(self._joints.names)
        self.needs_whole = set(self.names) != set(self._device_joints)
        self._order = None
        if self._joints is not None and not self.needs_whole:
            self._order = np.array([self._device_joints.index(name) for name in self.names], dtype=np.intp)
        self._layouts = JointStateLayouts()

    def measured(self, feedback: Feedback, state: StateNumbers | None, stamp_ns: int) -> bytes:
        """Encode the measured state; velocities and efforts only if the device reports them for all its joints.

        Args:
            feedback: feedback with all positions.
            state: full state at that time, if `needs_whole`.
            stamp_ns: time in the header [ns].
        """
        numbers = [feedback.position, feedback.velocity, feedback.effort]
        known = [bool(np.isfinite(one).all()) for one in numbers]
        if self.needs_whole and self._joints is not None and state is not None:
            numbers = list(self._joints.numbers(state.q, state.v, state.tau))
        elif self._order is not None:
            numbers = [one[self._order] for one in numbers]
        parts = [one if is_known else None for one, is_known in zip(numbers, known, strict=True)]
        return self._layouts.filled(self.names, parts, stamp_ns)

    def commanded(self, demand: Demand, stamp_ns: int) -> bytes:
        """Encode a demand: positions, velocities or efforts."""
        parts = [demand.values if mode is demand.mode else None for mode in (Mode.POSITION, Mode.VELOCITY, Mode.EFFORT)]
        return self._layouts.filled(self._device_joints, parts, stamp_ns)
