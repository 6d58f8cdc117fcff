# SPDX-License-Identifier: Apache-2.0
"""The clock of a graph: `python -m trials.graph.clock`; each line on its standard input is a jump [s]."""

from __future__ import annotations

import sys
import threading
import time

from builtin_interfaces.msg import Time
from rclpy.node import Node
from rosgraph_msgs.msg import Clock

from ada_robot.ros import qos
from ada_robot.ros.run_node import run_node

RATE = 500.0  # [Hz]
_BEGIN = 1e6  # [s]: it may go back by some days


class Clockwork(Node):  # type: ignore[misc]  # rclpy is untyped
    """Publishes /clock as the steady clock goes, and jumps as it is told."""

    def __init__(self) -> None:
        """Begin."""
        super().__init__("clockwork")
        self._ahead = _BEGIN - time.monotonic()
        self._publisher = self.create_publisher(Clock, "/clock", qos.CLOCK)
        threading.Thread(target=self._jump, daemon=True).start()
        self.create_timer(1.0 / RATE, self._tell)
        print("ready", flush=True)

    def _tell(self) -> None:
        now = time.monotonic() + self._ahead
        self._publisher.publish(Clock(clock=Time(sec=int(now), nanosec=int(1e9 * (now % 1.0)))))

    def _jump(self) -> None:
        for line in sys.stdin:
            self._ahead += float(line)


if __name__ == "__main__":
    sys.exit(run_node(Clockwork, []))
