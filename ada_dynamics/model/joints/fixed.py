# SPDX-License-Identifier: Apache-2.0
"""The fixed joint (Takahashi 2012, table 2.2)."""

from __future__ import annotations

from collections.abc import Sequence

from ada_dynamics.model.joints.base import JointType, force, moment, unit
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.scalar import Scalar
from ada_dynamics.spatial.transform import Transform


class Fixed(JointType):
    """No motion: T is the unit matrix."""

    kind, nq, nv = "fixed", 0, 0

    def pose(self, q: Sequence[Scalar]) -> Transform:
        """The identity."""
        return Transform()

    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        """Empty."""
        return ()

    def constraint(self, q: Sequence[Scalar]) -> tuple[Force, ...]:
        """T = U."""
        return (*(moment(unit(k)) for k in range(3)), *(force(unit(k)) for k in range(3)))
