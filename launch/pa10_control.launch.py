# SPDX-License-Identifier: Apache-2.0
"""The arm PA-10 under a controller, with a target to drag."""

from ada_tools.bringup.launch_file import launch_description


def generate_launch_description():
    """Launch description of the setup."""
    return launch_description("pa10_control")
