# SPDX-License-Identifier: Apache-2.0
"""Joints whose orientation is a unit quaternion (x, y, z, w) (Takahashi 2012, sec. 3.4.2, eqs. 3.31-3.34)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics import expr
from ada_dynamics.arrays import Array
from ada_dynamics.model import rotations
from ada_dynamics.model.joints.base import ANGULAR, FORCES, MASS, POSITION, QUATERNION, SLIDES, TURNS, JointType
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.rotation import MatrixRotation, from_quaternion
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import Scalar, Vec3, cross

_TINY = 1e-300  # under the square root, against division by zero
NORM_TOLERANCE = 1e-6  # quaternions within this of unit length are normalised, others refused


def quaternion_rate(p: Sequence[Scalar], w: Sequence[Scalar]) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """ṗ = ½ p ∘ (ω, 0) with ω in the child's frame (eq. 3.34)."""
    x, y, z, s = p
    a, b, c = w
    return (
        0.5 * (s * a - z * b + y * c),
        0.5 * (z * a + s * b - x * c),
        0.5 * (-y * a + x * b + s * c),
        0.5 * (-x * a - y * b - z * c),
    )


class QuaternionJoint(JointType):
    """A joint whose last four positions are a unit quaternion."""

    axes = 0

    def nearest(self, q: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """Unit length of the quaternion."""
        inverse = 1.0 / expr.sqrt(_square(q))
        return (*q[:-4], *(x * inverse for x in q[-4:]))

    def guards(self, q: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """|p|² must be 1 within twice the tolerance of |p|."""
        excess = _square(q) - 1.0
        return (2.0 * NORM_TOLERANCE - excess, 2.0 * NORM_TOLERANCE + excess)

    def neutral(self) -> Array:
        """No motion."""
        return np.asarray(np.eye(self.nq)[-1])

    def problem(self, q: Array) -> str | None:
        """Problem of the length of the quaternion, or None."""
        p = q[-4:]
        norm = float(np.linalg.norm(p))
        if abs(norm * norm - 1.0) <= 2.0 * NORM_TOLERANCE:
            return None
        return f"its quaternion (x, y, z, w) = {p.tolist()} has length {norm:.9g}, allowed 1 +- {NORM_TOLERANCE:g}"


def _square(q: Sequence[Scalar]) -> Scalar:
    x, y, z, w = q[-4:]
    return x * x + y * y + z * z + w * w


class Spherical(QuaternionJoint):
    """A ball joint: q = unit quaternion (x, y, z, w), v = angular velocity in the child's frame."""

    kind, nq, nv = "spherical", 4, 3
    other_names = ("ball",)
    moves_as = closes_as = kind
    coordinates, rates = QUATERNION, ANGULAR
    can_have_spring = True

    def pose(self, q: Sequence[Scalar]) -> Transform:
        """Rotation of the quaternion."""
        return Transform(MatrixRotation(from_quaternion(*q)))

    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        """S = [U; 0]."""
        return TURNS

    def constraint(self, q: Sequence[Scalar]) -> tuple[Force, ...]:
        """All forces."""
        return FORCES

    def position_rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """eq. 3.34."""
        return quaternion_rate(q, v)

    def deflection(self, q: Sequence[Scalar], rest: Scalar) -> list[Scalar]:
        """The rotation vector φ: k φ in the child axes is the gradient of ½ k |φ|². The rest position is zero."""
        x, y, z, w = q
        half = expr.sqrt(x * x + y * y + z * z + _TINY)  # |sin(½ angle)|
        scale = expr.select(w, 0.0, -2.0, 2.0) * (expr.atan2(half, expr.absolute(w)) / half)
        return [scale * component for component in (x, y, z)]

    def commutator(self, v: Sequence[Scalar], momentum: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """ω x L."""
        return cross(Vec3(*v), Vec3(*momentum))

    def random(self, rng: np.random.Generator, lower: Array, upper: Array) -> Array:
        """Random rotation, uniformly distributed."""
        p = rng.normal(size=4)
        return np.asarray(p / np.linalg.norm(p))

    def movable_inertias(self) -> list[RigidInertia]:
        """Mass at the centre."""
        return [MASS]

    def integrate(self, q: Array, step: Array) -> Array:
        """q ∘ exp(step)."""
        return rotations.normalized(rotations.quaternion_product(q, rotations.quaternion_exp(step)))

    def difference(self, q0: Array, q1: Array) -> Array:
        """log(q0⁻¹ ∘ q1)."""
        return rotations.quaternion_log(rotations.quaternion_product(rotations.conjugate(q0), q1))


class Floating(QuaternionJoint):
    """A free body: q = [x, y, z, qx, qy, qz, qw], v = [linear, angular] in the child's frame (as in pinocchio)."""

    kind, nq, nv = "floating", 7, 6
    moves_as, closes_as = kind, None
    coordinates, rates = (*POSITION, *QUATERNION), (*POSITION, *ANGULAR)

    def pose(self, q: Sequence[Scalar]) -> Transform:
        """Position and rotation of the quaternion."""
        return Transform(MatrixRotation(from_quaternion(*q[3:])), Vec3(*q[:3]))

    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        """S = U, with the linear columns first (table 2.2, 6DOF-joint)."""
        return (*SLIDES, *TURNS)

    def constraint(self, q: Sequence[Scalar]) -> tuple[Force, ...]:
        """No constraint forces."""
        return ()

    def position_rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """ṙ = R v, and eq. 3.34."""
        rate = MatrixRotation(from_quaternion(*q[3:])).to_parent(Vec3(*v[:3]))
        return (*rate, *quaternion_rate(q[3:], v[3:]))

    def commutator(self, v: Sequence[Scalar], momentum: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """[ω x p; ω x L + v x p]."""
        turned = Motion.linear_first(v).cross_force(Force.force_first(momentum))
        return (*turned.force, *turned.moment)

    def random(self, rng: np.random.Generator, lower: Array, upper: Array) -> Array:
        """Random position within 1 m of the origin, and any rotation."""
        p = rng.normal(size=4)
        return np.concatenate([rng.uniform(-1.0, 1.0, 3), p / np.linalg.norm(p)])

    def integrate(self, q: Array, step: Array) -> Array:
        """q ⊕ step on SE(3): motion with constant body velocity."""
        return rotations.pose_integrate(q, step)

    def difference(self, q0: Array, q1: Array) -> Array:
        """Constant body velocity from q0 to q1 in unit time."""
        return rotations.pose_difference(q0, q1)
