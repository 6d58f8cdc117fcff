# SPDX-License-Identifier: Apache-2.0
"""Forces on the HEXA's plate and torques of its motors: its own weight, and how stiff its servos hold the plate.

τ = Jᵀ F (Tarao et al., eq. 13), with J of δp = J δθ. With motors like springs of K_p, F = J⁻ᵀ K_p J⁻¹ δp (eq. 15).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.jit.compiled import compiled
from ada_dynamics.model.model import Model
from ada_dynamics.robots.mechanisms.hexa import LEGS, HexaGeometry
from ada_dynamics.spatial import vec3 as v3
from ada_dynamics.spatial.scalar import Scalar, Vec3
from ada_hardware.hexa.kinematics import Jacobians
from ada_hardware.hexa.kinematics_law import crank_of, legs_of, rods_law, rotation_of, solve


class Masses(NamedTuple):
    """What the table weighs.

    Attributes:
        plate: with all that is mounted on it, its centre of mass in the plate's origin [kg].
        crank: of one [kg].
        crank_arm: of its centre of mass from the motor's axis [m].
        rod: of one, half of it felt at either end [kg].
        gravity: in the base [m/s²].
    """

    plate: float
    crank: float
    crank_arm: float
    rod: float
    gravity: Vec3

    @classmethod
    def of(cls, model: Model) -> Masses:
        """Of a model that `hexa` built.

        Raises:
            InputError: its parts are not where they are in that one.
        """
        crank, rod, plate = model.links["leg_1_crank"], model.links["leg_1_rod"], model.links["platform"]
        length = float(np.linalg.norm(model.loops["leg_1_ball"].parent_xyz))
        is_ours = np.allclose(plate.com, 0.0) and np.allclose(np.asarray(rod.com), (0.0, 0.0, 0.5 * length))
        if not is_ours or not np.allclose(np.asarray(crank.com)[1:], 0.0):
            raise InputError(f"model {model.name!r} has its centres of mass elsewhere than the catalogue's hexa.")
        x, y, z = (float(g) for g in model.gravity)
        return cls(float(plate.mass), float(crank.mass), float(crank.com[0]), float(rod.mass), (x, y, z))


def weight_law(
    geometry: HexaGeometry, masses: Masses, pose: Sequence[Scalar], q: Sequence[Scalar]
) -> dict[str, list[Scalar]]:
    """Torques of the motors that carry the weight of all parts.

    A rod with its mass in its middle weighs on both its ends alike. So a motor carries its crank and half of its rod
    directly, and by Jᵀ = J_q J_x⁻ᵀ its share of the plate with the other halves.
    """
    at = rods_law(geometry, pose, q)
    half: Vec3 = v3.scale(0.5 * masses.rod, masses.gravity)
    moment: Vec3 = (0.0, 0.0, 0.0)
    own = []
    for leg, angle in zip(legs_of(geometry), q, strict=True):
        _, tangent = crank_of(leg, angle)
        arm = masses.crank * masses.crank_arm + 0.5 * masses.rod * geometry.crank
        own.append(arm * v3.dot(tangent, masses.gravity))
        ball = v3.mat_vec(rotation_of(pose), leg.ball)
        moment = v3.add(moment, v3.cross(ball, half))
    force = v3.scale(masses.plate + 0.5 * LEGS * masses.rod, masses.gravity)
    rows = at["rows"]
    along = solve([[rows[i][j] for i in range(LEGS)] for j in range(LEGS)], [*force, *moment])
    return {"tau": [-(a + m * x) for a, m, x in zip(own, at["motors"], along, strict=True)]}


@lru_cache(maxsize=32)
def weight_torques(geometry: HexaGeometry, masses: Masses) -> Callable[[Array, Array], Array]:
    """`weight_law` of a table, compiled: called with a pose in rows (16 numbers) and crank angles."""
    call: Any = compiled("hexa_weight", {"pose": 16, "q": LEGS}, partial(weight_law, geometry, masses))
    return lambda pose, q: np.asarray(call(pose, q))


# --- stiffness ------------------------------------------------------------------------------------------------------
def plate_stiffness(jacobians: Jacobians, kp: ArrayLike) -> Array:
    """J⁻ᵀ K_p J⁻¹ of eq. 15: [f; n] on the plate per [δp; δφ], base axes, with motors like springs.

    Args:
        jacobians: at the pose.
        kp: stiffness of the motors, of all or of each [N m/rad].

    Raises:
        SingularPose: a motor cannot move the plate.
        InputError: a stiffness that is none.
    """
    back = jacobians.inverse
    return np.asarray(back.T @ (_each("kp", kp)[:, None] * back))


def plate_compliance(jacobians: Jacobians, kp: ArrayLike) -> Array:
    """J K_p⁻¹ Jᵀ, the inverse of `plate_stiffness`: how far the plate gives way to [f; n].

    Raises:
        SingularPose: the motors do not hold the plate.
        InputError: a stiffness that is none.
    """
    J = jacobians.forward
    return np.asarray(J @ (J.T / _each("kp", kp)[:, None]))


def stiffness_at(
    jacobians: Jacobians, kp: ArrayLike, direction: ArrayLike, point: ArrayLike = (0.0, 0.0, 0.0)
) -> float:
    """Force per displacement of a touch without friction [N/m]: the plate gives way in all six directions.

    Args:
        jacobians: at the pose.
        kp: stiffness of the motors [N m/rad].
        direction: in which the force acts, base axes.
        point: where, from the plate's origin in base axes [m].
    """
    n = np.asarray(direction, dtype=np.float64)
    n = n / np.linalg.norm(n)
    wrench = np.concatenate([n, np.cross(np.asarray(point, dtype=np.float64), n)])
    return 1.0 / float(wrench @ plate_compliance(jacobians, kp) @ wrench)


def _each(name: str, value: ArrayLike) -> Array:
    numbers = np.asarray(value, dtype=np.float64)
    if numbers.shape not in ((), (LEGS,)) or not (np.isfinite(numbers) & (numbers > 0.0)).all():
        raise InputError(f"HEXA: {name} is {value!r:.100}; give one positive number, or {LEGS} [N m/rad].")
    return np.array(np.broadcast_to(numbers, (LEGS,)))
