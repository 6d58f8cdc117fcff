# SPDX-License-Identifier: Apache-2.0
"""Errors of the files of a Kondo robot."""

from __future__ import annotations

from ada_dynamics.errors import InputError
from ada_robot.errors import HardwareError


class MotionError(InputError, HardwareError):
    """A motion or an angle map is unusable; the message names file, line and column or key."""
