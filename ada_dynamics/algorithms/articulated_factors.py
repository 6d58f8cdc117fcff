# SPDX-License-Identifier: Apache-2.0
"""The inverse of the mass matrix as factors that articulated bodies give, for many right-hand sides.

Without velocities and weight the passes of the articulated-body algorithm (`aba`) are linear in the efforts,

    M⁻¹ = (1 - H)ᵀ D⁻¹ (1 - H),

where H adds up the wrenches of the bodies from the leaves to the base. A right-hand side costs some 30 multiply-adds
for each velocity, with triangular factors of M as many as the velocity has ancestors. All vectors are in the axes of
the world, so that only their reference points change from body to body. The share U/D that the parent feels is about
the origin of the parent: it is added to what the other bodies contribute while that is moved there.
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
        shares: U/D of each velocity; of the last one of a joint about the origin of the parent.
        offsets: of the origin of each body from that of its parent.
    """

    tree: Tree
    inverse: Sequence[Scalar]
    axes: Sequence[Motion]
    shares: Sequence[Force]
    offsets: Sequence[Vec3]

    @classmethod
    def of(cls, tree: Tree, q: Sequence[Scalar]) -> ArticulatedFactors:
        """In a configuration."""
        X = transforms(tree, q)
        bodies = zip(tree.bodies, X, eliminated_bodies(tree, X, q), strict=True)
        turns: list[Rotation] = []
        inverse, axes, shares, offsets = list[Scalar](), list[Motion](), list[Force](), list[Vec3]()
        for body, x, eliminated in bodies:
            parent = IDENTITY if body.parent == WORLD else turns[body.parent]
            R = MatrixRotation(Product(parent, x.rotation).matrix())
            turns.append(R)
            offsets.append(parent.to_parent(x.position))
            inverse += eliminated.inverse_D
            for axis, pivot in zip(body.joint.subspace(body.positions(q)), eliminated.pivots, strict=True):
                axes.append(Motion(R.to_parent(axis.angular), R.to_parent(axis.linear)))
                shares.append(Force(R.to_parent(pivot.U_over_D.moment), R.to_parent(pivot.U_over_D.force)))
            shares[-1] = shares[-1].at(-offsets[-1])
        return cls(tree, inverse, axes, shares, offsets)

    @property
    def values(self) -> list[Scalar]:
        """All numbers besides 1/D."""
        return leaves([list(self.axes), list(self.shares), list(self.offsets)])

    def with_values(self, values: Sequence[Scalar]) -> ArticulatedFactors:
        """The same factors with other numbers."""
        n, left = len(self.axes), iter(values)
        triples = [Vec3(*triple) for triple in zip(left, left, left, strict=True)]
        pairs = list(zip(triples[: 4 * n : 2], triples[1 : 4 * n : 2], strict=True))
        axes, shares = [Motion(*pair) for pair in pairs[:n]], [Force(*pair) for pair in pairs[n:]]
        return self._replace(axes=axes, shares=shares, offsets=triples[4 * n :])

    def forward(self, b: Sequence[Scalar]) -> list[Scalar]:
        """(1 - H) b, from the leaves to the base: u = τ - Sᵀ P of each velocity."""
        u, wrenches = list(b), [NO_FORCE] * len(self.tree.bodies)
        for body in reversed(self.tree.bodies):
            wrench = wrenches[body.index]
            for k in range(body.v.start, body.v.stop):
                u[k] = b[k] - self.axes[k] @ wrench
                if k == body.v.stop - 1:
                    wrench = wrench.at(-self.offsets[body.index])
                wrench = wrench + u[k] * self.shares[k]
            if body.parent != WORLD:
                wrenches[body.parent] = wrenches[body.parent] + wrench
        return u

    def backward(self, b: Sequence[Scalar]) -> list[Scalar]:
        """(1 - H)ᵀ b, from the base to the leaves: q̈ = u/D - (U/D) . a of each velocity."""
        rates, motions = list(b), list[Motion]()
        for body in self.tree.bodies:
            motion = NO_MOTION if body.parent == WORLD else motions[body.parent]
            for k in range(body.v.stop - 1, body.v.start - 1, -1):
                rates[k] = b[k] - motion @ self.shares[k]
                if k == body.v.stop - 1:
                    motion = motion.at(self.offsets[body.index])
                motion = motion + rates[k] * self.axes[k]
            motions.append(motion)
        return rates
