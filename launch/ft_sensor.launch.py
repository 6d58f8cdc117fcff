# SPDX-License-Identifier: Apache-2.0
"""A force/torque sensor, real or emulated (backend:=emulator), that publishes its wrench."""

from ada_tools.bringup.launch_file import launch_description


def generate_launch_description():
    """Launch description of the setup."""
    return launch_description("ft_sensor")
