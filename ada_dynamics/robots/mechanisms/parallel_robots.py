# SPDX-License-Identifier: Apache-2.0
"""Parallel robots: DELTA, HEXA (6-RUS) and the Gough-Stewart platform (6-UPS)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import radians
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.elements import Limits, Shape
from ada_dynamics.model.rotations import Pose, turned
from ada_dynamics.robots.mechanisms.parts import (
    DARK,
    DRIVEN,
    FRAME,
    OUTPUT,
    ROD,
    Mechanism,
    SolidBody,
    X,
    Y,
    Z,
    angle_with,
    ball,
    bar,
    closed,
    cylinder,
    disc,
    hinged,
    hooke_angles,
    pin,
    positive,
    turned_y,
    turned_z,
)
from ada_dynamics.spatial.orientation import upper_quaternion
from ada_dynamics.spatial.rotation import from_rpy

# A rod points down at zero angles: its frame is that of the crank rotated about x by half a turn.
DOWN = np.diag([1.0, -1.0, -1.0])


class CrankLeg(NamedTuple):
    """Leg of HEXA and DELTA robots: a crank about y of a frame on the base (x outwards), and rods to the platform."""

    name: str
    shoulder: Array  # in the base [m]
    azimuth: float  # of x about z [rad]
    length: float  # of the crank [m]
    rod: float  # [m]
    effort: float = np.inf  # effort limit of the motor [N m]

    def motor(self, side: float, size: float) -> Shape:
        """Shape of the motor at the crank, in the base."""
        turn = turned_z(self.azimuth)
        start, end = (self.shoulder + turned(turn, np.array([0.0, side * y, 0.0])) for y in (0.02, 0.02 + size))
        return bar(start, end, 0.032, DARK)

    def add_crank(self, builder: Builder, base: str, spacing: float = 0.0) -> None:
        """Add the crank with its joint `<name>_crank`; `spacing` is the distance of its two rods [m]."""
        end = (self.length, 0.0, 0.0)
        looks = [bar((0, 0, 0), end, 0.014, DRIVEN), pin((0, 0, 0), Y, 0.028, 0.04, DRIVEN)]
        looks += [pin(end, Y, 0.009, spacing, DRIVEN)] if spacing else []
        solid = cylinder(self.length, 0.02, 0.5, axis=0)
        turn, limits = (0.0, 0.0, self.azimuth), Limits(effort=self.effort)
        hinged(builder, f"{self.name}_crank", base, self.shoulder, solid, visuals=looks, rpy=turn, limits=limits)

    def add_rod(self, builder: Builder, which: str, sideways: float, platform: str, tip: Array) -> None:
        """Add a rod with its joint `<name>_knee`, offset by `sideways` along y, and its loop joint `<name>_ball`."""
        link = f"{self.name}_rod{which}"
        end = (0.0, 0.0, self.rod)
        looks = (bar((0, 0, 0), end, 0.007), ball((0, 0, 0), 0.016), ball(end, 0.014))
        builder.link(link, *cylinder(self.rod, 0.008, 0.1), visuals=looks)
        ends = (f"{self.name}_crank", link, (self.length, sideways, 0.0))
        builder.joint(f"{self.name}_knee{which}", "universal", *ends, axis=Y, axis2=X, rotation=DOWN)
        builder.loop(f"{self.name}_ball{which}", "spherical", link, platform, end, child_xyz=tip)

    def pose(self, tip: Array) -> tuple[float, Array]:
        """Angles of the crank (elbow outwards) and of the knee for a rod that ends at a point of the base frame."""
        d = turned_z(self.azimuth).T @ (tip - self.shoulder)
        L = self.length
        # |d - L (cos q, 0, -sin q)| = rod
        c = (float(d @ d) + L**2 - self.rod**2) / (2.0 * L)
        q = angle_with(f"leg {self.name!r}", float(d[0]), -float(d[2]), c, -1)
        rod = turned_y(q).T @ d - np.array([L, 0.0, 0.0])
        return q, hooke_angles(DOWN.T @ rod)


def _with_platform(
    name: str,
    floor: list[Shape],
    platform: SolidBody,
    looks: list[Shape],
    position: ArrayLike,
    rpy: ArrayLike = (0, 0, 0),
) -> tuple[Builder, Pose, dict[str, ArrayLike]]:
    """Return a robot with a base and a platform that floats in the tree, and the pose of the platform in the base."""
    builder = Builder(name).link("base", visuals=floor).link("platform", *platform, visuals=looks)
    builder.joint("platform", "floating", "base", "platform")
    R: Array = np.array(from_rpy(*np.asarray(rpy, dtype=float).tolist()))
    p = np.asarray(position, dtype=float)
    return builder, (R, p), {"platform": np.concatenate([p, upper_quaternion(R)])}


BASE_RADIUS, PLATE_RADIUS, ROD_SPACING = 0.2, 0.05, 0.1  # [m]


def delta(position: ArrayLike = (0.03, -0.05, -0.6)) -> Mechanism:
    """DELTA robot: a plate translated by three cranks with two parallel rods each; mobility 3.

    A rod has a universal joint at the crank and a spherical one at the plate. The plate is a floating link of the tree
    (joint `platform`); leg i has the joints `leg_i_crank` with the motor, `leg_i_knee_left` and `leg_i_knee_right`, and
    the loop joints `leg_i_ball_left` and `leg_i_ball_right`.

    Args:
        position: position of the plate [m].

    Raises:
        InputError: the legs do not reach the plate.
    """
    azimuths = [2.0 * np.pi / 3.0 * i for i in range(3)]
    turns = [turned_z(azimuth) for azimuth in azimuths]
    arms = [
        CrankLeg(f"leg_{i}", turned(turn, np.array([BASE_RADIUS, 0.0, 0.0])), azimuth, 0.25, 0.5)
        for i, (azimuth, turn) in enumerate(zip(azimuths, turns, strict=True), start=1)
    ]
    ceiling = [pin((0, 0, 0.045), Z, BASE_RADIUS, 0.02, FRAME), *(arm.motor(1.0, 0.08) for arm in arms)]
    # a plate, a shaft for the two balls of each leg, and a flange below
    plate = [pin((0, 0, 0), Z, PLATE_RADIUS, 0.014, OUTPUT), bar((0, 0, 0), (0, 0, -0.04), 0.016)]
    half = np.array([0.0, 0.5 * ROD_SPACING, 0.0])
    for turn in turns:
        middle = np.array([PLATE_RADIUS, 0.0, 0.0])
        plate.append(bar(turned(turn, middle + half), turned(turn, middle - half), 0.009, OUTPUT))
    builder, (_, p), pose = _with_platform("delta", ceiling, disc(0.06, 0.01, 0.3), plate, position)
    for arm, turn in zip(arms, turns, strict=True):
        arm.add_crank(builder, "base", ROD_SPACING)
        angle, knee = arm.pose(p + turned(turn, np.array([PLATE_RADIUS, 0.0, 0.0])))
        pose[f"{arm.name}_crank"] = angle
        for which, sideways in (("_left", 0.5 * ROD_SPACING), ("_right", -0.5 * ROD_SPACING)):
            tip = turned(turn, np.array([PLATE_RADIUS, sideways, 0.0]))
            arm.add_rod(builder, which, sideways, "platform", tip)
            pose[f"{arm.name}_knee{which}"] = knee
    return closed(builder.actuated([f"{arm.name}_crank" for arm in arms]), pose)


LEGS = 6


@dataclass(frozen=True)
class HexaGeometry:
    """Dimensions of a HEXA: six legs in three pairs at 0, 120 and 240 deg about z.

    Attributes:
        base: radius of the circle with the midpoints of the pairs of motors [m].
        spacing: distance of a motor from the midpoint of its pair [m].
        crank: length of the cranks [m].
        rod: length of the rods [m].
        plate: radius of the circle with the balls on the plate [m].
        spread: angle on that circle between a ball and the midpoint of its pair [rad].
    """

    base: float = 0.25
    spacing: float = 0.08
    crank: float = 0.25
    rod: float = 0.55
    plate: float = 0.1
    spread: float = radians(50.0)

    def __post_init__(self) -> None:
        """Raise InputError unless all lengths are positive."""
        positive(base=self.base, spacing=self.spacing, crank=self.crank, rod=self.rod, plate=self.plate)

    def azimuth(self, leg: int) -> float:
        """Azimuth of the outward direction of a leg's crank, legs 0 to 5 [rad]."""
        return 2.0 * np.pi / 3.0 * (leg // 2)

    def shoulder(self, leg: int) -> Array:
        """Position of a leg's motor in the base [m]."""
        return turned(turned_z(self.azimuth(leg)), np.array([self.base, self.spacing * _side(leg), 0.0]))

    def ball(self, leg: int) -> Array:
        """Position of the end of a leg's rod in the plate [m]."""
        azimuth = self.azimuth(leg) + self.spread * _side(leg)
        return turned(turned_z(azimuth), np.array([self.plate, 0.0, 0.0]))


def _side(leg: int) -> float:
    return (-1.0, 1.0)[leg % 2]


def hexa(
    position: ArrayLike = (0.02, -0.01, -0.52),
    rpy: ArrayLike = (0.05, -0.03, 0.04),
    mass: float = 0.5,
    geometry: HexaGeometry | None = None,
) -> Mechanism:
    """HEXA robot: a plate below the base on six legs of a crank, a universal and a spherical joint (6-RUS); mobility 6.

    The plate is a floating link of the tree (joint `platform`); leg i has the joints `leg_i_crank` with the motor and
    `leg_i_knee`, and the loop joint `leg_i_ball`.

    The dimensions of HEXA97 (Tarao et al., figs. 6 and 7) are not published. The default ones give a well conditioned
    workspace: the condition number of the scaled Jacobian is about 2.3 at (0, 0, -0.5) m and below 7 within 0.15 m of
    the axis at z = -0.55 ± 0.05 m and tilts up to 15 deg. Cranks of 0.5 kg, rods of 0.1 kg and motors of 20 N m are
    assumptions.

    Args:
        position: position of the plate [m].
        rpy: orientation of the plate [rad].
        mass: mass of the plate [kg].
        geometry: dimensions; the default is `HexaGeometry()`.

    Raises:
        InputError: the legs do not reach the plate.
    """
    of = geometry or HexaGeometry()
    legs = range(LEGS)
    arms = [CrankLeg(f"leg_{i + 1}", of.shoulder(i), of.azimuth(i), of.crank, of.rod, effort=20.0) for i in legs]
    motors = [arm.motor(-_side(i), max(0.6 * of.spacing, 0.01)) for i, arm in enumerate(arms)]
    ceiling = [pin((0, 0, 0.045), Z, of.base, 0.02, FRAME), *motors]
    # a plate with an arm to each ball, and a flange below
    plate = [pin((0, 0, 0), Z, 0.75 * of.plate, 0.016, OUTPUT), bar((0, 0, 0), (0, 0, -0.05), 0.02)]
    plate += [bar(0.6 * of.ball(i), of.ball(i), 0.009, OUTPUT) for i in legs]
    builder, (R, p), pose = _with_platform("hexa", ceiling, disc(of.plate, 0.02, mass), plate, position, rpy)
    for i, arm in enumerate(arms):
        arm.add_crank(builder, "base")
        arm.add_rod(builder, "", 0.0, "platform", of.ball(i))
        pose[f"{arm.name}_crank"], pose[f"{arm.name}_knee"] = arm.pose(p + R @ of.ball(i))
    return closed(builder.actuated([f"{arm.name}_crank" for arm in arms]), pose)


def stewart(position: ArrayLike = (0.02, -0.03, 0.7), rpy: ArrayLike = (0.05, -0.08, 0.1)) -> Mechanism:
    """Gough-Stewart platform on six legs of a universal, a prismatic and a spherical joint (6-UPS); mobility 6.

    The platform is a floating link of the tree (joint `platform`); leg i has the joints `leg_i_hip` and `leg_i_slide`
    with the motor, and the loop joint `leg_i_ball`. At slide position 0 the leg is 0.4 m long.

    Args:
        position: position of the platform [m].
        rpy: orientation of the platform [rad].
    """
    base_radius, platform_radius, mass, sleeve = 0.5, 0.3, 10.0, 0.4  # of the hips, of the balls [m]; [kg]; [m]
    # pairs on the base split between pairs on the platform
    hips = [base_radius * _radial(azimuth) for azimuth in np.radians([-12.0, 12.0, 108.0, 132.0, 228.0, 252.0])]
    tips = [platform_radius * _radial(azimuth) for azimuth in np.radians([-48.0, 48.0, 72.0, 168.0, 192.0, 288.0])]
    # a plate below the hips, one above the balls, and a bracket for each
    up = np.array([0.0, 0.0, 0.01])
    floor = [bar((0, 0, -0.08), (0, 0, -0.05), base_radius + 0.07, FRAME)]
    floor += [bar(hip - 5 * up, hip - up, 0.03, DARK) for hip in hips]
    top = [bar((0, 0, 0.04), (0, 0, 0.065), platform_radius + 0.05, OUTPUT)]
    top += [bar(tip + up, tip + 7.5 * up, 0.022, DARK) for tip in tips]
    solid = disc(platform_radius, 0.04, mass)
    builder, (R, p), pose = _with_platform("stewart", floor, solid, top, position, rpy)
    # The shapes of sleeve and piston overlap for leg lengths of 0.54 to 0.98 m.
    outer = (bar((0, 0, 0), (0, 0, 0.49), 0.026, DRIVEN), pin((0, 0, 0.48), Z, 0.03, 0.04), ball((0, 0, 0), 0.034))
    inner = (bar((0, 0, -0.1), (0, 0, 0.4), 0.015, ROD), ball((0, 0, 0.4), 0.03))
    for i, (hip, tip) in enumerate(zip(hips, tips, strict=True), start=1):
        leg = f"leg_{i}"
        builder.link(f"{leg}_sleeve", *cylinder(0.35, 0.03, 1.5), visuals=outer)
        builder.link(f"{leg}_piston", *cylinder(0.3, 0.015, 0.6), visuals=inner)
        builder.joint(f"{leg}_hip", "universal", "base", f"{leg}_sleeve", hip, axis=Y, axis2=X)
        builder.joint(f"{leg}_slide", "prismatic", f"{leg}_sleeve", f"{leg}_piston", axis=Z)
        ends = (f"{leg}_piston", "platform", (0.0, 0.0, sleeve))
        builder.loop(f"{leg}_ball", "spherical", *ends, child_xyz=tip)
        direction = p + R @ tip - hip
        pose[f"{leg}_hip"] = hooke_angles(direction)
        pose[f"{leg}_slide"] = float(np.linalg.norm(direction)) - sleeve
    return closed(builder.actuated([f"leg_{i}_slide" for i in range(1, LEGS + 1)]), pose)


def _radial(azimuth: float) -> Array:
    return np.array([math.cos(azimuth), math.sin(azimuth), 0.0])
