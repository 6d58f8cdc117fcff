# SPDX-License-Identifier: Apache-2.0
"""The humanoid KHR-1, standing on the ground."""

from ada_tools.bringup.launch_file import launch_description


def generate_launch_description():
    """Launch description of the setup."""
    return launch_description("khr1_sim")
