# SPDX-License-Identifier: Apache-2.0
"""Programs that take part in a measurement: `python -m benchmarks.ros.participants PROGRAM ...`.

    asker                      sends 200 commands and 200 parameter requests per second
    listener FOLDER            receives joint_states and /tf; writes the times of arrival into FOLDER at its end
    probe COUNT FILE           sends commands one by one; writes (sent, seen) of each [ns], seen 0 after a second
    referee SECONDS GOAL...    sends a controller from goal (a,b,c) to goal

Each prints "ready" when it works.
"""

from __future__ import annotations

import itertools
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from rcl_interfaces.srv import ListParameters
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.task import Future
from sensor_msgs.msg import JointState

from ada_robot.ros import environment, qos
from ada_robot.ros.inbox import Inbox
from ada_robot.ros.run_node import run_node

NODE = "dynamics_node"
ASK_RATE = 200.0  # [Hz]
EFFORT = 0.01  # [N m], a small effort
PATIENCE = 1.0  # [s]
# An executor of rclpy that is called a thousand times a second would measure itself: the probe polls.
LOOK = 5e-5  # [s] between two looks
PAUSE = 5e-3, 15e-3  # [s] at random, so that no phase of any period is preferred


class Asker(Node):  # type: ignore[misc]  # rclpy is untyped
    """Sends efforts to the last joint, and asks for the names of all parameters; up to ten requests are open."""

    def __init__(self) -> None:
        super().__init__("asker")
        self._joint = ""
        self._open = self._answers = 0
        self._commands = self.create_publisher(JointState, "joint_commands", qos.COMMANDS)
        self._states = self.create_subscription(JointState, "joint_states", self._learn, qos.STATES)
        self._client = self.create_client(ListParameters, f"{NODE}/list_parameters")
        self.create_timer(1.0 / ASK_RATE, self._ask)

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


class Listener(Node):  # type: ignore[misc]
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


class Probe:
    """Sends efforts to the last joint and waits for the joint state that shows the same number."""

    def __init__(self) -> None:
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
        time.sleep(LOOK)
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
        while not self._seen and time.monotonic_ns() - sent < PATIENCE * 1e9:
            self._look()
        return sent, self._seen


def probe(count: int, file: Path) -> int:
    """Send commands with efforts of both signs."""
    rclpy.init()
    try:
        sender = Probe()
        print("ready", flush=True)
        rows = []
        for i in range(count):
            time.sleep(random.uniform(*PAUSE))
            rows.append(sender.ask((-1) ** i * EFFORT * (1.0 + 1e-6 * i)))
        np.save(file, np.array(rows, dtype=np.int64))
    finally:
        rclpy.try_shutdown()
    return 0


def main(program: str, *words: str) -> int:
    """Run one of the programs."""
    if program == "probe":
        return probe(int(words[0]), Path(words[1]))
    makers: dict[str, Callable[[], Node]] = {
        "asker": Asker,
        "listener": lambda: Listener(Path(words[0])),
        "referee": lambda: Referee(float(words[0]), [[float(x) for x in goal.split(",")] for goal in words[1:]]),
    }
    return run_node(makers[program], [])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
