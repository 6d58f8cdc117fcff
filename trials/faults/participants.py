# SPDX-License-Identifier: Apache-2.0
"""Programs of the campaign: `python -m trials.faults.participants observer | commander [--kind doubled] [--name NAME]`.

The observer prints what nodes report: a line of JSON per event, with `at` of the steady clock. The commander sends
velocities to an arm.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator
from typing import Any

import rclpy
from lifecycle_msgs.msg import TransitionEvent
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from ada_robot.ros import qos
from ada_robot.ros.inbox import Inbox
from ada_robot.ros.run_node import run_node

ARM = ["s1", "s2", "s3", "e1", "e2", "w1", "w2"]
KINDS = ("plain", "doubled", "swapped")
RATE = 250.0  # [Hz] of commands
SPEED = 0.1  # [rad/s]
WAVE = [0.75 + 0.25 * math.cos(0.1 * i) for i in range(63)]  # of the speed
LOOK = 0.02  # [s] between looks at joint_states


class Observer(Node):  # type: ignore[misc]  # rclpy is untyped
    """Prints phases, lifecycle states and joint states."""

    def __init__(self) -> None:
        super().__init__("observer")
        self._states = Inbox(self, JointState, "joint_states", qos.streams(1))
        self.create_subscription(String, "hardware_node/state", self._state, qos.LATCHED)
        for node in ("hardware_node", "controller_node"):
            self.create_subscription(TransitionEvent, f"{node}/transition_event", self._life(node), 10)
        self.create_timer(LOOK, self._look)
        print("ready", flush=True)

    def _state(self, message: String) -> None:
        _print(state=json.loads(message.data))

    def _life(self, node: str) -> Any:
        return lambda message: _print(life={node: message.goal_state.label})

    def _look(self) -> None:
        for message in self._states.fetch():
            _print(joints={"position": list(message.position), "velocity": list(message.velocity)})


def _print(**what: object) -> None:
    print(json.dumps({"at": time.monotonic(), **what}), flush=True)


def batches(kind: str, node: Node) -> Iterator[list[JointState]]:
    """Messages to send, each time that some are due."""
    count, began = 0, time.monotonic()
    held: list[JointState] = []
    while True:
        batch = []
        for _ in range(int((time.monotonic() - began) * RATE) - count):
            message = JointState(name=ARM, velocity=[WAVE[count % len(WAVE)] * SPEED] * len(ARM))
            message.header.stamp = node.get_clock().now().to_msg()
            batch.append(message)
            count += 1
        if kind == "doubled":
            batch = [one for one in batch for _ in range(2)]
        elif kind == "swapped":  # the second of each two first
            held += batch
            batch = [held[i ^ 1] for i in range(len(held) // 2 * 2)]
            held = held[len(batch) :]
        yield batch
        time.sleep(0.5 / RATE)


def command(kind: str, name: str) -> int:
    """Send commands until the process is killed."""
    rclpy.init()
    node = rclpy.create_node(name)
    publisher = node.create_publisher(JointState, "joint_commands", qos.COMMANDS)
    while not publisher.get_subscription_count():
        time.sleep(0.01)
    for batch in batches(kind, node):
        for message in batch:
            publisher.publish(message)
    return 0


def main() -> int:
    """Run one of the programs."""
    parser = argparse.ArgumentParser("python -m trials.faults.participants", description=__doc__)
    parser.add_argument("program", choices=("observer", "commander"))
    parser.add_argument("--kind", choices=KINDS, default="plain")
    parser.add_argument("--name", default="commander", help="of the node")
    chosen = parser.parse_args()
    return run_node(Observer, []) if chosen.program == "observer" else command(chosen.kind, chosen.name)


if __name__ == "__main__":
    sys.exit(main())
