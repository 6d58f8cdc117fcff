# SPDX-License-Identifier: Apache-2.0
"""What a page needs of a robot that moves elsewhere, such as behind ROS 2 topics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from ada_dynamics.arrays import Array
from ada_dynamics.drawing.marks import Mark
from ada_tools.browser.seen import Seen

Answer = Callable[[str | None], None]  # given None when something is done, else the reason why it is not


class Plant(Protocol):
    """A robot elsewhere: what is known of it now, and what it can be asked for.

    All calls return at once. Answers are given on the thread that runs the page.
    """

    @property
    def name(self) -> str:
        """What it is called, for messages."""

    @property
    def waits_for(self) -> str:
        """What a person should know who looks at a page without a robot."""

    def description(self) -> str | None:
        """The robot's description, or None as long as there is none."""

    def newest(self) -> Seen | None:
        """The newest that was seen of its state."""

    def rate(self) -> float:
        """Messages of its state that arrived in the last second or so [Hz]."""

    def parameters(self) -> Mapping[str, object]:
        """Parameters of the plant, as far as they are known: "gravity", "real_time_factor"."""

    def marks(self) -> Sequence[Mark]:
        """What is to be drawn beside the robot now, such as forces, while that is watched."""

    def watch_marks(self, is_on: bool) -> None:
        """Begin or end to receive marks."""

    def pause(self, is_paused: bool, then: Answer) -> None:
        """Pause, or go on."""

    def step(self, then: Answer) -> None:
        """One step while paused."""

    def reset(self, then: Answer) -> None:
        """Back to the start."""

    def set_speed(self, factor: float, then: Answer) -> None:
        """Time of the motion by time that passes."""

    def push(self, link: str, wrench: Array) -> None:
        """Let a wrench [f, n] act on a link for a moment, at its origin in its axes; InputError if nobody listens."""

    def command(self, positions: Mapping[str, float] | None) -> None:
        """Positions that motors shall go to; None ends the commands. InputError where nobody listens."""

    def set_state(self, positions: Mapping[str, float]) -> None:
        """Put the robot into a pose, by positions of its joints; InputError where nobody listens."""
