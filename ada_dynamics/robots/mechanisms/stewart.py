# SPDX-License-Identifier: Apache-2.0
"""The Gough-Stewart platform: six telescopic legs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.elements import Shape
from ada_dynamics.model.model import STANDARD_GRAVITY
from ada_dynamics.robots.mechanisms.geometry import hooke_angles
from ada_dynamics.robots.mechanisms.parts import Mechanism, X, Y, Z, cylinder, disc, positive, stacked
from ada_dynamics.robots.mechanisms.shapes import DARK, DRIVEN, FRAME, OUTPUT, ROD, ball, bar, pin
from ada_dynamics.spatial.orientation import upper_quaternion
from ada_dynamics.spatial.rotation import from_rpy

LEGS = 6


def stewart(
    base_radius: float = 0.5,
    platform_radius: float = 0.3,
    position: ArrayLike = (0.02, -0.03, 0.7),
    rpy: ArrayLike = (0.05, -0.08, 0.1),
    mass: float = 10.0,
    gravity: Sequence[float] = STANDARD_GRAVITY,
) -> Mechanism:
    """A platform on six legs of a universal, a prismatic and a spherical joint (6-UPS); six motions.

    The platform is a floating link of the tree (joint `platform`); leg i has the joints `leg_i_hip` and `leg_i_slide`,
    which has the motor, and the loop `leg_i_ball`. A slide is zero where the leg is 0.4 m long.

    Args:
        base_radius: of the circle of the hips [m].
        platform_radius: of the circle of the balls [m].
        position: of the platform [m].
        rpy: orientation of the platform [rad].
        mass: of the platform [kg].
        gravity: [m/s²].

    Raises:
        InputError: a radius or the mass is not positive.
    """
    positive(base_radius=base_radius, platform_radius=platform_radius, mass=mass)
    sleeve = 0.4
    anchors = _anchors(base_radius, platform_radius)
    floor, top = _plates(anchors, base_radius, platform_radius)
    builder = Builder("stewart").link("base", visuals=floor)
    builder.link("platform", *disc(platform_radius, 0.04, mass), visuals=top)
    builder.joint("platform", "floating", "base", "platform")
    p: Array = np.asarray(position, dtype=float)
    R: Array = np.array(from_rpy(*np.asarray(rpy, dtype=float).tolist()))
    pose: dict[str, ArrayLike] = {"platform": np.concatenate([p, upper_quaternion(R)])}
    # Drawn sleeve and piston overlap while the leg is between 0.54 and 0.98 m long.
    outer = (bar((0, 0, 0), (0, 0, 0.49), 0.026, DRIVEN), pin((0, 0, 0.48), Z, 0.03, 0.04), ball((0, 0, 0), 0.034))
    inner = (bar((0, 0, -0.1), (0, 0, 0.4), 0.015, ROD), ball((0, 0, 0.4), 0.03))
    for i, (hip, tip) in enumerate(anchors, start=1):
        leg = f"leg_{i}"
        builder.link(f"{leg}_sleeve", *cylinder(0.35, 0.03, 1.5), visuals=outer)
        builder.link(f"{leg}_piston", *cylinder(0.3, 0.015, 0.6), visuals=inner)
        builder.joint(f"{leg}_hip", "universal", "base", f"{leg}_sleeve", hip, axis=Y, axis2=X)
        builder.joint(f"{leg}_slide", "prismatic", f"{leg}_sleeve", f"{leg}_piston", axis=Z)
        builder.loop(
            f"{leg}_ball", "spherical", f"{leg}_piston", "platform", (0.0, 0.0, sleeve), child_xyz=tip
        )  # fmt: skip
        direction = p + R @ tip - hip
        pose[f"{leg}_hip"] = hooke_angles(direction)
        pose[f"{leg}_slide"] = float(np.linalg.norm(direction)) - sleeve
    builder.actuated([f"leg_{i}_slide" for i in range(1, LEGS + 1)])
    model = builder.build(gravity=gravity)
    return Mechanism(model, stacked(model, pose))


def _anchors(base_radius: float, platform_radius: float) -> list[tuple[Array, Array]]:
    """Points of the legs on base and platform: pairs on the base go to different pairs on the platform."""
    base = np.radians([-12.0, 12.0, 108.0, 132.0, 228.0, 252.0])
    platform = np.radians([-48.0, 48.0, 72.0, 168.0, 192.0, 288.0])
    return [(base_radius * _at(a), platform_radius * _at(b)) for a, b in zip(base, platform, strict=True)]


def _plates(anchors: list[tuple[Array, Array]], base: float, platform: float) -> tuple[list[Shape], list[Shape]]:
    """Shapes of base and platform: a plate below the hips, one above the balls, and a bracket for each."""
    floor = [bar((0, 0, -0.08), (0, 0, -0.05), base + 0.07, FRAME)]
    up = np.array([0.0, 0.0, 0.01])
    floor += [bar(hip - 5 * up, hip - up, 0.03, DARK) for hip, _ in anchors]
    top = [bar((0, 0, 0.04), (0, 0, 0.065), platform + 0.05, OUTPUT)]
    return floor, top + [bar(tip + up, tip + 7.5 * up, 0.022, DARK) for _, tip in anchors]


def _at(azimuth: float) -> Array:
    return np.array([math.cos(azimuth), math.sin(azimuth), 0.0])
