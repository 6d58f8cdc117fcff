# SPDX-License-Identifier: Apache-2.0
"""Who commands an arm: `python -m trials.graph.commander [--rate 250] [--speed 0.1] [--kind doubled] [--seconds 5]`.

Messages are bytes in which only the stamp changes: so one process can send 10 000 a second. It says "ready" when it has
sent the first one, and at its end how many it has sent, and in how many seconds.
"""

from __future__ import annotations

import argparse
import json
import math
import struct
import sys
import time
from collections.abc import Iterator

import rclpy
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from ada_robot.ros import qos

ARM = ["s1", "s2", "s3", "e1", "e2", "w1", "w2"]
KINDS = ("plain", "doubled", "swapped", "malformed")
_STAMP = struct.Struct("<iI")
_AT = 4  # [byte] of the stamp in a message, behind what says how it is encoded
_WAVE = [0.75 + 0.25 * math.cos(0.1 * i) for i in range(63)]  # of the speed
_SHARE = 0.002  # [s] of messages that are sent at once


def messages(kind: str, speed: float) -> list[bytes]:
    """What is sent, again and again."""
    good = [JointState(name=ARM, velocity=[share * speed] * len(ARM)) for share in _WAVE]
    if kind != "malformed":
        return [bytes(serialize_message(one)) for one in good]
    bad = [
        JointState(name=ARM, velocity=[float("nan")] * len(ARM)),
        JointState(name=ARM, velocity=[1e300] * len(ARM)),
        JointState(name=ARM, velocity=[speed]),
        JointState(name=ARM),
        JointState(name=["elbow", *ARM[1:]], velocity=[speed] * len(ARM)),
        JointState(name=[ARM[0]] * len(ARM), velocity=[speed] * len(ARM)),
        JointState(name=["n" * 5000], velocity=[speed]),
        JointState(name=ARM, effort=[float("inf")] * len(ARM)),
    ]
    return [bytes(serialize_message(one)) for one in bad]


def stamped(message: bytes, now: int) -> bytes:
    """The same, made at a time [ns]."""
    return message[:_AT] + _STAMP.pack(now // 1_000_000_000, now % 1_000_000_000) + message[_AT + _STAMP.size :]


def batches(kind: str, speed: float, rate: float) -> Iterator[list[bytes]]:
    """What is to be sent, each time that something is due."""
    templates, count, began = messages(kind, speed), 0, time.monotonic()
    held: list[bytes] = []
    while True:
        batch = []
        for _ in range(int((time.monotonic() - began) * rate) - count):
            batch.append(stamped(templates[count % len(templates)], time.time_ns()))
            count += 1
        if kind == "doubled":
            batch = [one for one in batch for _ in range(2)]
        elif kind == "swapped":  # of each two the second goes first
            held += batch
            batch = [held[i ^ 1] for i in range(len(held) // 2 * 2)]
            held = held[len(batch) :]
        yield batch
        time.sleep(max(_SHARE, 0.5 / rate))


def main(arguments: list[str] | None = None) -> int:
    """Send."""
    parser = argparse.ArgumentParser("python -m trials.graph.commander", description=__doc__)
    parser.add_argument("--rate", type=float, default=250.0, help="of commands [Hz]")
    parser.add_argument("--speed", type=float, default=0.1, help="of all joints [rad/s]")
    parser.add_argument("--kind", choices=KINDS, default="plain")
    parser.add_argument("--seconds", type=float, default=600.0, help="how long")
    parser.add_argument("--name", default="commander", help="of the node")
    chosen = parser.parse_args(arguments)
    rclpy.init()
    node = rclpy.create_node(chosen.name)
    publisher = node.create_publisher(JointState, "joint_commands", qos.COMMANDS)
    while not publisher.get_subscription_count():
        time.sleep(0.01)
    began, sent = time.monotonic(), 0
    for batch in batches(chosen.kind, chosen.speed, chosen.rate):
        for message in batch:
            publisher.publish(message)
        if not sent and batch:
            print("ready", flush=True)
        sent += len(batch)
        seconds = time.monotonic() - began
        if seconds > chosen.seconds:
            break
    print(json.dumps({"at": time.monotonic(), "sent": sent, "seconds": seconds}), flush=True)
    rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
