# SPDX-License-Identifier: Apache-2.0
"""Phase of a driven robot, and with it whether it follows commands."""

from __future__ import annotations

from typing import NamedTuple

ACTIVE = "active"
_BEFORE = frozenset({"inactive", "starting"})  # nothing is wrong: it has not begun yet


class RobotPhase(NamedTuple):
    """Phase of a robot that something else drives, such as `hardware_node`; see `ada_robot.safety.phases`.

    Attributes:
        phase: "closed", "inactive", "starting", "active", "stopping" or "stopped".
        reason: why, in words; empty for nothing special.
    """

    phase: str
    reason: str = ""

    @property
    def follows(self) -> bool:
        """True if it moves by commands: in this phase alone."""
        return self.phase == ACTIVE

    @property
    def can_begin(self) -> bool:
        """True if it has not begun to move yet, and no stop or fault keeps it from that."""
        return self.phase in _BEFORE

    @property
    def words(self) -> str:
        """The same for people."""
        return f"the robot is {self.phase}" + (f": {self.reason}" if self.reason else "")
