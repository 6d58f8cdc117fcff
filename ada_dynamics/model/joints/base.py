# SPDX-License-Identifier: Apache-2.0
"""What every joint type says about itself: pose, motion subspace S, force subspaces T_a and T, and S's rate.

All in the child's frame, over generic scalars (Takahashi 2012, eqs. 2.5-2.10, tables 2.1 and 2.2). A joint turns or
slides about coordinate axes only; other axes are brought onto them by a constant rotation when the tree is built.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.spatial import vec3 as v3
from ada_dynamics.spatial.motion import NO_MOTION, Force, Motion
from ada_dynamics.spatial.scalar import UNIT3, ZERO3, Scalar, Vec3
from ada_dynamics.spatial.transform import Transform

NO_LIMIT = 1e6  # [rad, m]; descriptions say 1e16 and the like where they mean that there is no limit


class JointType(ABC):
    """One kind of joint. `nq` position variables, `nv` velocities; S has `nv` columns."""

    kind: ClassVar[str]
    nq: ClassVar[int]
    nv: ClassVar[int]

    # --- kinematics over generic scalars ------------------------------------------------------------------------
    @abstractmethod
    def pose(self, q: Sequence[Scalar]) -> Transform:
        """Pose of the child's frame in the joint's frame on the parent's side."""

    @abstractmethod
    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        """Columns of S: relative velocity = S v (eq. 2.5)."""

    def bias(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Motion:
        """Ṡ v as seen in the child's frame; zero where S is constant there."""
        return NO_MOTION

    def active(self, q: Sequence[Scalar]) -> tuple[Force, ...]:
        """Columns of T_a, with T_aᵀ S = U (eqs. 2.7, 2.8). The default fits an S with orthonormal columns."""
        return tuple(Force(s.angular, s.linear) for s in self.subspace(q))

    @abstractmethod
    def constraint(self, q: Sequence[Scalar]) -> tuple[Force, ...]:
        """Columns of T, with Tᵀ S = 0 (eqs. 2.7, 2.8)."""

    def position_rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """q̇ from v; they are the same for most joints."""
        return tuple(v)

    def nearest(self, q: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """The usable position nearest to q: quaternions brought to unit length."""
        return tuple(q)

    def commutator(self, v: Sequence[Scalar], momentum: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """Term of the Euler-Poincaré equation for velocities that are no rates of coordinates; zero for others."""
        return (0.0,) * self.nv

    def guards(self, q: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """Quantities that must not be negative for q to be usable."""
        return ()

    def relative_velocity(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Motion:
        """S v."""
        total = NO_MOTION
        for column, rate in zip(self.subspace(q), v, strict=True):
            total = total + column.scaled(rate)
        return total

    # --- configuration space, on numbers ------------------------------------------------------------------------
    def neutral(self) -> Array:
        """The zero position."""
        return np.zeros(self.nq)

    def random(self, rng: np.random.Generator, lower: Array, upper: Array) -> Array:
        """A random position; within the limits where there are meaningful ones."""
        low = np.where(np.abs(lower) < NO_LIMIT, lower, -np.pi)
        high = np.where(np.abs(upper) < NO_LIMIT, upper, np.pi)
        return np.asarray(rng.uniform(np.minimum(low, high), np.maximum(low, high)))

    def integrate(self, q: Array, step: Array) -> Array:
        """q ⊕ step, where step is a velocity times a time."""
        return q + step

    def difference(self, q0: Array, q1: Array) -> Array:
        """The step with q0 ⊕ step = q1."""
        return q1 - q0

    def problem(self, q: Array) -> str | None:
        """Why q is unusable, or None."""
        return None


def unit(k: int) -> Vec3:
    """Coordinate axis k."""
    return UNIT3[k]


def turning(axis: Vec3) -> Motion:
    """Unit rotation about an axis."""
    return Motion(axis, ZERO3)


def sliding(axis: Vec3) -> Motion:
    """Unit translation along an axis."""
    return Motion(ZERO3, axis)


def moment(axis: Vec3) -> Force:
    """Unit moment about an axis."""
    return Force(axis, ZERO3)


def force(axis: Vec3) -> Force:
    """Unit force along an axis."""
    return Force(ZERO3, axis)


def successive_turns_bias(axes: Sequence[Vec3], rates: Sequence[Scalar]) -> Vec3:
    """Rate of ω = Σ aᵢ θ̇ᵢ in the last frame, for turns about successive axes aᵢ given in that frame.

    An axis is fixed in the frame before it, so it is seen to turn against all later ones: ȧᵢ = -(Σ_{j>i} aⱼ θ̇ⱼ) x aᵢ.
    """
    later: Vec3 = ZERO3
    result: Vec3 = ZERO3
    for axis, rate in zip(reversed(axes), reversed(rates), strict=True):
        own = v3.scale(rate, axis)
        result = v3.sub(result, v3.cross(later, own))
        later = v3.add(later, own)
    return result
