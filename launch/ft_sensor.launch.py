# SPDX-License-Identifier: Apache-2.0
"""A force/torque sensor, real or emulated; `--show-args` lists what can be chosen."""

from ada_dynamics.bringup.launch_file import describe


def generate_launch_description():  # noqa: D103
    return describe("ft_sensor")
