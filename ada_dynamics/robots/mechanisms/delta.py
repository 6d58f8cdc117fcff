# SPDX-License-Identifier: Apache-2.0
"""The DELTA robot: three cranks with a parallelogram of two rods each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.model.builder import Builder
from ada_dynamics.model.model import STANDARD_GRAVITY
from ada_dynamics.model.small import turned
from ada_dynamics.robots.mechanisms.arms import Arm
from ada_dynamics.robots.mechanisms.geometry import turned_z
from ada_dynamics.robots.mechanisms.parts import Mechanism, disc, stacked

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
    builder = Builder("delta").link("base").link("platform", *disc(0.06, 0.01, mass))
    builder.joint("platform", "floating", "base", "platform")
    p = np.asarray(position, dtype=float)
    pose: dict[str, ArrayLike] = {"platform": [*p, 0.0, 0.0, 0.0, 1.0]}
    for i in range(3):
        azimuth = 2.0 * np.pi / 3.0 * i
        turn = turned_z(azimuth)
        arm = Arm(f"leg_{i + 1}", turned(turn, np.array([BASE_RADIUS, 0.0, 0.0])), azimuth, 0.25, 0.5)
        arm.add_crank(builder, "base")
        angle, knee = arm.pose(p + turned(turn, np.array([PLATE_RADIUS, 0.0, 0.0])))
        pose[f"{arm.name}_crank"] = angle
        for which, sideways in (("_left", 0.5 * ROD_SPACING), ("_right", -0.5 * ROD_SPACING)):
            ball = turned(turn, np.array([PLATE_RADIUS, sideways, 0.0]))
            arm.add_rod(builder, which, sideways, "platform", ball)
            pose[f"{arm.name}_knee{which}"] = knee
    builder.actuated([f"leg_{i}_crank" for i in range(1, 4)])
    model = builder.build(gravity=gravity)
    return Mechanism(model, stacked(model, pose))
