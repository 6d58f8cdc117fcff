# SPDX-License-Identifier: Apache-2.0
"""The arm PA-10 with 7 joints, swinging freely (idle:=hold: held by its servos)."""

from ada_tools.bringup.launch_file import launch_description


def generate_launch_description():
    """Launch description of the setup."""
    return launch_description("pa10_sim")
