# SPDX-License-Identifier: Apache-2.0
"""Phase of a robot driven by another node."""

from __future__ import annotations

from typing import NamedTuple

ACTIVE = "active"
_BEFORE = frozenset({"inactive", "starting"})  # not yet active, without a fault


class RobotPhase(NamedTuple):
    """Phase of a robot driven by another node, such as `hardware_node`; see `ada_robot.safety.phases`.

    Attributes:
        phase: "closed", "inactive", "starting", "active", "stopping" or "stopped".
        reason: reason of the phase, or "".
    """

    phase: str
    reason: str = ""

    @property
    def follows(self) -> bool:
        """True if the robot follows commands."""
        return self.phase == ACTIVE

    @property
    def can_begin(self) -> bool:
        """True if the robot can become active without a reset."""
        return self.phase in _BEFORE

    @property
    def words(self) -> str:
        """Description of phase and reason."""
        return f"the robot is {self.phase}" + (f": {self.reason}" if self.reason else "")
