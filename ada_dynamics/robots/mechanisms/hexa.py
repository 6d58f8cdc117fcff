# SPDX-License-Identifier: Apache-2.0
"""The HEXA robot: six cranks and rods, as in the motion table of Tarao et al., fig. 7."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import radians

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.elements import Shape
from ada_dynamics.model.model import STANDARD_GRAVITY
from ada_dynamics.model.rotations import turned
from ada_dynamics.robots.mechanisms.arms import Arm
from ada_dynamics.robots.mechanisms.geometry import turned_z
from ada_dynamics.robots.mechanisms.parts import Mechanism, Z, disc, positive, stacked
from ada_dynamics.robots.mechanisms.shapes import FRAME, OUTPUT, bar, pin
from ada_dynamics.spatial.orientation import upper_quaternion
from ada_dynamics.spatial.rotation import from_rpy

LEGS = 6


@dataclass(frozen=True)
class HexaGeometry:
    """Where the joints of a HEXA are: six legs in three pairs, the pairs at 0, 120 and 240 deg about z.

    Attributes:
        base: radius of the circle with the middles of the pairs of motors [m].
        spacing: of a motor from its pair's middle [m].
        crank: length [m].
        rod: length [m].
        plate: radius of the circle with the balls on the plate [m].
        spread: angle on that circle of a ball from its pair's middle [rad].
    """

    base: float = 0.25
    spacing: float = 0.08
    crank: float = 0.25
    rod: float = 0.55
    plate: float = 0.1
    spread: float = radians(50.0)

    def __post_init__(self) -> None:
        """Refuse lengths that are not positive."""
        positive(base=self.base, spacing=self.spacing, crank=self.crank, rod=self.rod, plate=self.plate)

    def azimuth(self, leg: int) -> float:
        """Direction outwards of a leg's crank about z, of legs 0 to 5 [rad]."""
        return 2.0 * np.pi / 3.0 * (leg // 2)

    def shoulder(self, leg: int) -> Array:
        """Where the motor of a leg is, in the base [m]."""
        return turned(turned_z(self.azimuth(leg)), np.array([self.base, self.spacing * _side(leg), 0.0]))

    def ball(self, leg: int) -> Array:
        """Where the rod of a leg ends, in the plate [m]."""
        return np.asarray(
            turned(turned_z(self.azimuth(leg) + self.spread * _side(leg)), np.array([self.plate, 0.0, 0.0]))
        )


def _side(leg: int) -> float:
    return (-1.0, 1.0)[leg % 2]


def hexa(
    position: ArrayLike = (0.02, -0.01, -0.52),
    rpy: ArrayLike = (0.05, -0.03, 0.04),
    mass: float = 0.5,
    gravity: Sequence[float] = STANDARD_GRAVITY,
    geometry: HexaGeometry | None = None,
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
        geometry: other dimensions.

    Raises:
        InputError: the plate is out of the legs' reach.
    """
    of = geometry or HexaGeometry()
    legs = range(LEGS)
    arms = [Arm(f"leg_{i + 1}", of.shoulder(i), of.azimuth(i), of.crank, of.rod, effort=20.0) for i in legs]
    motors = [arm.motor(-_side(i), max(0.6 * of.spacing, 0.01)) for i, arm in enumerate(arms)]
    builder = Builder("hexa").link("base", visuals=[pin((0, 0, 0.045), Z, of.base, 0.02, FRAME), *motors])
    builder.link("platform", *disc(of.plate, 0.02, mass), visuals=_plate(of))
    builder.joint("platform", "floating", "base", "platform")
    p: Array = np.asarray(position, dtype=float)
    R: Array = np.array(from_rpy(*np.asarray(rpy, dtype=float).tolist()))
    pose: dict[str, ArrayLike] = {"platform": np.concatenate([p, upper_quaternion(R)])}
    for i, arm in enumerate(arms):
        arm.add_crank(builder, "base")
        arm.add_rod(builder, "", 0.0, "platform", of.ball(i))
        pose[f"{arm.name}_crank"], pose[f"{arm.name}_knee"] = arm.pose(p + R @ of.ball(i))
    builder.actuated([f"leg_{i}_crank" for i in range(1, 7)])
    model = builder.build(gravity=gravity)
    return Mechanism(model, stacked(model, pose))


def _plate(of: HexaGeometry) -> list[Shape]:
    """Shapes of the platform: a plate with an arm to each ball, and a flange below."""
    shapes = [pin((0, 0, 0), Z, 0.75 * of.plate, 0.016, OUTPUT), bar((0, 0, 0), (0, 0, -0.05), 0.02)]
    return shapes + [bar(0.6 * of.ball(i), of.ball(i), 0.009, OUTPUT) for i in range(LEGS)]
