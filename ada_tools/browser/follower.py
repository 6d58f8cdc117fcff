# SPDX-License-Identifier: Apache-2.0
"""A controller elsewhere that lets its robot follow a target, as a page needs it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from ada_dynamics.arrays import Array


class TargetPose(NamedTuple):
    """Where a link shall be.

    Attributes:
        frame: a link of the robot, or the world's frame.
        pose: 4x4, in that frame.
    """

    frame: str
    pose: Array


class Follower(Protocol):
    """A controller elsewhere. All calls return at once."""

    @property
    def name(self) -> str:
        """Its name, for messages."""

    @property
    def link(self) -> str:
        """The link of whose pose it is the target; "" where that is not known."""

    @property
    def is_there(self) -> bool:
        """True if there is such a controller, be it at work or not."""

    def target_pose(self) -> TargetPose | None:
        """The pose that it follows now, if it follows one."""

    def target_joints(self) -> Mapping[str, float] | None:
        """The positions that it follows now, by joint, if it follows some."""

    def follow_pose(self, target: TargetPose) -> None:
        """Ask it to follow a pose; InputError without a listener."""

    def follow_joints(self, positions: Mapping[str, float]) -> None:
        """Ask it to follow positions; InputError without a listener."""
