# SPDX-License-Identifier: Apache-2.0
"""Phases of a robot and their transitions.

    CLOSED --open--> INACTIVE --activate--> STARTING --> ACTIVE --deactivate--> STOPPING --> INACTIVE --close--> CLOSED
                        ^                                                          |
                        '------------------- reset ------------------ STOPPED <----'   stop, alarm or fault in any phase

STOPPED is latched: it is left by a reset or by closing the robot only. CLOSED follows a driven phase only if the
process or the connection is lost, and precedes STOPPED if the device has an alarm when it is opened.
"""

from __future__ import annotations

from enum import Enum


class Phase(Enum):
    """Phase of a robot."""

    CLOSED = "closed"
    """Not connected."""
    INACTIVE = "inactive"
    """Connected; feedback is read, the brakes hold the robot, commands are refused."""
    STARTING = "starting"
    """Brakes are released and servos switched on, without motion."""
    ACTIVE = "active"
    """Commands are followed; motion by commands occurs in this phase only."""
    STOPPING = "stopping"
    """The robot ramps to rest; commands are refused."""
    STOPPED = "stopped"
    """A stop, alarm or fault is latched; a reset leads to INACTIVE."""

    @property
    def is_driven(self) -> bool:
        """True if the motors may follow demands."""
        return self in _DRIVEN


_DRIVEN = frozenset({Phase.STARTING, Phase.ACTIVE, Phase.STOPPING})
