# SPDX-License-Identifier: Apache-2.0
"""The parameters of all nodes that have a model of the robot: which one, and how it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ada_dynamics.errors import InputError
from ada_dynamics.model.builder import BASES
from ada_dynamics.model.load import load
from ada_dynamics.model.model import Model
from ada_dynamics.settings import setting

AUTO = "auto"
LARGEST_GRAVITY = 1000.0  # [m/s^2]; a hundred times the earth's


@dataclass(frozen=True)
class RobotSettings:
    """Which robot, and how it is held; see the descriptions."""

    robot: str = setting(
        "",
        "name in the catalogue (`ada list`) or path of a robot's file; empty: waits for the topic robot_description",
        read_only=True,
    )
    loops: str = setting("", "path of a YAML or JSON file with joints that close loops", read_only=True)
    base: str = setting(
        AUTO,
        "how the root link is held; auto: as the catalogue has it, else fixed",
        choices=(AUTO, *BASES),
        read_only=True,
    )
    gravity: tuple[float, ...] = setting(
        (), "gravity vector in the world; empty: the robot's own", unit="m/s^2", read_only=True
    )
    description_timeout: float = setting(
        10.0, "wait for robot_description; 0: for ever", unit="s", lower=0.0, read_only=True
    )

    def __post_init__(self) -> None:
        """Check what concerns several numbers."""
        check_gravity(self.gravity)

    def load(self, description: str | None = None) -> Model:
        """The robot that is named, or that of a description.

        Raises:
            ModelError: its file, or the description, is unusable.
        """
        base = None if self.base == AUTO else self.base
        return load(description or self.robot, base=base, gravity=self.gravity or None, loops=self.loops or None)


def check_gravity(gravity: Sequence[float]) -> None:
    """See that a gravity vector is one, or empty.

    Raises:
        InputError: it is not.
    """
    if gravity and not (len(gravity) == 3 and np.all(np.abs(gravity) <= LARGEST_GRAVITY)):  # NaN fails it, too
        raise InputError(
            f"gravity is {list(gravity)}; it must be three finite numbers [m/s^2] up to {LARGEST_GRAVITY:g}, or empty."
        )
