# SPDX-License-Identifier: Apache-2.0
"""Who watches a graph: `python -m trials.graph.eye` writes what nodes say of themselves, and calls their services.

A line of JSON for each thing that is new, with `at` of the steady clock: {"at": 12.5, "state": {...}}. What it reads on
its standard input are names of services of std_srvs/Trigger, which it calls.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import TransitionEvent
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger

from ada_robot.ros import qos
from ada_robot.ros.inbox import Inbox
from ada_robot.ros.run_node import run_node

_LOOK = 0.02  # [s] between looks at joint_states


class Eye(Node):  # type: ignore[misc]  # rclpy is untyped
    """Says what it sees; "ready" at once."""

    def __init__(self) -> None:
        """Subscribe."""
        super().__init__("eye")
        self._states = Inbox(self, JointState, "joint_states", qos.streams(1))
        self._wires: dict[str, Any] = {}
        self.create_subscription(String, "hardware_node/state", self._state, qos.LATCHED)
        self.create_subscription(DiagnosticArray, "/diagnostics", self._diagnostics, 100)
        for node in ("hardware_node", "controller_node"):
            self.create_subscription(TransitionEvent, f"{node}/transition_event", self._life(node), 10)
        self.create_timer(_LOOK, self._look)
        threading.Thread(target=self._obey, daemon=True).start()
        print("ready", flush=True)

    def _state(self, message: String) -> None:
        say(state=json.loads(message.data))

    def _life(self, node: str) -> Any:
        return lambda message: say(life={node: message.goal_state.label})

    def _diagnostics(self, message: DiagnosticArray) -> None:
        for one in message.status:
            values = {value.key: value.value for value in one.values}
            say(diagnostics={"name": one.name, "level": one.level[0], "message": one.message, "values": values})

    def _look(self) -> None:
        for message in self._states.fetch():
            stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
            say(joints={"stamp": stamp, "position": list(message.position), "velocity": list(message.velocity)})

    def _obey(self) -> None:
        clients = {}
        for line in sys.stdin:
            name = line.strip()
            if name not in clients:
                clients[name] = self.create_client(Trigger, name, callback_group=ReentrantCallbackGroup())
                clients[name].wait_for_service()
                say(found=name)
                continue
            began = time.monotonic()
            clients[name].call_async(Trigger.Request()).add_done_callback(
                lambda future, began=began, name=name: say(answer={"of": name, "seconds": time.monotonic() - began})
            )


def say(**what: object) -> None:
    """Write a line."""
    print(json.dumps({"at": time.monotonic(), **what}), flush=True)


if __name__ == "__main__":
    sys.exit(run_node(Eye, []))
