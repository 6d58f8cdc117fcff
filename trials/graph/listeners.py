# SPDX-License-Identifier: Apache-2.0
"""Many who listen: `python -m trials.graph.listeners COUNT` has so many subscriptions to joint_states and /tf.

Each is one as viewers have them: reliable, ten messages deep. It says "ready" when all of them have a publisher, and
every second how many messages each of them has got.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import rclpy
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from ada_robot.ros import environment
from ada_robot.ros.inbox import Inbox

_LOOK = 0.02  # [s]


def main(count: int) -> None:
    """Listen until told to end."""
    rclpy.init()
    node = rclpy.create_node("listeners")
    kinds: list[tuple[Any, str]] = [(JointState, "joint_states")]
    if environment.can_send_tf():
        from tf2_msgs.msg import TFMessage

        kinds.append((TFMessage, "/tf"))
    inboxes = [Inbox(node, *kinds[i % len(kinds)], QoSProfile(depth=10), raw=True) for i in range(count)]
    while not all(inbox.publishers for inbox in inboxes):
        time.sleep(_LOOK)
    print("ready", flush=True)
    while True:
        got, end = [0] * count, time.monotonic() + 1.0
        while time.monotonic() < end:
            got = [n + len(inbox.fetch()) for n, inbox in zip(got, inboxes, strict=True)]
            time.sleep(_LOOK)
        print(json.dumps({"at": time.monotonic(), "got": got}), flush=True)


if __name__ == "__main__":
    try:
        main(int(sys.argv[1]))
    except KeyboardInterrupt:
        rclpy.try_shutdown()
