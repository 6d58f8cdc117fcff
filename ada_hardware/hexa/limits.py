# SPDX-License-Identifier: Apache-2.0
"""Limits of the table's motors. All are assumptions: there are no published data of HEXA97.

The range of the cranks contains the workspace (radius 0.15 m, z = -0.55 ± 0.05 m, tilts of 15 deg about each axis:
-3 to 84 deg), with a margin.
"""

from __future__ import annotations

from ada_hardware.hexa.kinematics import JOINTS
from ada_hardware.hexa.plant import PERIOD, TORQUE_LIMIT
from ada_robot.contract import JointLimit

__all__ = ["LEAST_HOLD", "LIMITS", "LOWER", "PERIOD", "RATE_LIMIT", "TORQUE_LIMIT", "UPPER", "WATCHDOG"]

LOWER = -0.35  # [rad]
UPPER = 1.75  # [rad]
RATE_LIMIT = 10.0  # [rad/s]
WATCHDOG = 0.02  # [s] without a command, ten periods, after which the table brakes by itself
LEAST_HOLD = 0.02  # smallest allowed distance from singular configurations of the second kind

LIMITS = tuple(JointLimit(name, LOWER, UPPER, RATE_LIMIT, TORQUE_LIMIT) for name in JOINTS)
