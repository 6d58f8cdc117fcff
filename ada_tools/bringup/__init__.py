# SPDX-License-Identifier: Apache-2.0
"""Setups of nodes that are started together: `SETUPS` by name, and `plan` for a setup with argument values.

The launch files in launch/ define the setups. `ros2 launch` executes them with ROS launch; `ada up`, which must work
without it, with the substitutes in `launch_files`. Nothing here imports rclpy.
"""

from ada_tools.bringup.arguments import Argument, ArgumentValues
from ada_tools.bringup.processes import Machine, Parameter, Plan, Process
from ada_tools.bringup.setups import SETUPS, Setup, find_setup, plan

__all__ = [
    "SETUPS",
    "Argument",
    "ArgumentValues",
    "Machine",
    "Parameter",
    "Plan",
    "Process",
    "Setup",
    "find_setup",
    "plan",
]
