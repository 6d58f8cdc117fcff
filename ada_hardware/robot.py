# SPDX-License-Identifier: Apache-2.0
"""Robot by the name of its device: `Robot("pa10", Pa10Settings(url="arcnet:arc0"))`; see `ada_robot.robot.Robot`."""

from __future__ import annotations

from ada_hardware.registry import DRIVEN, ROBOT
from ada_robot.driver import DRIVERS
from ada_robot.robot import Robot

__all__ = ["Robot"]

DRIVERS.update({one.name: one.driver for one in DRIVEN.values() if one.kind == ROBOT})
