# SPDX-License-Identifier: Apache-2.0
"""The arm PA-10 under a controller, with a target to drag."""

from ada_tools.bringup.arguments import declared
from ada_tools.bringup.devices import EMULATOR, REAL, SIM
from ada_tools.bringup.launching import launched, robot_arguments
from ada_tools.bringup.pa10 import CONTROLLERS, arm_arguments, arm_nodes

ARGUMENTS = [
    declared("robot", "pa10", "which arm: PA10-7CE, or the older PA-10-7C", ["pa10", "pa10_7c"]),
    *arm_arguments((SIM, EMULATOR, REAL), CONTROLLERS),
    *robot_arguments(idle="hold"),
]


generate_launch_description = launched(ARGUMENTS, arm_nodes, __file__)
