# SPDX-License-Identifier: Apache-2.0
"""Who keeps the node's executor busy: 200 times a second a command, and a question about its parameters.

`python -m benchmarks.ros.asker` says "ready" at the first answer.
"""

from __future__ import annotations

import sys

from rcl_interfaces.srv import ListParameters
from rclpy.node import Node
from rclpy.task import Future
from sensor_msgs.msg import JointState

from ada_robot.ros import qos
from ada_robot.ros.run_node import run_node
from benchmarks.ros.probe import EFFORT

NODE = "dynamics_node"
RATE = 200.0  # [Hz]


class Asker(Node):  # type: ignore[misc]  # rclpy is untyped
    """Sends efforts to the last joint, and asks for the names of all parameters; up to ten questions are open."""

    def __init__(self) -> None:
        """Begin."""
        super().__init__("asker")
        self._joint = ""
        self._open = self._answers = 0
        self._commands = self.create_publisher(JointState, "joint_commands", qos.COMMANDS)
        self._states = self.create_subscription(JointState, "joint_states", self._learn, qos.STATES)
        self._client = self.create_client(ListParameters, f"{NODE}/list_parameters")
        self.create_timer(1.0 / RATE, self._ask)

    def _learn(self, message: JointState) -> None:
        self._joint = message.name[-1]
        self.destroy_subscription(self._states)

    def _ask(self) -> None:
        if self._joint:
            self._commands.publish(JointState(name=[self._joint], effort=[EFFORT]))
        if self._open < 10 and self._client.service_is_ready():
            self._open += 1
            self._client.call_async(ListParameters.Request()).add_done_callback(self._answered)

    def _answered(self, _: Future) -> None:
        self._open -= 1
        self._answers += 1
        if self._answers == 1:
            print("ready", flush=True)


if __name__ == "__main__":
    sys.exit(run_node(Asker, []))
