# SPDX-License-Identifier: Apache-2.0
"""The phases of a robot, and how one may follow another.

    CLOSED --open--> INACTIVE --activate--> STARTING --> ACTIVE --deactivate--> STOPPING --> INACTIVE --close--> CLOSED
                        ^                                                          |
                        '------------------- reset ------------------ STOPPED <----'   stop, alarm, fault: from anywhere

STOPPED stays until someone resets it on purpose; nothing else leads out of it but the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType


class Phase(Enum):
    """The phase of a robot."""

    CLOSED = "closed"
    """No connection; nothing is known about the robot."""
    INACTIVE = "inactive"
    """Connected and read; it stands still by itself (brakes on), and takes no commands."""
    STARTING = "starting"
    """Brakes open and servos come on; nothing moves yet."""
    ACTIVE = "active"
    """It follows commands: the only phase in which it moves by them."""
    STOPPING = "stopping"
    """It comes to rest along a ramp; commands are refused."""
    STOPPED = "stopped"
    """A stop, an alarm or a fault is latched; only a reset leads back to INACTIVE."""

    @property
    def is_driven(self) -> bool:
        """True if its motors may follow demands."""
        return self in _DRIVEN


_DRIVEN = frozenset({Phase.STARTING, Phase.ACTIVE, Phase.STOPPING})

FOLLOWS: Mapping[Phase, frozenset[Phase]] = MappingProxyType(
    {
        Phase.CLOSED: frozenset({Phase.INACTIVE, Phase.STOPPED}),  # STOPPED: an alarm is there from the start
        Phase.INACTIVE: frozenset({Phase.STARTING, Phase.STOPPED, Phase.CLOSED}),
        Phase.STARTING: frozenset({Phase.ACTIVE, Phase.INACTIVE, Phase.STOPPED, Phase.CLOSED}),
        Phase.ACTIVE: frozenset({Phase.STOPPING, Phase.STOPPED, Phase.CLOSED}),
        Phase.STOPPING: frozenset({Phase.INACTIVE, Phase.STOPPED, Phase.CLOSED}),
        Phase.STOPPED: frozenset({Phase.INACTIVE, Phase.CLOSED}),
    }
)
"""The phases that may follow each; CLOSED follows a driven one only where the process or wire is lost."""
