# SPDX-License-Identifier: Apache-2.0
"""The prismatic joint."""

from __future__ import annotations

from collections.abc import Sequence

from ada_dynamics.model.joints.base import JointType, force, moment, sliding, unit
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.rotation import IDENTITY
from ada_dynamics.spatial.scalar import Scalar
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vec3 import scale


class Prismatic(JointType):
    """One slide along coordinate axis k: q is the distance [m]."""

    kind, nq, nv = "prismatic", 1, 1

    def __init__(self, k: int) -> None:
        self.k = k

    def pose(self, q: Sequence[Scalar]) -> Transform:
        """Translation by q e_k."""
        return Transform(IDENTITY, scale(q[0], unit(self.k)))

    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        """S = [0; e_k]."""
        return (sliding(unit(self.k)),)

    def constraint(self, q: Sequence[Scalar]) -> tuple[Force, ...]:
        """All moments and the two other forces."""
        a, b = (self.k + 1) % 3, (self.k + 2) % 3
        return (*(moment(unit(i)) for i in range(3)), force(unit(a)), force(unit(b)))
