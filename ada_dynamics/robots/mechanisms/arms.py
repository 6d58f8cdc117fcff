# SPDX-License-Identifier: Apache-2.0
"""The leg of HEXA and DELTA robots: a crank on the base, and rods from its end to the platform."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.elements import Limits, Shape
from ada_dynamics.model.rotations import turned
from ada_dynamics.robots.mechanisms.geometry import angle_with, hooke_angles, turned_y, turned_z
from ada_dynamics.robots.mechanisms.parts import X, Y, cylinder
from ada_dynamics.robots.mechanisms.shapes import DARK, DRIVEN, ball, bar, pin

# A rod points down at zero angles: z of its frame is that of the arm's turned about x by half a turn.
DOWN = np.diag([1.0, -1.0, -1.0])


class Arm(NamedTuple):
    """A crank that turns about y of a frame on the base, with x outwards, and the sizes of its rods."""

    name: str
    shoulder: Array  # in the base [m]
    azimuth: float  # of x about z [rad]
    length: float  # of the crank [m]
    rod: float  # [m]
    crank_mass: float = 0.5  # [kg]
    rod_mass: float = 0.1  # [kg]
    effort: float = np.inf  # that the motor can give [N m]

    def motor(self, side: float, size: float) -> Shape:
        """The drawn motor beside the crank, in the base."""
        turn = turned_z(self.azimuth)
        start, end = (self.shoulder + turned(turn, np.array([0.0, side * y, 0.0])) for y in (0.02, 0.02 + size))
        return bar(start, end, 0.032, DARK)

    def add_crank(self, builder: Builder, base: str, spacing: float = 0.0) -> None:
        """The crank, with its joint `<name>_crank`; its drawn end is as wide as the rods are apart."""
        link = f"{self.name}_crank"
        end = (self.length, 0.0, 0.0)
        looks = [bar((0, 0, 0), end, 0.014, DRIVEN), pin((0, 0, 0), Y, 0.028, 0.04, DRIVEN)]
        looks += [pin(end, Y, 0.009, spacing, DRIVEN)] if spacing else []
        builder.link(link, *cylinder(self.length, 0.02, self.crank_mass, axis=0), visuals=looks)
        limits = Limits(effort=self.effort)
        builder.joint(link, "revolute", base, link, self.shoulder, (0.0, 0.0, self.azimuth), axis=Y, limits=limits)

    def add_rod(self, builder: Builder, which: str, sideways: float, platform: str, tip: Array) -> None:
        """A rod on the crank's end, `sideways` along y, with its joint `<name>_knee` and its loop `<name>_ball`."""
        link = f"{self.name}_rod{which}"
        end = (0.0, 0.0, self.rod)
        looks = (bar((0, 0, 0), end, 0.007), ball((0, 0, 0), 0.016), ball(end, 0.014))
        builder.link(link, *cylinder(self.rod, 0.008, self.rod_mass), visuals=looks)
        at = (self.length, sideways, 0.0)
        builder.joint(
            f"{self.name}_knee{which}", "universal", f"{self.name}_crank", link, at, axis=Y, axis2=X, rotation=DOWN
        )
        builder.loop(f"{self.name}_ball{which}", "spherical", link, platform, end, child_xyz=tip)

    def pose(self, tip: Array) -> tuple[float, Array]:
        """Angle of the crank (elbow outwards) and of the knee, for a rod from the middle to a point of the base."""
        d = turned_z(self.azimuth).T @ (tip - self.shoulder)
        L = self.length
        # |d - L (cos q, 0, -sin q)| = rod
        c = (float(d @ d) + L**2 - self.rod**2) / (2.0 * L)
        q = angle_with(f"leg {self.name!r}", float(d[0]), -float(d[2]), c, -1)
        rod = turned_y(q).T @ d - np.array([L, 0.0, 0.0])
        return q, hooke_angles(DOWN.T @ rod)
