# SPDX-License-Identifier: Apache-2.0
"""Source of a robot's motion, as a page needs it: a simulation here, or a node elsewhere with a simulation or devices.

The reported state of a node decides what the page offers: see `RobotNode.state`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from ada_dynamics.arrays import Array
from ada_dynamics.drawing.marks import Mark
from ada_robot.node_state import HardwareState
from ada_tools.browser.seen import Seen

Answer = Callable[[str | None], None]  # given None when something is done, else the reason why it is not
Positions = Mapping[str, float]  # by joint [rad, m]
Moment = tuple[float, Array, Array]  # time [s], positions and velocities


class Heard(NamedTuple):
    """Positions of joints, and when they arrived on the steady clock [s]."""

    arrived: float
    positions: Positions


class Wrench(NamedTuple):
    """A reading of a sensor.

    Attributes:
        arrived: on the steady clock [s].
        frame: that it is in.
        values: force and moment [N, N m].
    """

    arrived: float
    frame: str
    values: Array


class RobotSource(Protocol):
    """Source of the motion on a page: a simulation here, or a node elsewhere.

    All calls return at once; answers are given on the thread that runs the page.
    """

    @property
    def name(self) -> str:
        """Name of the source, for messages."""

    # --- state --------------------------------------------------------------------------------------------------
    def newest(self) -> Seen | None:
        """Its newest state."""

    def passed(self) -> Sequence[Moment]:
        """Moments before the newest state that plots show, too; since the last call."""

    @property
    def goes_on(self) -> bool | None:
        """True while the motion goes on; None where only its states can show that."""

    def rate(self) -> float:
        """Messages of its state that arrived in the last second or so [Hz]; 0: none are sent."""

    def parameters(self) -> Mapping[str, object]:
        """Parameters, as far as they are known: "gravity", "real_time_factor"."""

    def marks(self) -> Sequence[Mark]:
        """Marks that are to be drawn beside the robot now, such as forces, while they are watched."""

    def watch_marks(self, is_on: bool) -> None:
        """Begin or end to receive marks."""

    # --- requests -----------------------------------------------------------------------------------------------
    def command(self, positions: Positions | None, device: str = "") -> None:
        """Positions that motors shall go to, of one device or of the whole robot; None ends the commands.

        Without a listener it is lost.
        """

    def reset(self, then: Answer) -> None:
        """Back to the start; of devices: clear alarms and a latched stop."""

    def pause(self, is_paused: bool, then: Answer) -> None:
        """Pause, or go on."""

    def step(self, then: Answer) -> None:
        """One step while paused."""

    def set_speed(self, factor: float, then: Answer) -> None:
        """Time of the motion by time that passes."""

    def push(self, link: str, wrench: Array) -> None:
        """Let a wrench [f, n] act on a link for a moment, at its origin in its axes, in the place of the last one.

        Raises:
            InputError: there is no listener.
        """

    def set_state(self, positions: Positions) -> None:
        """Put the robot into a pose; InputError without a listener."""


class RobotNode(RobotSource, Protocol):
    """A robot's node elsewhere, which may drive devices."""

    @property
    def waits_for(self) -> str:
        """Text for a page without a robot."""

    def description(self) -> str | None:
        """The robot's description, or None as long as there is none."""

    # --- only devices -------------------------------------------------------------------------------------------
    @property
    def driver(self) -> str:
        """Name of the node that drives devices, for messages."""

    @property
    def is_there(self) -> bool:
        """True while that node is there."""

    def state(self) -> HardwareState | None:
        """The newest state of its phase and its devices; None: no such node was seen so far."""

    def measured(self, device: str) -> Heard | None:
        """Where the joints of a device are."""

    def commanded(self, device: str) -> Heard | None:
        """Commanded positions, where the device reports them."""

    def wrench(self, device: str) -> Wrench | None:
        """The newest reading of a sensor."""

    def others(self, device: str) -> Sequence[str]:
        """Other nodes that command a device."""

    def change(self, transition: str, then: Answer) -> None:
        """Ask for a transition: "configure", "activate", "deactivate" or "cleanup"."""

    def arm(self, then: Answer) -> None:
        """Let robots that are active follow commands."""

    def stop(self, then: Answer) -> None:
        """Stop all robots; from any thread."""

    def bias(self, then: Answer) -> None:
        """Take what the sensors measure now for zero."""

    def play(self, path: str, then: Answer) -> None:
        """Begin with a motion."""
