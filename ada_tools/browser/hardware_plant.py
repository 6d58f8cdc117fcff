# SPDX-License-Identifier: Apache-2.0
"""What a page needs of a hardware node elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from ada_dynamics.arrays import Array
from ada_robot.node_state import HardwareState
from ada_tools.browser.plant import Answer


class Told(NamedTuple):
    """Positions by joint that arrived in a message.

    Attributes:
        arrived: on the steady clock [s].
        positions: by joint [rad].
    """

    arrived: float
    positions: Mapping[str, float]


class Wrench(NamedTuple):
    """What a sensor measured.

    Attributes:
        arrived: on the steady clock [s].
        frame: that it is in.
        values: force and moment [N, N m].
    """

    arrived: float
    frame: str
    values: Array


class Hardware(Protocol):
    """A hardware node. All calls return at once, and may be made on any thread where that is said."""

    @property
    def name(self) -> str:
        """What it is called, for messages."""

    @property
    def is_there(self) -> bool:
        """Whether there is such a node now."""

    def state(self) -> HardwareState | None:
        """The newest that it said; None as long as it said nothing."""

    # --- by device ----------------------------------------------------------------------------------------------
    def measured(self, device: str) -> Told | None:
        """Where the joints of a robot are."""

    def told(self, device: str) -> Told | None:
        """Where they are told to be, where they are told that."""

    def wrench(self, device: str) -> Wrench | None:
        """What a sensor measured last."""

    def others(self, device: str) -> Sequence[str]:
        """Other nodes that command a robot."""

    def command(self, device: str, positions: Mapping[str, float] | None) -> None:
        """Positions for a robot; None ends the commands. What nobody hears is lost."""

    # --- for the node -------------------------------------------------------------------------------------------
    def change(self, transition: str, then: Answer) -> None:
        """Ask for a transition: "configure", "activate", "deactivate" or "cleanup"."""

    def stop(self, then: Answer) -> None:
        """Stop all robots; from any thread."""

    def reset(self, then: Answer) -> None:
        """Clear alarms and a latched stop."""

    def bias(self, then: Answer) -> None:
        """Take what the sensors measure now for zero."""

    def play(self, path: str, then: Answer) -> None:
        """Begin with a motion."""
