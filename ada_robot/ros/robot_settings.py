# SPDX-License-Identifier: Apache-2.0
"""Parameters of all nodes with a robot model: model, base, gravity and frame names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from ada_dynamics.errors import InputError
from ada_dynamics.model.description import BASES, Base
from ada_dynamics.model.model import Model
from ada_dynamics.robots.load import load
from ada_robot.settings import setting

AUTO = "auto"
LARGEST_GRAVITY = 1000.0  # [m/s^2]
COMMON_WORLD = "world"  # common world frame of several robots
_PREFIX = re.compile(r"([A-Za-z0-9_]+/)*[A-Za-z0-9_]*")  # unambiguous, to avoid exponential backtracking


@dataclass(frozen=True)
class FrameSettings:
    """Names of the robot's frames."""

    frame_prefix: str = setting(
        "", "prefix of all frame names in messages, such as left/; not used in robot_description", read_only=True
    )

    def __post_init__(self) -> None:
        """Raise an InputError unless the prefix makes valid frame names."""
        check_frame_prefix(self.frame_prefix)


@dataclass(frozen=True)
class PlaceSettings(FrameSettings):
    """Pose of the robot in the common world frame."""

    base_pose: tuple[float, ...] = setting(
        (), "x, y, z [m], yaw [rad] of its world_frame in world, on /tf_static; needs frame_prefix", read_only=True
    )

    def __post_init__(self) -> None:
        """Raise an InputError unless the pose is valid, with a prefix, or empty."""
        super().__post_init__()
        check_base_pose(self.base_pose, self.frame_prefix)


@dataclass(frozen=True)
class DescribedSettings(FrameSettings):
    """Source of the robot model."""

    robot: str = setting(
        "", "catalogue name (`ada list`) or path of a robot file; empty: wait for robot_description", read_only=True
    )
    loops: str = setting("", "path of a YAML or JSON file with loop joints", read_only=True)
    description_timeout: float = setting(
        10.0, "timeout of robot_description; 0: none", unit="s", lower=0.0, read_only=True
    )


@dataclass(frozen=True)
class RobotSettings(DescribedSettings):
    """Robot model and its base."""

    base: str = setting(AUTO, "base; auto: of the catalogue, else fixed", choices=(AUTO, *BASES), read_only=True)
    gravity: tuple[float, ...] = setting(
        (), "gravity vector in the world; empty: that of the robot", unit="m/s^2", read_only=True
    )

    def __post_init__(self) -> None:
        """Check gravity and prefix."""
        super().__post_init__()
        check_gravity(self.gravity)

    def load(self, description: str | None = None) -> Model:
        """Load the robot named by the settings, or from a description.

        Raises:
            ModelError: if the robot file or the description is invalid.
        """
        base = None if self.base == AUTO else cast("Base", self.base)  # checked by the setting
        return load(description or self.robot, base=base, gravity=self.gravity or None, loops=self.loops or None)


def check_gravity(gravity: Sequence[float]) -> None:
    """Raise an InputError unless a gravity vector is valid or empty."""
    if gravity and not (len(gravity) == 3 and np.all(np.abs(gravity) <= LARGEST_GRAVITY)):  # False for NaN
        text = (
            f"gravity is {list(gravity)}; it must be three finite numbers [m/s^2] up to {LARGEST_GRAVITY:g}, or empty."
        )
        raise InputError(text, field="gravity", value=gravity)


def check_frame_prefix(prefix: str) -> None:
    """Raise an InputError unless a prefix makes valid frame names."""
    if not _PREFIX.fullmatch(prefix):
        text = (
            f"frame_prefix is {prefix!r}; it must consist of letters, digits and underscores, with single slashes "
            "after them, such as left/."
        )
        raise InputError(text, field="frame_prefix", value=prefix)


def check_base_pose(pose: Sequence[float], prefix: str) -> None:
    """Raise an InputError unless a pose is empty, or valid and with a prefix."""
    if not pose:
        return
    if len(pose) != 4 or not np.isfinite(pose).all():
        text = (
            f"base_pose is {list(pose)}; it must be four finite numbers, x, y, z [m] and yaw [rad], or empty. For an "
            "inclined robot set gravity, and its pose by a static_transform_publisher."
        )
        raise InputError(text, field="base_pose", value=pose)
    if not prefix:
        text = (
            f"base_pose is {list(pose)} without a frame_prefix: it would define the frame {COMMON_WORLD!r} relative to "
            "itself. Set one, such as frame_prefix:=left/."
        )
        raise InputError(text, field="frame_prefix", value=prefix)
