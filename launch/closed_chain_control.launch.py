# SPDX-License-Identifier: Apache-2.0
"""Four rods in series, controlled as a closed chain."""

from ada_tools.bringup.launch_file import launch_description


def generate_launch_description():
    """Launch description of the setup."""
    return launch_description("closed_chain_control")
