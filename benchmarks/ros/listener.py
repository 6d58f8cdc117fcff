# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.ros.listener FOLDER`: receives joint_states and /tf like a viewer.

It prints "ready" at the first joint states, and writes the times of arrival into FOLDER at its end.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState

from ada_robot.ros import environment, qos
from ada_robot.ros.run_node import run_node


class Listener(Node):  # type: ignore[misc]  # rclpy is untyped
    """Receives messages like a viewer, without reading them."""

    def __init__(self, folder: Path) -> None:
        super().__init__("listener")
        self._folder = folder
        self._came: dict[str, list[int]] = {}
        self._listen(JointState, "joint_states")
        if environment.can_send_tf():
            from tf2_msgs.msg import TFMessage

            self._listen(TFMessage, "/tf")

    def _listen(self, kind: Any, topic: str) -> None:
        came = self._came[topic.strip("/")] = []
        self.create_subscription(kind, topic, self._stamp(came, topic), qos.STATES, raw=True)

    def _stamp(self, came: list[int], topic: str) -> Callable[[bytes], None]:
        def stamp(_: bytes) -> None:
            if not came and topic == "joint_states":
                print("ready", flush=True)
            came.append(time.monotonic_ns())

        return stamp

    def close(self) -> None:
        """Write the files."""
        for topic, came in self._came.items():
            np.save(self._folder / f"came_{topic}.npy", np.array(came, dtype=np.int64))


def main(folder: str) -> int:
    """Run the node."""
    return run_node(lambda: Listener(Path(folder)), [])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
