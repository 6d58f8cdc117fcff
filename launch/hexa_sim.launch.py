# SPDX-License-Identifier: Apache-2.0
"""The parallel robot HEXA with six closed loops, held by its six motors."""

from ada_tools.bringup.launch_file import launch_description


def generate_launch_description():
    """Launch description of the setup."""
    return launch_description("hexa_sim")
