# SPDX-License-Identifier: Apache-2.0
"""Coordinate transforms of motion and force vectors (Takahashi 2012, eqs. A.9-A.19)."""

from __future__ import annotations

from dataclasses import dataclass

from ada_dynamics.spatial import vec3 as v3
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.rotation import IDENTITY, MatrixRotation, Product, Rotation
from ada_dynamics.spatial.scalar import ZERO3, Scalar, Vec3


@dataclass(frozen=True)
class Transform:
    """Pose of a frame B in a frame A: rotation ᴬR_B and position of B's origin in A's coordinates."""

    rotation: Rotation = IDENTITY
    position: Vec3 = ZERO3

    # --- points -------------------------------------------------------------------------------------------------
    def point_up(self, x: Vec3) -> Vec3:
        """Coordinates in A of a point given in B."""
        return v3.add(self.position, self.rotation.up(x))

    # --- spatial vectors ----------------------------------------------------------------------------------------
    def motion_down(self, m: Motion) -> Motion:
        """ᴮX_A m: from A at A's origin to B at B's origin (eq. A.14)."""
        angular, linear = m.at(self.position)
        return Motion(self.rotation.down(angular), self.rotation.down(linear))

    def motion_up(self, m: Motion) -> Motion:
        """ᴬX_B m (eq. A.16)."""
        angular, linear = self.rotation.up(m.angular), self.rotation.up(m.linear)
        return Motion(angular, v3.add(linear, v3.cross(self.position, angular)))

    def force_down(self, f: Force) -> Force:
        """ᴮX*_A f (eq. A.15)."""
        moment, force = f.at(self.position)
        return Force(self.rotation.down(moment), self.rotation.down(force))

    def force_up(self, f: Force) -> Force:
        """ᴬX*_B f (eq. A.17)."""
        moment, force = self.rotation.up(f.moment), self.rotation.up(f.force)
        return Force(v3.add(moment, v3.cross(self.position, force)), force)

    # --- group --------------------------------------------------------------------------------------------------
    def then(self, inner: Transform) -> Transform:
        """ᴬT_B ᴮT_C = ᴬT_C."""
        return Transform(Product(self.rotation, inner.rotation), self.point_up(inner.position))

    def inverse(self) -> Transform:
        """ᴮT_A."""
        R = self.rotation.matrix()
        return Transform(MatrixRotation(v3.transpose(R)), v3.negate(self.rotation.down(self.position)))

    # --- 6x6 matrices, for reading and for tests ----------------------------------------------------------------
    def motion_matrix_down(self) -> list[list[Scalar]]:
        """ᴮX_A as a 6x6 matrix (eq. A.14)."""
        columns = [self.motion_down(Motion(*_unit6(i))) for i in range(6)]
        return [[columns[j][i // 3][i % 3] for j in range(6)] for i in range(6)]

    def force_matrix_down(self) -> list[list[Scalar]]:
        """ᴮX*_A as a 6x6 matrix (eq. A.15)."""
        columns = [self.force_down(Force(*_unit6(i))) for i in range(6)]
        return [[columns[j][i // 3][i % 3] for j in range(6)] for i in range(6)]


def _unit6(i: int) -> tuple[Vec3, Vec3]:
    e = [1.0 if i == j else 0.0 for j in range(6)]
    return (e[0], e[1], e[2]), (e[3], e[4], e[5])
