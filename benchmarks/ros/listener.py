# SPDX-License-Identifier: Apache-2.0
"""Who listens to the node, as a viewer would: joint_states, /tf and /diagnostics.

    python -m benchmarks.ros.listener FOLDER

It says "ready" at the first joint_states. At its end it writes when they came and what the diagnostics said.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from sensor_msgs.msg import JointState

from ada_robot.ros import environment, qos
from ada_robot.ros.run_node import run_node


class Listener(Node):  # type: ignore[misc]  # rclpy is untyped
    """Notes when messages came; it does not read them."""

    def __init__(self, folder: Path) -> None:
        """Subscribe; `folder` gets the files."""
        super().__init__("listener")
        self._folder = folder
        self._came: dict[str, list[int]] = {}
        self._said: list[dict[str, Any]] = []
        self._listen(JointState, "joint_states")
        if environment.can_send_tf():
            from tf2_msgs.msg import TFMessage

            self._listen(TFMessage, "/tf")
        self.create_subscription(DiagnosticArray, "/diagnostics", self._note, 10)

    def _listen(self, kind: Any, topic: str) -> None:
        came = self._came[topic.strip("/")] = []
        self.create_subscription(kind, topic, self._stamp(came, topic), qos.STATES, raw=True)

    def _stamp(self, came: list[int], topic: str) -> Callable[[bytes], None]:
        def stamp(_: bytes) -> None:
            if not came and topic == "joint_states":
                print("ready", flush=True)
            came.append(time.monotonic_ns())

        return stamp

    def _note(self, message: DiagnosticArray) -> None:
        for status in message.status:
            values = {value.key: value.value for value in status.values}
            self._said.append(
                {"ns": time.monotonic_ns(), "name": status.name, "message": status.message, "values": values}
            )

    def close(self) -> None:
        """Write the files."""
        for topic, came in self._came.items():
            np.save(self._folder / f"came_{topic}.npy", np.array(came, dtype=np.int64))
        lines = "".join(json.dumps(said) + "\n" for said in self._said)
        (self._folder / "diagnostics.jsonl").write_text(lines, encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    """Listen until told to end."""
    return run_node(lambda: Listener(Path(arguments[0])), [])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
