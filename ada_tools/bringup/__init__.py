# SPDX-License-Identifier: Apache-2.0
"""Setups, started together: `SETUPS` by name, and `plan` for a setup with values of its arguments.

The files in launch/ say it, and nothing else does: `ros2 launch` reads them with ROS's launch, and `ada up`, which must
do without it, with the records of `launch_words`. `launching` is what the files share, `pa10` and `devices` are
parameters that several of them have. Nothing here imports rclpy.
"""

from ada_tools.bringup.arguments import Argument, Values
from ada_tools.bringup.processes import Machine, Parameter, Plan, Process
from ada_tools.bringup.setups import SETUPS, Setup, find_setup, plan

__all__ = ["SETUPS", "Argument", "Machine", "Parameter", "Plan", "Process", "Setup", "Values", "find_setup", "plan"]
