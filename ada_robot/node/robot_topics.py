# SPDX-License-Identifier: Apache-2.0
"""Topics of one robot: received commands, published feedback and demands; imports rclpy.

The node's thread calls `look`, which polls commands and publishes serialized messages without the executor.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState

from ada_dynamics.simulation.record.messages import NANOSECONDS
from ada_robot.contract import Reason
from ada_robot.driver import Feedback
from ada_robot.errors import Refused
from ada_robot.messages.incoming import command_of
from ada_robot.messages.outgoing import JointStateBytes
from ada_robot.node.joint_commands import HaltDetector, JointCommands, Lease
from ada_robot.node.loop_states import StateEstimator
from ada_robot.node.state_publishers import publish_description
from ada_robot.robot import Robot
from ada_robot.ros import qos
from ada_robot.ros.inbox import Inbox
from ada_robot.safety.settings import SafetySettings
from ada_robot.safety.state_monitor import MeasuredState
from ada_robot.timing.deadlines import Stamps

_QUEUE = qos.streams(20)  # joints may be commanded by several messages
_SOME_LOOKS = 4.0  # time between calls that counts as a halt, in periods of a slow node
_STOOD_STILL = (
    "the command may have waited for {:.3g} s, because this node was halted; the maximum is {:g} s "
    "(command_timeout). The machine is overloaded or was suspended, or the node was stopped by a signal."
)
_EARLY = 0.75  # minimum time between published feedbacks, in periods, because reception times jitter


class RobotTopics:
    """Topics joint_commands, joint_states, ~/commanded and robot_description of a robot.

    Attributes:
        robot: robot client.
        whole: estimator of the full state; None without a model.
        commands: check of joint_commands, with its counters.
        unknown: number of feedbacks without all positions, which were not published.
        topics: full topic names of commands, states and demands.
    """

    def __init__(
        self,
        node: Node,
        robot: Robot,
        safety: SafetySettings,
        whole: StateEstimator | None,
        *,
        look_rate: float,
        state_rate: float,
        prefix: str = "",
    ) -> None:
        """Create publishers and subscription.

        Args:
            node: node of the topics.
            robot: open robot.
            safety: safety settings with the timeouts.
            whole: estimator of the full state; None without a model.
            look_rate: rate of calls of `look` [Hz].
            state_rate: maximum rate of published states [Hz].
            prefix: prefix of the topic names.
        """
        self.robot, self.whole = robot, whole
        self.commands = JointCommands(robot.limits, robot.modes)
        self.unknown = 0
        self._node, self._clock = node, node.get_clock()
        self._stamps = Stamps.of(self._clock)
        self._gap = _EARLY / state_rate
        self._stale = safety.command_timeout
        self._halts = HaltDetector(max(self._stale, _SOME_LOOKS / look_rate))
        self._published_at = -np.inf
        self._measured = MeasuredState(len(robot.joints))
        self._bytes = JointStateBytes(robot.joints, None if whole is None else whole.model)
        self._inbox = Inbox(node, JointState, f"{prefix}joint_commands", _QUEUE, senders=True)
        self.lease = Lease(safety.host_timeout, self._inbox.senders)
        self._states = node.create_publisher(JointState, f"{prefix}joint_states", qos.STATES)
        self._commanded = node.create_publisher(JointState, f"~/{prefix}commanded", qos.STATES)
        self.topics = {
            "commands": self._inbox.topic,
            "states": self._states.topic_name,
            "commanded": self._commanded.topic_name,
        }
        self._description = (
            None if whole is None else publish_description(node, whole.model, f"{prefix}robot_description")
        )

    def begin(self) -> None:
        """Drop earlier commands, before an activation."""
        self.commands.forget()
        self.lease.release()

    def close(self) -> None:
        """Destroy subscription and publishers; to be called by the thread that spins the node."""
        self._inbox.close()
        for publisher in (self._states, self._commanded, self._description):
            if publisher is not None:
                self._node.destroy_publisher(publisher)

    # --- in the node's thread ---------------------------------------------------------------------------------------
    def look(self, *, is_active: bool) -> Feedback | None:
        """Pass commands to the robot, and publish its feedback.

        Args:
            is_active: whether the robot is active; otherwise commands are only counted.

        Returns:
            Feedback published by this call, or None.
        """
        feedback = self.robot.feedback
        waited = self._halts.poll()
        for message, sender in self._inbox.fetch_sent():
            came_at = time.monotonic()
            waited = max(waited, self._halts.poll())  # this thread may be halted during the loop
            if not is_active:
                self.commands.ignored()
            elif waited:
                self.commands.refuse(Reason.OLD, _STOOD_STILL.format(waited, self._stale))
            else:
                self._take(message, sender, feedback, came_at)
        if not feedback.is_fresh or feedback.time - self._published_at < self._gap:
            return None
        self._published_at = feedback.time
        self._measured.take(feedback, feedback.time)
        feedback = replace(feedback, velocity=self._measured.speed)
        if not np.isfinite(feedback.position).all():
            self.unknown += 1
            return None
        self._publish(feedback)
        return feedback

    def _take(self, message: Any, sender: bytes | None, feedback: Feedback, came_at: float) -> None:
        """Check and send a command; the first sender of a valid command gets the lease."""
        refusal = self.lease.refusal(sender, lambda: self._inbox.publishers)
        if refusal:
            self.commands.refuse(Reason.OTHER_COMMANDER, refusal)
            return
        self.commands.judged(self.robot.judged)
        now = float(self._clock.now().nanoseconds) / NANOSECONDS
        demand = self.commands.demand(command_of(message), now, feedback.position)
        if demand is None:
            return
        self.lease.claim(sender)
        try:
            self.commands.sent(self.robot.send(demand._replace(stamp=came_at)))
        except Refused as problem:
            self.commands.lost()
            self.commands.refuse(Reason.NOT_TAKEN, str(problem))

    def _publish(self, feedback: Feedback) -> None:
        stamp = self._stamps.at(feedback.time)
        state = self.whole.of(feedback) if self.whole is not None and self._bytes.needs_whole else None
        self._states.publish(self._bytes.measured(feedback, state, stamp))
        demand = self.robot.demand
        if demand is not None:
            self._commanded.publish(self._bytes.commanded(demand, stamp))
