# SPDX-License-Identifier: Apache-2.0
"""Programs that take part in a measurement: `python -m benchmarks.ros.participants PROGRAM ...`.

    listener FOLDER            receives joint_states and /tf; writes the times of arrival into FOLDER at its end
    referee SECONDS GOAL...    sends a controller from goal (a,b,c) to goal

Each prints "ready" when it works.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable, Sequence
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


class Referee(Node):  # type: ignore[misc]
    """Publishes one goal after the other; it is ready when the controller follows the first one."""

    def __init__(self, seconds: float, goals: Sequence[Sequence[float]]) -> None:
        super().__init__("referee")
        self._goals = itertools.cycle(goals)
        self._first = list(goals[0])
        self._names: list[str] = []
        self._references = self.create_publisher(JointState, "controller_node/joint_reference", qos.COMMANDS)
        self._targets = self.create_subscription(JointState, "controller_node/joint_target", self._look, qos.STATES)
        self._seconds = seconds

    def _look(self, target: JointState) -> None:
        """The controller is active: send the first goal until it follows it."""
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


def main(program: str, *words: str) -> int:
    """Run one of the programs."""
    makers: dict[str, Callable[[], Node]] = {
        "listener": lambda: Listener(Path(words[0])),
        "referee": lambda: Referee(float(words[0]), [[float(x) for x in goal.split(",")] for goal in words[1:]]),
    }
    return run_node(makers[program], [])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
