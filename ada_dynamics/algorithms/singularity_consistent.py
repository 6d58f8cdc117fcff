# SPDX-License-Identifier: Apache-2.0
"""Rates of Euler angles by the singularity-consistent method (Takahashi 2012, sec. 3.4.2; Nenchev et al. 2000).

θ̇ = S⁻¹ ω divides by det S, which vanishes in gimbal lock. The method follows the same path by a parameter s of its own,

    dθ/ds = adj(S) ω,    dt/ds = det S,

where nothing is divided: near the lock time slows down, the angles do not become fast. In the lock itself time stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ada_dynamics import expr
from ada_dynamics.model.joints import SphericalEuler
from ada_dynamics.spatial.vector import Scalar, Vec3, cross

_JOINT = SphericalEuler()


class ConsistentRates(NamedTuple):
    """Of one joint, by the parameter s."""

    angles: tuple[Scalar, Scalar, Scalar]  # dθ/ds
    time: Scalar  # dt/ds, never negative


def consistent_rates(q: Sequence[Scalar], w: Sequence[Scalar]) -> ConsistentRates:
    """Rates of z-y-z Euler angles at an angular velocity.

    Args:
        q: the angles.
        w: angular velocity in the child's frame.
    """
    a, b, c = (column.angular for column in _JOINT.subspace(q))
    turning = Vec3(*w)
    determinant = a @ cross(b, c)
    side = expr.select(determinant, 0.0, -1.0, 1.0)
    first, second, third = (side * (row @ turning) for row in (cross(b, c), cross(c, a), cross(a, b)))
    return ConsistentRates((first, second, third), side * determinant)
