# SPDX-License-Identifier: Apache-2.0
"""Joints with Euler angles as orientation; they report the singularity of the angles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics import expr
from ada_dynamics.arrays import Array
from ada_dynamics.model.joints.base import FORCES, MASS, POSITION, JointType, angles, successive_turns_bias
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.rotation import AxisRotation, Product
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import UNIT3, ZERO3, Scalar, Vec3, cross

# Below this sine of the second angle the inverse of S has lost half of its digits.
SINE_AT_LOCK = 1e-8


def _turn(k: int, angle: Scalar) -> AxisRotation:
    return AxisRotation(k, expr.cos(angle), expr.sin(angle))


class SphericalEuler(JointType):
    """A spherical joint in z-y-z Euler angles (Takahashi 2012, table 2.1, S-joint): q = angles, v = their rates.

    The table's S has the sign of its second column wrong (for T_aᵀ S = U it must be (s3, c3, 0)) and its T_a the entry
    (1, 3), which must be c2 c3. At q2 = 0 or π the first and third axis coincide; `guards` reports it.
    """

    kind, nq, nv = "spherical_euler", 3, 3
    axes = 0
    moves_as, closes_as = kind, "spherical"
    coordinates = rates = angles("z", "y'", "z''")

    def pose(self, q: Sequence[Scalar]) -> Transform:
        """Rz(q1) Ry(q2) Rz(q3)."""
        return Transform(Product(_turn(2, q[0]), Product(_turn(1, q[1]), _turn(2, q[2]))))

    def _axes(self, q: Sequence[Scalar]) -> tuple[Vec3, Vec3, Vec3]:
        s2, c2, s3, c3 = expr.sin(q[1]), expr.cos(q[1]), expr.sin(q[2]), expr.cos(q[2])
        return Vec3(-s2 * c3, s2 * s3, c2), Vec3(s3, c3, 0.0), UNIT3[2]

    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        """The three axes, in the child's frame."""
        return tuple(Motion(a, ZERO3) for a in self._axes(q))

    def bias(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Motion:
        """The first two axes rotate in the child frame."""
        return Motion(successive_turns_bias(self._axes(q), v), ZERO3)

    def active(self, q: Sequence[Scalar]) -> tuple[Force, ...]:
        """Dual basis of the axes."""
        s2, c2, s3, c3 = expr.sin(q[1]), expr.cos(q[1]), expr.sin(q[2]), expr.cos(q[2])
        k = 1.0 / s2
        axes = Vec3(-k * c3, k * s3, 0.0), Vec3(s3, c3, 0.0), Vec3(k * c2 * c3, -k * c2 * s3, 1.0)
        return tuple(Force(axis, ZERO3) for axis in axes)

    def constraint(self, q: Sequence[Scalar]) -> tuple[Force, ...]:
        """All forces."""
        return FORCES

    def guards(self, q: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """sin² q2 must not vanish."""
        s2 = expr.sin(q[1])
        return (s2 * s2 - SINE_AT_LOCK**2,)

    def neutral(self) -> Array:
        """All angles zero except the second one, which is singular at zero."""
        return np.array([0.0, np.pi / 2, 0.0])

    def movable_inertias(self) -> list[RigidInertia]:
        """Mass at the centre."""
        return [MASS]

    def problem(self, q: Array) -> str | None:
        """Report the singularity of the representation."""
        if abs(np.sin(q[1])) < SINE_AT_LOCK:
            return "z-y-z Euler angles are singular at a second angle of 0 or 180 deg; use a quaternion joint"
        return None


class FloatingEuler(JointType):
    """A free body in position and z-y-x Euler angles (Takahashi 2012, sec. 3.4.1, eqs. 3.29, 3.30).

    q = [x, y, z, angle about z, about y, about x]; v is its rate, so the linear part is in the parent's axes.
    At a second angle of ±90 deg the other two axes coincide; `guards` reports it.
    """

    kind, nq, nv = "floating_euler", 6, 6
    axes = 0
    moves_as, closes_as = kind, None
    coordinates = rates = (*POSITION, *angles("z", "y'", "x''"))

    def _rotation(self, q: Sequence[Scalar]) -> Product:
        return Product(_turn(2, q[3]), Product(_turn(1, q[4]), _turn(0, q[5])))

    def pose(self, q: Sequence[Scalar]) -> Transform:
        """Position and Rz Ry Rx."""
        return Transform(self._rotation(q), Vec3(*q[:3]))

    def _axes(self, q: Sequence[Scalar]) -> tuple[Vec3, Vec3, Vec3]:
        s2, c2, s3, c3 = expr.sin(q[4]), expr.cos(q[4]), expr.sin(q[5]), expr.cos(q[5])
        return Vec3(-s2, c2 * s3, c2 * c3), Vec3(0.0, c3, -s3), UNIT3[0]

    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        """Parent axes for the position, rotation axes for the angles."""
        R = self._rotation(q)
        return (*(Motion(ZERO3, R.to_child(UNIT3[i])) for i in range(3)), *(Motion(a, ZERO3) for a in self._axes(q)))

    def bias(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Motion:
        """The parent axes rotate in the child frame."""
        axes = self._axes(q)
        w: Vec3 = ZERO3
        for axis, rate in zip(axes, v[3:], strict=True):
            w = w + rate * axis
        linear = self._rotation(q).to_child(Vec3(*v[:3]))
        return Motion(successive_turns_bias(axes, v[3:]), -cross(w, linear))

    def active(self, q: Sequence[Scalar]) -> tuple[Force, ...]:
        """Dual of S."""
        R = self._rotation(q)
        s2, s3, c3 = expr.sin(q[4]), expr.sin(q[5]), expr.cos(q[5])
        k = 1.0 / expr.cos(q[4])
        return (
            *(Force(ZERO3, R.to_child(UNIT3[i])) for i in range(3)),
            Force(Vec3(0.0, k * s3, k * c3), ZERO3),
            Force(Vec3(0.0, c3, -s3), ZERO3),
            Force(Vec3(1.0, k * s2 * s3, k * s2 * c3), ZERO3),
        )

    def constraint(self, q: Sequence[Scalar]) -> tuple[Force, ...]:
        """No constraint forces."""
        return ()

    def guards(self, q: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """cos² of the second angle must not vanish."""
        c2 = expr.cos(q[4])
        return (c2 * c2 - SINE_AT_LOCK**2,)

    def random(self, rng: np.random.Generator, lower: Array, upper: Array) -> Array:
        """Random pose away from the singularity."""
        q = rng.uniform(-1.0, 1.0, 6)
        q[3:] *= [np.pi, 1.2, np.pi]
        return q

    def problem(self, q: Array) -> str | None:
        """Report the singularity of the representation."""
        if abs(np.cos(q[4])) < SINE_AT_LOCK:
            return "z-y-x Euler angles are singular at a second angle of +-90 deg; use base='floating' (quaternion)"
        return None
