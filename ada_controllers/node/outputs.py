# SPDX-License-Identifier: Apache-2.0
"""Publishers of state, reference and internal quantities of the control thread; imports rclpy."""

from __future__ import annotations

from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from ada_controllers.controller import Controller
from ada_controllers.state import JointPath, JointReference, PoseReference, Reference, end_of
from ada_dynamics.arrays import Array
from ada_dynamics.simulation.record import messages
from ada_dynamics.simulation.record.messages import Message
from ada_dynamics.spatial.orientation import to_quaternion
from ada_robot.contract import Command
from ada_robot.messages.incoming import JOINT_TARGET, TARGET, write_pose
from ada_robot.ros import qos


class Outputs:
    """Publishers of ~/state, ~/target and ~/joint_target.

    Attributes:
        state_rate: maximum rate of each topic [Hz]; 0 for unlimited.
    """

    def __init__(self, node: Node, controller: Controller[Any], state_rate: float, prefix: str = "") -> None:
        """Create the publishers.

        Args:
            node: node of the publishers.
            controller: first controller.
            state_rate: maximum rate of each topic [Hz]; 0 for unlimited.
            prefix: prefix of frame names.
        """
        self._node, self._clock = node, node.get_clock()
        self.state_rate = state_rate
        self._states = node.create_publisher(Float64MultiArray, "~/state", qos.STATES)
        self._poses = node.create_publisher(PoseStamped, f"~/{TARGET}", qos.STATES)
        self._joints = node.create_publisher(JointState, f"~/{JOINT_TARGET}", qos.STATES)
        self._frame = prefix + controller.model.root
        self.follow()

    def follow(self) -> None:
        """Reset the message layout, after a change of the controller."""
        self._state_sizes: dict[str, int] = {}
        self._state_layout: Message | None = None
        self._published_at = -np.inf

    def close(self) -> None:
        """Destroy the publishers; to be called by the thread that spins the node."""
        for publisher in (self._states, self._poses, self._joints):
            self._node.destroy_publisher(publisher)

    # --- in the control thread --------------------------------------------------------------------------------------
    def state(self, time: float, controller: Controller[Any], target: Reference | None, command: Command) -> None:
        """Publish the quantities of a command, within the maximum rate.

        Args:
            time: time of the controller [s].
            controller: running controller.
            target: its reference.
            command: its command.
        """
        if self.state_rate and 0.0 <= time - self._published_at < (1.0 - 1e-6) / self.state_rate:
            return
        self._published_at = time
        vectors = state_vectors(time, controller, target, command)
        sizes = {name: len(values) for name, values in vectors.items()}
        if self._state_layout is None or sizes != self._state_sizes:
            self._state_layout, self._state_sizes = messages.vectors(sizes), sizes
        self._states.publish(self._state_layout.fill_one(0, np.concatenate(list(vectors.values()))))
        if isinstance(target, PoseReference):
            message = PoseStamped()
            message.header.stamp, message.header.frame_id = self._clock.now().to_msg(), self._frame
            write_pose(target.pose, message.pose.position, message.pose.orientation)
            self._poses.publish(message)
        elif isinstance(target, (JointReference, JointPath)) and self._joints.get_subscription_count():
            shown = controller.target_positions(end_of(target))
            joints = JointState(name=list(shown), position=list(shown.values()))
            joints.header.stamp = self._clock.now().to_msg()
            self._joints.publish(joints)


def state_vectors(
    time: float, controller: Controller[Any], target: Reference | None, command: Command
) -> dict[str, Array]:
    """Return the quantities of a command by name: t, reference, command, and the signals of the controller."""
    commanded = [values for values in (command.effort, command.position, command.velocity) if values is not None]
    reference = np.zeros(0)
    if isinstance(target, PoseReference):
        w, x, y, z = to_quaternion(target.pose[:3, :3])
        reference = np.array([*target.pose[:3, 3], x, y, z, w])
    elif target is not None:
        reference = end_of(target)
    signals = {name: np.ravel(values) for name, values in controller.signals().items()}
    return {"t": np.array([time]), "reference": reference, "command": np.concatenate(commanded), **signals}
