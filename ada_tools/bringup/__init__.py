# SPDX-License-Identifier: Apache-2.0
"""Setups of nodes that are started together: `SETUPS` by name, and `plan` for a setup with argument values.

config/setups.yaml is the table of all setups, and `setups` plans their processes. The launch files in launch/ pass
them to ROS launch (`launch_file`); `ada up`, which works without ROS launch, starts them itself (`starter`). Nothing
here imports rclpy.
"""

from ada_tools.bringup.arguments import Argument
from ada_tools.bringup.processes import Machine, Plan, Process
from ada_tools.bringup.setups import SETUPS, Setup, find_setup, plan

__all__ = ["SETUPS", "Argument", "Machine", "Plan", "Process", "Setup", "find_setup", "plan"]
