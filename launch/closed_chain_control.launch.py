# SPDX-License-Identifier: Apache-2.0
"""Four rods in a row, controlled to move as a closed chain; `--show-args` lists what can be chosen."""

from ada_dynamics.bringup.launch_file import describe


def generate_launch_description():  # noqa: D103
    return describe("closed_chain_control")
