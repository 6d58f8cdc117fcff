# SPDX-License-Identifier: Apache-2.0
"""Interface between a page and a remote controller that follows a target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from ada_dynamics.arrays import Array


class TargetPose(NamedTuple):
    """Target pose of a link.

    Attributes:
        frame: reference link, or the world frame.
        pose: homogeneous transform 4x4 in that frame.
    """

    frame: str
    pose: Array


class Follower(Protocol):
    """Remote controller; all calls are non-blocking."""

    @property
    def name(self) -> str:
        """Name used in messages."""

    @property
    def link(self) -> str:
        """Link that follows the target pose; "" if unknown."""

    @property
    def is_there(self) -> bool:
        """Return True if the controller exists, active or not."""

    def target_pose(self) -> TargetPose | None:
        """Target pose that the controller follows; None if it follows none."""

    def target_joints(self) -> Mapping[str, float] | None:
        """Target positions by joint that the controller follows; None if it follows none."""

    def follow_pose(self, target: TargetPose) -> None:
        """Send a target pose. Raises InputError without a subscriber."""

    def follow_joints(self, positions: Mapping[str, float]) -> None:
        """Send target positions. Raises InputError without a subscriber."""
