# SPDX-License-Identifier: Apache-2.0
"""Any robot, at rest, with sliders for its joints in the browser view."""

from ada_tools.bringup.launch_file import launch_description


def generate_launch_description():
    """Launch description of the setup."""
    return launch_description("display")
