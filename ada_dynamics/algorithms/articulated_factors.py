# SPDX-License-Identifier: Apache-2.0
"""Factors of the inverse mass matrix from articulated bodies, for many right-hand sides.

Without velocities and weight the passes of the articulated-body algorithm (`aba`) are linear in the efforts, and M⁻¹ is
a product of square factors (Rodriguez, Jain and Kreutz-Delgado, "A spatial operator algebra for manipulator modeling
and control", IJRR 1991),

    M⁻¹ = (1 - HψK)ᵀ D⁻¹ (1 - HψK),

with the joint axes H, the propagation ψ of wrenches to the parents and the gains K = U/D. A right-hand side takes some
30 multiply-adds for each velocity; with triangular factors of M it takes two for each ancestor of each velocity. All
vectors are in world axes, so that only their reference point changes from body to body. The gain of the velocity that
is eliminated last has the origin of the parent as its reference point: its product does not wait for the translation of
the wrench.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ada_dynamics.algorithms.aba import eliminated_bodies
from ada_dynamics.algorithms.kinematics import transforms
from ada_dynamics.model.tree import WORLD, Tree
from ada_dynamics.spatial.motion import NO_FORCE, NO_MOTION, Force, Motion
from ada_dynamics.spatial.rotation import IDENTITY, MatrixRotation, Product, Rotation
from ada_dynamics.spatial.vector import Scalar, Vec3, leaves


class ArticulatedFactors(NamedTuple):
    """Factors of M, used as `ldl.Factors`.

    Attributes:
        tree: the mechanism; no joint mimics another one.
        inverse: 1/D of each velocity.
        axes: S of each velocity.
        gains: U/D of each velocity; for the last one of a joint about the origin of the parent.
        offsets: vector from the origin of the parent to that of the body.
    """

    tree: Tree
    inverse: Sequence[Scalar]
    axes: Sequence[Motion]
    gains: Sequence[Force]
    offsets: Sequence[Vec3]

    @classmethod
    def of(cls, tree: Tree, q: Sequence[Scalar]) -> ArticulatedFactors:
        """Return the factors in a configuration."""
        X = transforms(tree, q)
        bodies = zip(tree.bodies, X, eliminated_bodies(tree, X, q), strict=True)
        turns: list[Rotation] = []
        inverse, axes, gains, offsets = list[Scalar](), list[Motion](), list[Force](), list[Vec3]()
        for body, x, eliminated in bodies:
            parent = IDENTITY if body.parent == WORLD else turns[body.parent]
            R = MatrixRotation(Product(parent, x.rotation).matrix())
            turns.append(R)
            offsets.append(parent.to_parent(x.position))
            inverse += eliminated.inverse_D
            for axis, pivot in zip(body.joint.subspace(body.positions(q)), eliminated.pivots, strict=True):
                axes.append(Motion(R.to_parent(axis.angular), R.to_parent(axis.linear)))
                gains.append(Force(R.to_parent(pivot.U_over_D.moment), R.to_parent(pivot.U_over_D.force)))
            gains[-1] = gains[-1].at(-offsets[-1])
        return cls(tree, inverse, axes, gains, offsets)

    @property
    def values(self) -> list[Scalar]:
        """Axes, gains and offsets as one list of numbers."""
        return leaves([list(self.axes), list(self.gains), list(self.offsets)])

    def with_values(self, values: Sequence[Scalar]) -> ArticulatedFactors:
        """Return factors with other axes, gains and offsets."""
        n, left = len(self.axes), iter(values)
        triples = [Vec3(*triple) for triple in zip(left, left, left, strict=True)]
        pairs = list(zip(triples[: 4 * n : 2], triples[1 : 4 * n : 2], strict=True))
        axes, gains = [Motion(*pair) for pair in pairs[:n]], [Force(*pair) for pair in pairs[n:]]
        return self._replace(axes=axes, gains=gains, offsets=triples[4 * n :])

    def forward(self, b: Sequence[Scalar]) -> list[Scalar]:
        """(1 - HψK) b, from the leaves to the base: u = τ - Sᵀ P of each velocity."""
        u, wrenches = list(b), [NO_FORCE] * len(self.tree.bodies)
        for body in reversed(self.tree.bodies):
            wrench = wrenches[body.index]
            for k in range(body.v.start, body.v.stop):
                u[k] = b[k] - self.axes[k] @ wrench
                if k == body.v.stop - 1:
                    wrench = wrench.at(-self.offsets[body.index])
                wrench = wrench + u[k] * self.gains[k]
            if body.parent != WORLD:
                wrenches[body.parent] = wrenches[body.parent] + wrench
        return u

    def backward(self, b: Sequence[Scalar]) -> list[Scalar]:
        """(1 - HψK)ᵀ b, from the base to the leaves: q̈ = u/D - (U/D) . a of each velocity."""
        rates, motions = list(b), list[Motion]()
        for body in self.tree.bodies:
            motion = NO_MOTION if body.parent == WORLD else motions[body.parent]
            for k in range(body.v.stop - 1, body.v.start - 1, -1):
                rates[k] = b[k] - motion @ self.gains[k]
                if k == body.v.stop - 1:
                    motion = motion.at(self.offsets[body.index])
                motion = motion + rates[k] * self.axes[k]
            motions.append(motion)
        return rates
