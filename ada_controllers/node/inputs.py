# SPDX-License-Identifier: Apache-2.0
"""Subscriptions of measured quantities, and of the phase of a real robot; imports rclpy.

The control thread polls the latest joint_states, or the exact state of a simulated robot, and a wrench.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from ada_controllers.node.controller_settings import ARM, JOINT_STATES, STATE, ControllerSettings
from ada_controllers.running.control_loop import RobotPhase
from ada_controllers.running.state_filter import JointStateReader, ReceivedState
from ada_controllers.state import State
from ada_dynamics.arrays import Array
from ada_dynamics.clock import Clock
from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.model.model import Model
from ada_robot.messages.incoming import read_state
from ada_robot.node_state import CLOSED, HardwareState, read_hardware_state
from ada_robot.ros import qos
from ada_robot.ros.inbox import Inbox
from ada_robot.ros.robot_settings import AUTO

_NEWEST = qos.streams(1)
_NS = 1e-9  # [s]
_UNREAD = State(np.zeros(0), np.zeros(0))


class StateInputs:
    """Subscriptions of measured quantities; one thread calls `fetch`.

    Attributes:
        source: topic of the state, "joint_states" or "state".
        topic: full topic name.
        wrench_timeout: age above which a measured wrench is ignored [s].
    """

    def __init__(
        self,
        node: Node,
        model: Model,
        settings: ControllerSettings,
        wrench_timeout: float,
        clock: Clock,
    ) -> None:
        """Subscribe.

        Args:
            node: node of the subscriptions.
            model: robot model.
            settings: settings of the node.
            wrench_timeout: age above which a measured wrench is ignored [s].
            clock: clock of the age of wrenches.
        """
        self._steady = clock
        self._model, self._clock = model, node.get_clock()
        self.wrench_timeout = wrench_timeout
        is_complete = all(model.joints[name].nq == 1 for name in model.joint_names)
        topic, is_closed = node.resolve_topic_name(STATE), bool(model.loops) and model.floating_joint is None
        if topic != node.resolve_topic_name(STATE, only_expand=True) or node.count_publishers(topic):
            is_closed = False  # the exact state is available
        source = settings.state_source
        self.source = (JOINT_STATES if is_complete or is_closed else STATE) if source == AUTO else source
        if self.source == JOINT_STATES:
            self._joints = JointStateReader(model, clock)
            self._inbox = Inbox(node, JointState, JOINT_STATES, _NEWEST)
        else:
            self._inbox = Inbox(node, Float64MultiArray, STATE, _NEWEST)
        self.topic = self._inbox.topic
        self._wrenches = Inbox(node, WrenchStamped, "wrench", _NEWEST)
        self._wrench: Array | None = None
        self._sign = -1.0 if settings.wrench_of == ARM else 1.0
        self._wrench_at = 0.0
        self._epoch: int | None = None  # first stamp [ns]; times relative to it keep full precision

    def close(self) -> None:
        """Unsubscribe; to be called by the thread that spins the node."""
        self._inbox.close()
        self._wrenches.close()

    def fetch(self) -> ReceivedState | None:
        """Return the latest state received since the last call, or None; an unreadable one has a `problem`."""
        messages = self._inbox.fetch()
        if not messages:
            return None
        if self.source == JOINT_STATES:
            return self._from_joint_states(messages[-1])
        try:
            return self._from_state(messages[-1])
        except InputError as problem:
            return ReceivedState(_UNREAD, math.nan, problem=f"{self.topic}: {problem}")

    def _from_joint_states(self, message: Any) -> ReceivedState:
        stamp, now = message.header.stamp, int(self._clock.now().nanoseconds)
        measured = stamp.sec * 1_000_000_000 + stamp.nanosec or now  # zero: no stamp
        if self._epoch is None:
            self._epoch = measured
        times = (measured - self._epoch) * _NS, (now - measured) * _NS
        try:
            q, v, effort = self._joints.read(message)
        except AdaError as problem:
            return ReceivedState(_UNREAD, *times, problem=f"{self.topic}: {problem}")
        return ReceivedState(State(q, v, self._newest_wrench()), *times, effort)

    def _from_state(self, message: Any) -> ReceivedState:
        model, dimensions = self._model, message.layout.dim
        t, q, v, tau = read_state([one.label for one in dimensions], [one.size for one in dimensions], message.data)
        if (len(q), len(v)) != (model.nq, model.nv):
            raise InputError(
                f"the state has {len(q)} positions and {len(v)} velocities; the controller's model {model.name!r} has "
                f"{model.nq} and {model.nv}. Use the same robot and base in both nodes."
            )
        return ReceivedState(State(q, v, self._newest_wrench()), t, 0.0, tau)

    def _newest_wrench(self) -> Array | None:
        now = self._steady.now()
        for message in self._wrenches.fetch():
            force, torque = message.wrench.force, message.wrench.torque
            self._wrench = self._sign * np.array([force.x, force.y, force.z, torque.x, torque.y, torque.z])
            self._wrench_at = now
        return None if self._wrench is None or now - self._wrench_at > self.wrench_timeout else self._wrench


class PhaseInput:
    """Subscription to HARDWARE/state.

    Without a report for the robot that publishes the states, it counts as active, like a simulated robot.
    """

    def __init__(self, node: Node, hardware: str, states: str, take: Callable[[RobotPhase], None]) -> None:
        """Subscribe.

        Args:
            node: node of the subscription.
            hardware: name of the hardware node.
            states: full name of the topic of the robot's states.
            take: called with each new phase of the robot.
        """
        self._node, self._states, self._take = node, states, take
        self._reported: RobotPhase | None = None
        self._subscription = node.create_subscription(String, f"{hardware}/state", self._report, qos.LATCHED)

    def close(self) -> None:
        """Unsubscribe."""
        self._node.destroy_subscription(self._subscription)

    def _report(self, message: String) -> None:
        try:
            phase = self._phase(read_hardware_state(message.data))
        except InputError as problem:
            self._node.get_logger().warning(f"{self._subscription.topic_name}: {problem}", throttle_duration_sec=5.0)
            return
        if phase is not None and phase != self._reported:
            self._reported = phase
            self._take(phase)

    def _phase(self, said: HardwareState) -> RobotPhase | None:
        for device in said.devices.values():
            if device.is_robot and device.topics.get("states") == self._states:
                return RobotPhase(device.phase, said.stopped or device.reason)
        if self._reported is None:
            return None  # the hardware node drives other robots
        return RobotPhase(CLOSED, said.problem)
