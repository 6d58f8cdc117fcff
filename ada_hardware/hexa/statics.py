# SPDX-License-Identifier: Apache-2.0
"""Weight compensation torques of the HEXA: τ = Jᵀ F (Tarao et al., eq. 13), δp = J δθ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.jit.compiled import compiled
from ada_dynamics.model.model import Model
from ada_dynamics.robots.mechanisms.parallel_robots import LEGS, HexaGeometry
from ada_dynamics.spatial.vector import ZERO3, Scalar, Vec3, cross
from ada_hardware.hexa.kinematics_law import crank_of, legs_of, rods_law, rotation_of, solve


class Masses(NamedTuple):
    """Masses of the table.

    Attributes:
        plate: plate and everything mounted on it, centre of mass at the plate origin [kg].
        crank: one crank [kg].
        crank_arm: distance of the crank's centre of mass from the motor axis [m].
        rod: one rod; half of it acts at either end [kg].
        gravity: gravity in the base frame [m/s²].
    """

    plate: float
    crank: float
    crank_arm: float
    rod: float
    gravity: Vec3

    @classmethod
    def of(cls, model: Model) -> Masses:
        """Read the masses of a model built by `hexa`.

        Raises:
            InputError: the centres of mass differ from those of that model.
        """
        crank, rod, plate = model.links["leg_1_crank"], model.links["leg_1_rod"], model.links["platform"]
        length = float(np.linalg.norm(model.loops["leg_1_ball"].parent_xyz))
        is_ours = np.allclose(plate.com, 0.0) and np.allclose(np.asarray(rod.com), (0.0, 0.0, 0.5 * length))
        if not is_ours or not np.allclose(np.asarray(crank.com)[1:], 0.0):
            text = f"model {model.name!r} has other centres of mass than the catalogue's hexa."
            raise InputError(text, field="model", value=model.name)
        return cls(
            float(plate.mass), float(crank.mass), float(crank.com[0]), float(rod.mass), Vec3(*map(float, model.gravity))
        )


def weight_law(
    geometry: HexaGeometry, masses: Masses, pose: Sequence[Scalar], q: Sequence[Scalar]
) -> dict[str, list[Scalar]]:
    """Motor torques that compensate the weight of all parts.

    Half of a rod's weight acts at either end, since its centre of mass is in its middle. A motor carries its crank and
    half of its rod directly, and by Jᵀ = J_q J_x⁻ᵀ its part of the plate and the other halves.
    """
    at = rods_law(geometry, pose, q)
    half: Vec3 = 0.5 * masses.rod * masses.gravity
    moment = ZERO3
    own = []
    for leg, angle in zip(legs_of(geometry), q, strict=True):
        _, tangent = crank_of(leg, angle)
        arm = masses.crank * masses.crank_arm + 0.5 * masses.rod * geometry.crank
        own.append(arm * (tangent @ masses.gravity))
        ball = rotation_of(pose) @ leg.ball
        moment = moment + cross(ball, half)
    force = (masses.plate + 0.5 * LEGS * masses.rod) * masses.gravity
    rows = at["rows"]
    along = solve([[rows[i][j] for i in range(LEGS)] for j in range(LEGS)], [*force, *moment])
    return {"tau": [-(a + m * x) for a, m, x in zip(own, at["motors"], along, strict=True)]}


@lru_cache(maxsize=32)
def weight_torques(geometry: HexaGeometry, masses: Masses) -> Callable[[Array, Array], Array]:
    """Compile `weight_law`: a function of a row-major pose (16 numbers) and crank angles."""
    call: Any = compiled("hexa_weight", {"pose": 16, "q": LEGS}, partial(weight_law, geometry, masses))
    return lambda pose, q: np.asarray(call(pose, q))
