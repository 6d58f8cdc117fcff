# SPDX-License-Identifier: Apache-2.0
"""The real humanoid KHR-1, or an emulated one; `--show-args` lists what can be chosen."""

from ada_dynamics.bringup.launch_file import describe


def generate_launch_description():  # noqa: D103
    return describe("khr1_bringup")
