# SPDX-License-Identifier: Apache-2.0
"""Prismatic joint."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.joints.base import ALONE, AxisJoint, force, moment, moment_of_inertia, sliding, unit
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.rotation import IDENTITY
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import Scalar


class Prismatic(AxisJoint):
    """Translation along coordinate axis k: q is the distance [m]."""

    kind, nq, nv = "prismatic", 1, 1
    moves_as = closes_as = kind
    coordinates = rates = (ALONE["m"],)
    can_have_spring = True

    def pose(self, q: Sequence[Scalar]) -> Transform:
        """Translation by q e_k."""
        return Transform(IDENTITY, q[0] * unit(self.k))

    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        """S = [0; e_k]."""
        return (sliding(unit(self.k)),)

    def constraint(self, q: Sequence[Scalar]) -> tuple[Force, ...]:
        """All moments and the forces along both other axes."""
        a, b = self.across
        return (*(moment(unit(i)) for i in range(3)), force(unit(a)), force(unit(b)))

    def unfelt(self) -> list[RigidInertia]:
        """Any rotational inertia."""
        return [moment_of_inertia(i, j) for i in range(3) for j in range(i, 3)]

    def positions_at(self, R: Array, p: Array) -> Array:
        """Distance along the axis."""
        return np.array([p[self.k]])
