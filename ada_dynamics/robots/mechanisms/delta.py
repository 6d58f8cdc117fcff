# SPDX-License-Identifier: Apache-2.0
"""The DELTA robot: three cranks with a parallelogram of two rods each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.elements import Shape
from ada_dynamics.model.model import STANDARD_GRAVITY
from ada_dynamics.model.rotations import turned
from ada_dynamics.robots.mechanisms.arms import Arm
from ada_dynamics.robots.mechanisms.geometry import turned_z
from ada_dynamics.robots.mechanisms.parts import Mechanism, Z, disc, stacked
from ada_dynamics.robots.mechanisms.shapes import FRAME, OUTPUT, bar, pin

BASE_RADIUS, PLATE_RADIUS, ROD_SPACING = 0.2, 0.05, 0.1  # [m]


def delta(
    position: ArrayLike = (0.03, -0.05, -0.6),
    mass: float = 0.3,
    gravity: Sequence[float] = STANDARD_GRAVITY,
) -> Mechanism:
    """A plate that three cranks move without turning it: each carries two parallel rods; three motions.

    A rod has a universal joint on the crank and a spherical one on the plate. The plate is a floating link of the tree
    (joint `platform`); leg i has the joints `leg_i_crank`, which has the motor, `leg_i_knee_left` and
    `leg_i_knee_right`, and the loops `leg_i_ball_left` and `leg_i_ball_right`.

    Args:
        position: of the plate [m].
        mass: of the plate [kg].
        gravity: [m/s²].

    Raises:
        InputError: the plate is out of the legs' reach.
    """
    azimuths = [2.0 * np.pi / 3.0 * i for i in range(3)]
    turns = [turned_z(azimuth) for azimuth in azimuths]
    arms = [
        Arm(f"leg_{i}", turned(turn, np.array([BASE_RADIUS, 0.0, 0.0])), azimuth, 0.25, 0.5)
        for i, (azimuth, turn) in enumerate(zip(azimuths, turns, strict=True), start=1)
    ]
    ceiling = [pin((0, 0, 0.045), Z, BASE_RADIUS, 0.02, FRAME), *(arm.motor(1.0, 0.08) for arm in arms)]
    builder = Builder("delta").link("base", visuals=ceiling)
    builder.link("platform", *disc(0.06, 0.01, mass), visuals=_plate(turns))
    builder.joint("platform", "floating", "base", "platform")
    p = np.asarray(position, dtype=float)
    pose: dict[str, ArrayLike] = {"platform": [*p, 0.0, 0.0, 0.0, 1.0]}
    for arm, turn in zip(arms, turns, strict=True):
        arm.add_crank(builder, "base", ROD_SPACING)
        angle, knee = arm.pose(p + turned(turn, np.array([PLATE_RADIUS, 0.0, 0.0])))
        pose[f"{arm.name}_crank"] = angle
        for which, sideways in (("_left", 0.5 * ROD_SPACING), ("_right", -0.5 * ROD_SPACING)):
            tip = turned(turn, np.array([PLATE_RADIUS, sideways, 0.0]))
            arm.add_rod(builder, which, sideways, "platform", tip)
            pose[f"{arm.name}_knee{which}"] = knee
    builder.actuated([f"leg_{i}_crank" for i in range(1, 4)])
    model = builder.build(gravity=gravity)
    return Mechanism(model, stacked(model, pose))


def _plate(turns: list[Array]) -> list[Shape]:
    """Shapes of the platform: a plate with a shaft for the two balls of each leg, and a flange below."""
    shapes = [pin((0, 0, 0), Z, PLATE_RADIUS, 0.014, OUTPUT), bar((0, 0, 0), (0, 0, -0.04), 0.016)]
    for turn in turns:
        left, right = (turned(turn, np.array([PLATE_RADIUS, y, 0.0])) for y in (0.5 * ROD_SPACING, -0.5 * ROD_SPACING))
        shapes.append(bar(left, right, 0.009, OUTPUT))
    return shapes
