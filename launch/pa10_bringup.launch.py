# SPDX-License-Identifier: Apache-2.0
"""The real arm PA-10, or an emulated one (backend:=emulator)."""

from ada_tools.bringup.launch_file import launch_description


def generate_launch_description():
    """Launch description of the setup."""
    return launch_description("pa10_bringup")
