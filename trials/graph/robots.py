# SPDX-License-Identifier: Apache-2.0
"""Many simulated robots in one process: `python -m trials.graph.robots FIRST COUNT RATE`.

Each is a `DynamicsNode` in a namespace of its own, robot_FIRST and so on; RATE is of their physics [Hz]. It says
"ready" when all of them move, and every second the real-time factor of each.
"""

from __future__ import annotations

import json
import sys
import threading
import time

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter

from ada_robot.node.dynamics_node import DynamicsNode

STATES = 50.0  # [Hz]


def main(first: int, count: int, rate: float) -> None:
    """Simulate until told to end."""
    rclpy.init()
    values = {"robot": "pa10", "physics_rate": rate, "publish_rate": STATES, "publish_tf": False, "marker_rate": 0.0}
    parameters = [Parameter(name, value=value) for name, value in values.items()]
    executor, nodes = SingleThreadedExecutor(), []
    for i in range(first, first + count):
        nodes.append(DynamicsNode(namespace=f"robot_{i:02}", parameter_overrides=parameters))
        executor.add_node(nodes[-1])
    threading.Thread(target=executor.spin, daemon=True).start()
    loops = [node.loop for node in nodes if node.loop is not None]
    while not all(loop.is_ready for loop in loops):
        time.sleep(0.05)
    print("ready", flush=True)
    try:
        while True:
            before, began = [loop.plant.steps for loop in loops], time.monotonic()
            time.sleep(1.0)
            passed = time.monotonic() - began
            done = [loop.plant.steps - steps for loop, steps in zip(loops, before, strict=True)]
            factors = [steps / (rate * passed) for steps in done]
            print(json.dumps({"at": time.monotonic(), "first": first, "factors": factors}), flush=True)
    except KeyboardInterrupt:
        for node in nodes:
            node.close()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
