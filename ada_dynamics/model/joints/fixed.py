# SPDX-License-Identifier: Apache-2.0
"""Fixed joint (Takahashi 2012, table 2.2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.joints.base import MASS, JointType, first_moment, force, moment, moment_of_inertia, unit
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import Scalar


class Fixed(JointType):
    """A joint without motion: T is the unit matrix."""

    kind, nq, nv = "fixed", 0, 0
    axes = 0
    moves_as = closes_as = kind
    coordinates = rates = ()
    is_even = True

    def pose(self, q: Sequence[Scalar]) -> Transform:
        """Identity."""
        return Transform()

    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        """No motion."""
        return ()

    def constraint(self, q: Sequence[Scalar]) -> tuple[Force, ...]:
        """T = U."""
        return (*(moment(unit(k)) for k in range(3)), *(force(unit(k)) for k in range(3)))

    def unfelt(self) -> list[RigidInertia]:
        """All inertias."""
        turning = [moment_of_inertia(i, j) for i in range(3) for j in range(i, 3)]
        return [MASS, *(first_moment(k) for k in range(3)), *turning]

    def positions_at(self, R: Array, p: Array) -> Array:
        """Empty position."""
        return np.zeros(0)
