# SPDX-License-Identifier: Apache-2.0
"""Loop state publisher: completes the joint states of a driver by loop closure, and publishes frames; imports rclpy.

It replaces robot_state_publisher and its joint states for robots with closed loops.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sensor_msgs.msg import JointState

from ada_dynamics.clock import SYSTEM_CLOCK
from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.model.edit import split_universals
from ada_dynamics.robots.catalogue import start_of
from ada_dynamics.robots.load import load
from ada_dynamics.simulation.record.messages import NANOSECONDS, JointStates
from ada_robot.messages.outgoing import JointStateLayouts, StateMessages
from ada_robot.node.described_node import DescribedNode
from ada_robot.node.loop_states import LoopStates, LoopStateSettings
from ada_robot.node.state_publishers import Frames, can_send_frames, publish_description, publish_fixed
from ada_robot.ros import qos
from ada_robot.ros.diagnostics import Diagnostics
from ada_robot.ros.parameters import refuse_unknown_overrides
from ada_robot.ros.run_node import run_node
from ada_robot.ros.status import Level, Status
from ada_robot.timing.deadlines import reduce_interpreter_jitter

NAME = "loop_state_publisher"
RECEIVED = "motor_states"
_QUEUE = qos.streams(1000)  # a second of a fast driver: no state is dropped while other processes run
_TOGETHER = 100  # joint states in one callback, so that diagnostics are published under any load
_LOG_INTERVAL = 5.0  # minimum time between warnings of refused joint states [s]


class LoopStatePublisher(DescribedNode[LoopStateSettings]):
    """Publishes joint_states of all joints, and /tf, for each message on motor_states, with its stamp.

    Attributes:
        states: completion of the states; None until the robot is known.
    """

    def __init__(self, **arguments: object) -> None:
        """Load the robot, or wait for its description.

        Args:
            arguments: arguments of rclpy's Node, such as `context` and `parameter_overrides`.

        Raises:
            AdaError: if a parameter, a remapping or the robot is invalid.
        """
        self.states: LoopStates | None = None
        super().__init__(NAME, LoopStateSettings, **arguments)
        refuse_unknown_overrides(self)
        settings = self._settings.value
        self._publisher = self.create_publisher(JointState, "joint_states", qos.STATES)
        self._layouts = JointStateLayouts()
        self._frames: Frames | None = None
        self._is_refusing = False
        self._health = Diagnostics(self, settings.robot or "robot")
        self._health.add("complete states", self._status)
        self._find_robot()

    # --- the robot ----------------------------------------------------------------------------------------------
    def _set_up(self, described: str | None) -> None:
        settings = self._settings.value
        model = split_universals(load(described or settings.robot, base="fixed", loops=settings.loops or None))
        self.get_logger().info(f"{model.name}: compiling the loop closure; takes longest at the first start of a robot")
        start = np.array(settings.reference) if settings.reference else start_of(settings.robot, model)
        states = LoopStates(model, start, settings)
        self._joints = JointStates(model)
        if settings.publish_tf and can_send_frames(self):
            encoder = StateMessages(
                states.dynamics,
                settings.world_frame or model.root,
                prefix=settings.frame_prefix,
                base_pose=settings.base_pose,
            )
            self._frames = Frames(self, encoder)
            self._fixed = publish_fixed(self, self._frames.fixed)
        if described is None:
            self._description = publish_description(self, model, "robot_description")
        self.states = states
        reduce_interpreter_jitter()
        self._received = received = self.create_subscription(JointState, RECEIVED, self._receive, _QUEUE)
        if received.topic_name == self._publisher.topic_name:
            raise InputError(
                f"this node would receive its own joint states: both topics are {received.topic_name}. Let the driver "
                f"publish on another one, and remap {RECEIVED} to it: -r {RECEIVED}:=TOPIC.",
                field="topic",
                value=received.topic_name,
            )
        self.get_logger().info(
            f"{model.name}: waiting for joint states on {received.topic_name}; completed ones are published on "
            f"{self._publisher.topic_name}"
        )

    # --- states -------------------------------------------------------------------------------------------------
    def _receive(self, message: JointState) -> None:
        """Complete a joint state, and all others in the queue: this takes less time than one callback of rclpy."""
        self._complete(message)
        handle = self._received.handle
        with handle:
            for _ in range(_TOGETHER):
                taken = handle.take_message(JointState, False)  # as rclpy's executors do
                if taken is None:
                    break
                self._complete(taken[0])

    def _complete(self, message: JointState) -> None:
        assert self.states is not None
        try:
            state = self.states.complete(
                SYSTEM_CLOCK(), message.name, message.position, message.velocity, message.effort
            )
        except AdaError as problem:
            self._is_refusing = True
            self.get_logger().warning(f"joint state refused: {problem}", throttle_duration_sec=_LOG_INTERVAL)
            return
        if state is None:
            return
        if self._is_refusing:
            self._is_refusing = False
            self.get_logger().info("complete states are published again")
        own = message.header.stamp
        stamp = own.sec * NANOSECONDS + own.nanosec or self.get_clock().now().nanoseconds
        numbers = self._joints.numbers(state.q, state.v, state.tau)
        self._publisher.publish(self._layouts.filled(self._joints.names, numbers, stamp))
        if self._frames is not None:
            self._frames.publish(state, stamp)

    def _status(self) -> Status:
        if self.states is None:
            return Status(Level.STALE, "waiting for robot_description")
        return self.states.status(SYSTEM_CLOCK())

    # --- life ---------------------------------------------------------------------------------------------------
    def _change(self, _old: LoopStateSettings, new: LoopStateSettings) -> None:
        if self.states is not None:
            self.states.settings = new


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node until it ends."""
    return run_node(LoopStatePublisher, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
