# SPDX-License-Identifier: Apache-2.0
"""Errors in the files of a Kondo robot."""

from __future__ import annotations

from ada_dynamics.errors import InputError
from ada_robot.errors import HardwareError


class MotionError(InputError, HardwareError):
    """Invalid motion file or angle map; the message names file, line and column or key."""
