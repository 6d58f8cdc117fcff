# SPDX-License-Identifier: Apache-2.0
"""Entry points of the nodes, for colcon and `python -m ada_tools.nodes`, with an error message without ROS 2."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec

from ada_dynamics.errors import USAGE_ERROR
from ada_robot.ros.environment import ros_problem

MODULES = {
    "controller_node": "ada_controllers.node.controller_node",
    "dynamics_node": "ada_robot.node.dynamics_node",
    "hardware_node": "ada_hardware.node.hardware_node",
    "loop_state_publisher": "ada_robot.node.loop_state_publisher",
    "oracle_node": "ada_tools.nodes.oracle_node",
    "target_node": "ada_tools.nodes.target_node",
    "view_node": "ada_tools.nodes.view_node",
}
"""Module with the `main()` of each node, by executable name."""


def main() -> int:
    """Run the node named on the command line."""
    if len(sys.argv) < 2 or sys.argv[1] not in MODULES:
        names = ", ".join(MODULES)
        print(f"write: python -m ada_tools.nodes NAME --ros-args ...; NAME: {names}", file=sys.stderr)
        return USAGE_ERROR
    name, *words = sys.argv[1:]
    sys.argv = [name, *words]
    return _started(name)


def __getattr__(name: str) -> Callable[[], int]:
    """Entry point of a node by executable name."""
    if name not in MODULES:
        raise AttributeError(f"no node {name!r}; available: {', '.join(MODULES)}.")
    return partial(_started, name)


def _started(name: str) -> int:
    if find_spec("rclpy") is None:
        print(f"{name}: error: {ros_problem()}", file=sys.stderr)
        return USAGE_ERROR
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return int(import_module(MODULES[name]).main())
    except KeyboardInterrupt:  # during imports, before `run_node` handles signals
        return 0
