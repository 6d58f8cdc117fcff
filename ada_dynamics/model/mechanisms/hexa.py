# SPDX-License-Identifier: Apache-2.0
"""The HEXA robot: six cranks and rods, as in the motion table of Tarao et al., fig. 7."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.model.builder import Builder
from ada_dynamics.model.edit.poses import quaternion
from ada_dynamics.model.mechanisms.arms import Arm
from ada_dynamics.model.mechanisms.geometry import turned_z
from ada_dynamics.model.mechanisms.parts import Mechanism, disc, stacked
from ada_dynamics.model.model import STANDARD_GRAVITY
from ada_dynamics.spatial.rotation import from_rpy

Array = NDArray[np.float64]


def hexa(
    position: ArrayLike = (0.02, -0.01, -0.52),
    rpy: ArrayLike = (0.05, -0.03, 0.04),
    mass: float = 0.5,
    gravity: Sequence[float] = STANDARD_GRAVITY,
) -> Mechanism:
    """A plate on six legs of a crank, a universal and a spherical joint (6-RUS), hanging below the base; six motions.

    Three pairs of motors on a circle of 0.25 m, cranks of 0.25 m, rods of 0.55 m, a plate of 0.1 m. The plate is a
    floating link of the tree (joint `platform`); leg i has the joints `leg_i_crank`, which has the motor, and
    `leg_i_knee`, and the loop `leg_i_ball`.

    The dimensions of HEXA97 itself (Tarao et al., figs. 6 and 7) are not published. These are a design of our own for
    a well conditioned workspace: condition of the scaled Jacobian about 2.3 at (0, 0, -0.5) m, below 7 within 0.15 m of
    the axis at z = -0.55 ± 0.05 m and tilts of 15 deg. Cranks of 0.5 kg, rods of 0.1 kg and motors of 20 N m are
    assumptions as well.

    Args:
        position: of the plate [m].
        rpy: orientation of the plate [rad].
        mass: of the plate [kg].
        gravity: [m/s²].

    Raises:
        InputError: the plate is out of the legs' reach.
    """
    builder = Builder("hexa").link("base").link("platform", *disc(0.1, 0.02, mass))
    builder.joint("platform", "floating", "base", "platform")
    p: Array = np.asarray(position, dtype=float)
    R: Array = np.array(from_rpy(*np.asarray(rpy, dtype=float).tolist()))
    pose: dict[str, ArrayLike] = {"platform": np.concatenate([p, quaternion(R)])}
    for i in range(6):
        azimuth, side = 2.0 * np.pi / 3.0 * (i // 2), (-1.0, 1.0)[i % 2]
        shoulder = turned_z(azimuth) @ np.array([0.25, 0.08 * side, 0.0])
        ball = turned_z(azimuth + np.radians(50.0) * side) @ np.array([0.1, 0.0, 0.0])
        arm = Arm(f"leg_{i + 1}", shoulder, azimuth, 0.25, 0.55, effort=20.0)
        arm.add_crank(builder, "base")
        arm.add_rod(builder, "", 0.0, "platform", ball)
        pose[f"{arm.name}_crank"], pose[f"{arm.name}_knee"] = arm.pose(p + R @ ball)
    builder.actuated([f"leg_{i}_crank" for i in range(1, 7)])
    model = builder.build(gravity=gravity)
    return Mechanism(model, stacked(model, pose))
