# SPDX-License-Identifier: Apache-2.0
"""The humanoid HOAP-2, standing on the ground."""

from ada_tools.bringup.launch_file import launch_description


def generate_launch_description():
    """Launch description of the setup."""
    return launch_description("hoap2_sim")
