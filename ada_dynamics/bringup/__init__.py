# SPDX-License-Identifier: Apache-2.0
"""What is started together, described once: `SETUPS` by name, and `plan` for a setup with values of its arguments.

The launch files (`launch_file`), the starter without ROS's launch (`starter`, which is `ada up`) and the RViz
configurations (`rviz`) are made from this description. Nothing here imports rclpy; `launch_file` alone imports launch.
"""

from ada_dynamics.bringup.arguments import Argument, Values
from ada_dynamics.bringup.processes import Machine, Parameter, Plan, Process
from ada_dynamics.bringup.setup import Setup
from ada_dynamics.bringup.setups import SETUPS, find_setup, plan

__all__ = ["SETUPS", "Argument", "Machine", "Parameter", "Plan", "Process", "Setup", "Values", "find_setup", "plan"]
