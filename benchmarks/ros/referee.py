# SPDX-License-Identifier: Apache-2.0
"""Sends a controller from goal to goal: `python -m benchmarks.ros.referee SECONDS GOAL...`, goals as a,b,c."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence

from rclpy.node import Node
from sensor_msgs.msg import JointState

from ada_robot.ros import qos
from ada_robot.ros.run_node import run_node


class Referee(Node):  # type: ignore[misc]  # rclpy is untyped
    """Publishes a goal after the other; it says "ready" when the controller follows the first one."""

    def __init__(self, seconds: float, goals: Sequence[Sequence[float]]) -> None:
        """Begin; `seconds` are between two goals."""
        super().__init__("referee")
        self._goals = itertools.cycle(goals)
        self._first = list(goals[0])
        self._names: list[str] = []
        self._references = self.create_publisher(JointState, "controller_node/joint_reference", qos.COMMANDS)
        self._targets = self.create_subscription(JointState, "controller_node/joint_target", self._look, qos.STATES)
        self._seconds = seconds

    def _look(self, target: JointState) -> None:
        """The controller is active; send the first goal until it follows it."""
        self._names = list(target.name)
        if target.position.tolist() != self._first:
            self._references.publish(JointState(name=self._names, position=self._first))
            return
        self.destroy_subscription(self._targets)
        next(self._goals)
        self.create_timer(self._seconds, self._send)
        print("ready", flush=True)

    def _send(self) -> None:
        self._references.publish(JointState(name=self._names, position=list(next(self._goals))))


def main(arguments: Sequence[str]) -> int:
    """Send until told to end."""
    goals = [[float(x) for x in goal.split(",")] for goal in arguments[1:]]
    return run_node(lambda: Referee(float(arguments[0]), goals), [])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
