# SPDX-License-Identifier: Apache-2.0
"""Keeps every exact state that the dynamics node publishes: `python -m benchmarks.ros.state_listener FILE COUNT`.

COUNT is how many numbers a state has. It says "ready" at the first one, and writes them all, as rows, at its end.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile
from std_msgs.msg import Float64MultiArray

from ada_robot.ros import qos
from ada_robot.ros.run_node import run_node

_DEEP = QoSProfile(depth=2000, reliability=qos.STATES.reliability)


class StateListener(Node):  # type: ignore[misc]  # rclpy is untyped
    """Takes bytes and does not look at them."""

    def __init__(self, file: Path, count: int) -> None:
        """Subscribe; `file` gets the states, of so many numbers each."""
        super().__init__("state_listener")
        self._file, self._length = file, 8 * count
        self._raw: list[bytes] = []
        self.create_subscription(Float64MultiArray, "dynamics_node/state", self._take, _DEEP, raw=True)

    def _take(self, message: bytes) -> None:
        if not self._raw:
            print("ready", flush=True)
        self._raw.append(bytes(message[-self._length :]))

    def close(self) -> None:
        """Write the file."""
        np.save(self._file, np.frombuffer(b"".join(self._raw), dtype="<f8").reshape(len(self._raw), -1))


def main(arguments: Sequence[str]) -> int:
    """Listen until told to end."""
    return run_node(lambda: StateListener(Path(arguments[0]), int(arguments[1])), [])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
