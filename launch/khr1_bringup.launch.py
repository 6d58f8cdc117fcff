# SPDX-License-Identifier: Apache-2.0
"""The real humanoid KHR-1 on its serial line, or an emulated one (backend:=emulator)."""

from ada_tools.bringup.launch_file import launch_description


def generate_launch_description():
    """Launch description of the setup."""
    return launch_description("khr1_bringup")
