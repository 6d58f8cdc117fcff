# SPDX-License-Identifier: Apache-2.0
"""Any robot, with the joints that close its loops, under a controller."""

from ada_tools.bringup.launch_file import launch_description


def generate_launch_description():
    """Launch description of the setup."""
    return launch_description("robot_control")
