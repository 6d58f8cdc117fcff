# SPDX-License-Identifier: Apache-2.0
"""From a command to the first joint_states that shows it, as another process sees it.

    python -m benchmarks.ros.probe COUNT FILE

A command gives the last joint an effort; the joint state that shows it has that very number as its effort. The probe
looks for messages every 0.05 ms: an executor of rclpy, called a thousand times a second, would measure itself. The file
gets (sent, seen) of each command [ns]; seen is 0 where nothing came within a second.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

import numpy as np
import rclpy
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from ada_robot.ros import qos
from ada_robot.ros.inbox import Inbox

EFFORT = 0.01  # [N m] moves nothing much
_PATIENCE = 1.0  # [s]
_LOOK = 5e-5  # [s] between two looks
_PAUSE = 5e-3, 15e-3  # [s] at random, so that no phase of any period is preferred


class Probe:
    """Sends commands, one after the other, and waits for each to be seen."""

    def __init__(self) -> None:
        """Wait for the node."""
        self._node = rclpy.create_node("probe")
        self._commands = self._node.create_publisher(JointState, "joint_commands", qos.COMMANDS)
        newest = QoSProfile(depth=1, reliability=qos.STATES.reliability)
        self._states = Inbox(self._node, JointState, "joint_states", newest)
        self._joint = ""
        self._wanted = float("nan")
        self._seen = 0
        while not self._joint or not self._commands.get_subscription_count():
            self._look()

    def _look(self) -> None:
        time.sleep(_LOOK)
        for message in self._states.fetch():
            self._joint = message.name[-1]
            if message.effort[-1] == self._wanted:
                self._seen = self._seen or time.monotonic_ns()

    def ask(self, effort: float) -> tuple[int, int]:
        """Times at which a command was sent and seen [ns]."""
        self._wanted, self._seen = effort, 0
        message = JointState(name=[self._joint], effort=[effort])
        sent = time.monotonic_ns()
        self._commands.publish(message)
        while not self._seen and time.monotonic_ns() - sent < _PATIENCE * 1e9:
            self._look()
        return sent, self._seen


def main(count: int, file: Path) -> None:
    """Send so many commands, with as much to one side as to the other."""
    rclpy.init()
    try:
        probe = Probe()
        print("ready", flush=True)
        rows = []
        for i in range(count):
            time.sleep(random.uniform(*_PAUSE))
            rows.append(probe.ask((-1) ** i * EFFORT * (1.0 + 1e-6 * i)))
        np.save(file, np.array(rows, dtype=np.int64))
    finally:
        rclpy.try_shutdown()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
