# SPDX-License-Identifier: Apache-2.0
"""The topics of one robot that a node drives: commands in, what is measured and what is sent out; imports rclpy.

`look` belongs to the node's thread: commands are fetched there, and messages leave as bytes, behind no executor.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState

from ada_dynamics.simulation.record.cdr import NANOSECONDS
from ada_robot.contract import Reason
from ada_robot.driver import Feedback
from ada_robot.errors import HardwareError
from ada_robot.messages.joint_command import command_of
from ada_robot.node.description import publish_description
from ada_robot.node.joint_commands import JointCommands
from ada_robot.node.joint_state_bytes import JointStateBytes
from ada_robot.node.lease import Lease
from ada_robot.node.lookout import Lookout
from ada_robot.node.stamps import Stamps
from ada_robot.node.whole_state import StateOfRobot
from ada_robot.robot import Robot
from ada_robot.ros import qos
from ada_robot.ros.inbox import Inbox
from ada_robot.safety.measured import Measured
from ada_robot.safety.settings import SafetySettings

_QUEUE = qos.streams(20)  # parts of the joints may come one after the other
_SOME_LOOKS = 4.0  # periods of a slow node that count as a standstill
_STOOD_STILL = (
    "the command may have waited for {:.3g} s, for this node stood still; at most {:g} s are allowed "
    "(command_timeout). The machine is overloaded, was asleep, or somebody stopped the node."
)
_EARLY = 0.75  # share of a period after which the next reading goes out: readings come at times that jitter


class RobotTopics:
    """joint_commands, joint_states, ~/commanded and robot_description of a robot.

    Attributes:
        robot: whose they are.
        commands: what was taken and refused of joint_commands.
        newest: the reading that was published last; None before the first.
        unknown: readings without the positions of all joints, of which no message could be made.
        topics: whole names of commands, states and what is commanded.
    """

    def __init__(
        self,
        node: Node,
        robot: Robot,
        safety: SafetySettings,
        whole: StateOfRobot | None,
        *,
        look_rate: float,
        state_rate: float,
        prefix: str = "",
    ) -> None:
        """Create publishers and subscription.

        Args:
            node: whose they are.
            robot: open.
            safety: its rules, of which its timeouts count here.
            whole: the robot's model with its state, for `look`; None: no model.
            look_rate: of calls of `look` [Hz].
            state_rate: most states per second [Hz].
            prefix: stands before the names of its topics.
        """
        self.robot, self._whole = robot, whole
        self.commands = JointCommands(robot.limits, robot.modes)
        self.newest: Feedback | None = None
        self.unknown = 0
        self._node, self._clock = node, node.get_clock()
        self._stamps = Stamps.of(self._clock)
        self._gap = _EARLY / state_rate
        self._stale = safety.command_timeout
        self._lookout = Lookout(max(self._stale, _SOME_LOOKS / look_rate))
        self._published_at = -np.inf
        self._measured = Measured(len(robot.joints))
        self._bytes = JointStateBytes(robot.joints, whole)
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

    # --- commander --------------------------------------------------------------------------------------------------
    @property
    def commander(self) -> str:
        """The node whose commands are followed; "" where there is none."""
        return self.lease.holder_name

    def begin(self) -> None:
        """Drop earlier commands: the robot is about to follow new ones."""
        self.commands.forget()
        self.lease.release()

    def close(self) -> None:
        """Take all of them away; on the thread that spins the node."""
        self._inbox.close()
        for publisher in (self._states, self._commanded, self._description):
            if publisher is not None:
                self._node.destroy_publisher(publisher)

    # --- in the node's thread ---------------------------------------------------------------------------------------
    def look(self, *, is_active: bool, plays: str = "") -> Feedback | None:
        """Pass on commands, and publish measurements.

        Args:
            is_active: whether commands may move the robot; else they are counted, and nothing more.
            plays: a motion that it plays; then commands are refused.

        Returns:
            A reading of all positions that was published just now.
        """
        feedback = self.robot.feedback
        waited = self._lookout.look()
        for message, sender in self._inbox.fetch_sent():
            came_at = time.monotonic()
            waited = max(waited, self._lookout.look())  # this thread may stand still while it fetches, or between two
            if not is_active:
                self.commands.ignored()
            elif plays:
                self.commands.refuse(Reason.MOTION_PLAYED, f"the motion {plays} is played; it takes no other command.")
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
        self.newest = feedback
        return feedback

    def _take(self, message: Any, sender: bytes | None, feedback: Feedback, came_at: float) -> None:
        """A command that had come by this time; the first commander whose command passes the checks keeps the robot."""
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
        except HardwareError:  # the robot has counted it, and has the reason
            self.commands.lost()

    def _publish(self, feedback: Feedback) -> None:
        stamp = self._stamps.at(feedback.time)
        state = self._whole.of(feedback) if self._whole is not None and self._bytes.needs_whole else None
        self._states.publish(self._bytes.measured(feedback, state, stamp))
        demand = self.robot.demand
        if demand is not None:
            self._commanded.publish(self._bytes.commanded(demand, stamp))
