# SPDX-License-Identifier: Apache-2.0
"""Where the table can work: reach and distance from singular poses, over a cylinder of places with tilts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import pi, radians
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.dynamics.poses import pose_of
from ada_dynamics.errors import InputError
from ada_hardware.hexa.kinematics import HexaKinematics

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Cylinder:
    """Places and orientations of the plate.

    Attributes:
        radius: about the base's z [m].
        middle: height of the middle [m].
        half: of its height [m].
        tilt: to either side, of roll, pitch and yaw [rad].
    """

    radius: float = 0.15
    middle: float = -0.55
    half: float = 0.05
    tilt: float = radians(15.0)

    def __post_init__(self) -> None:
        """Check the values."""
        for name in ("radius", "half", "tilt"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0.0):
                raise InputError(f"cylinder: {name} is {value!r}; it must be finite and not negative.")

    def poses(self, rings: int = 3, round_: int = 12, heights: int = 3, tilts: int = 3) -> Array:
        """Poses on a grid with all corners in it, (N, 4, 4).

        Args:
            rings: radii, with 0 and the outermost.
            round_: places on each ring.
            heights: from the lowest to the highest.
            tilts: angles of roll, pitch and yaw each, from one side to the other.
        """
        levels = np.linspace(-self.half, self.half, heights) + self.middle
        angles = np.linspace(-self.tilt, self.tilt, tilts)
        found = []
        for r in np.linspace(0.0, self.radius, rings):
            azimuths = np.linspace(0.0, 2.0 * pi, round_, endpoint=False) if r > 0.0 else np.zeros(1)
            for azimuth, z, *rpy in product(azimuths, levels, angles, angles, angles):
                found.append(pose_of((r * np.cos(azimuth), r * np.sin(azimuth), z), rpy))
        return np.array(found)


class Workspace(NamedTuple):
    """What a scan found; worst values are those of poses within reach.

    Attributes:
        poses: how many were looked at.
        reached: share within reach of all legs.
        condition: the worst condition of the scaled J, and the pose that has it.
        worst: that pose, 4x4.
        drive: the least distance from singular poses of the first kind; see `Jacobians.drive`.
        hold: likewise of the second kind.
        lower: least crank angle [rad].
        upper: greatest crank angle [rad].
    """

    poses: int
    reached: float
    condition: float
    worst: Array
    drive: float
    hold: float
    lower: float
    upper: float

    def allows(self, condition: float, drive: float = 0.05, hold: float = 0.02) -> bool:
        """Whether all of it is within reach and no worse than these."""
        return self.reached == 1.0 and self.condition <= condition and self.drive >= drive and self.hold >= hold


def scan(poses: Array, kinematics: HexaKinematics | None = None) -> Workspace:
    """Look at poses of the plate, such as `Cylinder().poses()`.

    Raises:
        InputError: no poses; none of them within reach.
    """
    table = kinematics or HexaKinematics()
    q, reached = table.inverse_batch(poses)
    if not reached.any():
        raise InputError("HEXA: none of the poses is within reach; scan nearer to (0, 0, -0.55) m.")
    condition, worst, drive, hold = 0.0, poses[0], np.inf, np.inf
    for pose, angles in zip(poses[reached], q[reached], strict=True):
        at = table.jacobians(pose, angles)
        if at.condition > condition:
            condition, worst = at.condition, pose
        drive, hold = min(drive, at.drive), min(hold, at.hold)
    angles = q[reached]
    return Workspace(
        len(poses), float(np.mean(reached)), condition, worst, drive, hold, float(angles.min()), float(angles.max())
    )
