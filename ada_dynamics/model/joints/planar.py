# SPDX-License-Identifier: Apache-2.0
"""The planar joint."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics import expr
from ada_dynamics.arrays import Array
from ada_dynamics.model.joints.base import AXISYMMETRIC, FORCES, MOMENTS, POSITION, SLIDES, TURNS, Coordinate, JointType
from ada_dynamics.model.rotations import align, plane_difference, plane_integrate
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.rotation import AxisRotation
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import Scalar, Vec3


class Planar(JointType):
    """Free in the x-y plane: q = [x, y, angle], v = [vx, vy, ω] in the child's frame.

    Another normal is rotated onto z by the shortest rotation.
    """

    kind, nq, nv = "planar", 3, 3
    axes = 1
    moves_as = closes_as = kind
    coordinates = rates = (*POSITION[:2], Coordinate("turn", "rad", "turn"))

    @classmethod
    def aligned(cls, axis: Array, axis2: Array | None, onto: int | None, **own: Scalar) -> tuple[JointType, Array]:
        """Return the joint with its normal on z."""
        return cls(**own), align(axis, 2)[0]

    def pose(self, q: Sequence[Scalar]) -> Transform:
        """Rot(z, angle) and translation in the plane."""
        return Transform(AxisRotation(2, expr.cos(q[2]), expr.sin(q[2])), Vec3(q[0], q[1], 0.0))

    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        """Both axes of the plane and its normal, fixed in the child."""
        return (SLIDES[0], SLIDES[1], TURNS[2])

    def constraint(self, q: Sequence[Scalar]) -> tuple[Force, ...]:
        """Moments about both axes of the plane and the force along its normal."""
        return (MOMENTS[0], MOMENTS[1], FORCES[2])

    def position_rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """Velocity in the parent axes."""
        c, s = expr.cos(q[2]), expr.sin(q[2])
        return (c * v[0] - s * v[1], s * v[0] + c * v[1], v[2])

    def commutator(self, v: Sequence[Scalar], momentum: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """[ω n x p; v x p] in the plane."""
        px, py, _ = momentum
        return (-(v[2] * py), v[2] * px, v[0] * py - v[1] * px)

    def movable_inertias(self) -> list[RigidInertia]:
        """Equal moments of inertia about the axes of the plane."""
        return [AXISYMMETRIC[2]]

    def integrate(self, q: Array, step: Array) -> Array:
        """Position after motion with constant body velocity."""
        return plane_integrate(q, step)

    def difference(self, q0: Array, q1: Array) -> Array:
        """Constant body velocity from q0 to q1 in unit time."""
        return plane_difference(q0, q1)

    def random(self, rng: np.random.Generator, lower: Array, upper: Array) -> Array:
        """Random position within 1 m, and any angle."""
        return np.asarray(rng.uniform([-1.0, -1.0, -np.pi], [1.0, 1.0, np.pi]))
