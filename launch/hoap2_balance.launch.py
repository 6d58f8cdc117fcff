# SPDX-License-Identifier: Apache-2.0
"""The humanoid HOAP-2 that keeps its balance; `--show-args` lists what can be chosen."""

from ada_dynamics.bringup.launch_file import describe


def generate_launch_description():  # noqa: D103
    return describe("hoap2_balance")
