# SPDX-License-Identifier: Apache-2.0
"""The programs that start nodes: of colcon, and of `python -m ada_tools.nodes`; or a line why none can run here."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec

from ada_dynamics.exit_codes import USAGE_ERROR
from ada_robot.ros.environment import ros_problem

MODULES = {
    "controller_node": "ada_controllers.node.controller_node",
    "dynamics_node": "ada_robot.node.dynamics_node",
    "hardware_node": "ada_hardware.node.hardware_node",
    "oracle_node": "ada_tools.nodes.oracle_node",
    "record_node": "ada_tools.nodes.record_node",
    "replay_node": "ada_tools.nodes.replay_node",
    "target_node": "ada_tools.nodes.target_node",
    "view_node": "ada_tools.nodes.view_node",
}
"""The module whose `main()` a node is, by the name of its executable."""


def dynamics_node() -> int:
    """A simulated robot."""
    return _started("dynamics_node")


def oracle_node() -> int:
    """Pinocchio beside it."""
    return _started("oracle_node")


def target_node() -> int:
    """Where a controlled robot shall go."""
    return _started("target_node")


def view_node() -> int:
    """The robot in the browser."""
    return _started("view_node")


def record_node() -> int:
    """Topics to a file."""
    return _started("record_node")


def replay_node() -> int:
    """Topics from a file."""
    return _started("replay_node")


def controller_node() -> int:
    """A controller of the library."""
    return _started("controller_node")


def hardware_node() -> int:
    """Real robots and sensors, or their emulators."""
    return _started("hardware_node")


def _started(name: str) -> int:
    if find_spec("rclpy") is None:
        print(f"{name}: error: {ros_problem()}", file=sys.stderr)
        return USAGE_ERROR
    return int(import_module(MODULES[name]).main())
