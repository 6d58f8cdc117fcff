# SPDX-License-Identifier: Apache-2.0
"""The real arm PA-10 on its wire, or an emulated one (backend:=emulator)."""

from ada_tools.bringup.arguments import declared
from ada_tools.bringup.devices import EMULATOR, NONE, REAL, SIM
from ada_tools.bringup.launching import launched, robot_arguments
from ada_tools.bringup.pa10 import CONTROLLERS, arm_arguments, arm_nodes

ARGUMENTS = [
    declared("variant", "ce", "which controller cabinet: PA10-7CE, or the older PA-10-7C", ["ce", "7c"]),
    *arm_arguments((REAL, EMULATOR, SIM), (NONE, *CONTROLLERS)),
    *robot_arguments(idle="hold"),
]


generate_launch_description = launched(ARGUMENTS, arm_nodes, __file__)
