# SPDX-License-Identifier: Apache-2.0
"""Complete joint states and frames of a robot with closed loops, from the motor states of its driver."""

from ada_tools.bringup.launch_file import launch_description


def generate_launch_description():
    """Launch description of the setup."""
    return launch_description("loop_state_publisher")
