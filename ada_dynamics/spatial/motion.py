# SPDX-License-Identifier: Apache-2.0
"""Spatial motion and force vectors, [angular; linear] (Takahashi 2012, A.1-A.3, A.9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import ZERO3, Scalar, Vec3, algebra, cross


@algebra
class Motion(NamedTuple):
    """A motion vector: angular velocity and velocity of the reference point, or their rates (eq. A.5)."""

    angular: Vec3
    linear: Vec3

    @classmethod
    def linear_first(cls, x: Sequence[Scalar]) -> Motion:
        """From [linear; angular], the order of public vectors."""
        return cls(Vec3(*x[3:6]), Vec3(*x[0:3]))

    def __add__(self, other: Motion) -> Motion:  # type: ignore[override]
        return Motion(self.angular + other.angular, self.linear + other.linear)

    def __sub__(self, other: Motion) -> Motion:
        return Motion(self.angular - other.angular, self.linear - other.linear)

    def __neg__(self) -> Motion:
        return Motion(-self.angular, -self.linear)

    def __rmul__(self, s: Scalar) -> Motion:
        return Motion(s * self.angular, s * self.linear)

    def __matmul__(self, f: Force) -> Scalar:
        """V . F, the power of a force on this motion (after eq. A.2)."""
        return self.angular @ f.moment + self.linear @ f.force

    def at(self, d: Vec3) -> Motion:
        """The motion at the point d away from the reference point (eqs. A.3, A.10)."""
        return Motion(self.angular, self.linear + cross(self.angular, d))

    def in_child(self, X: Transform) -> Motion:
        """ᴮX_A m (eq. A.14)."""
        angular, linear = self.at(X.position)
        return Motion(X.rotation.to_child(angular), X.rotation.to_child(linear))

    def in_parent(self, X: Transform) -> Motion:
        """ᴬX_B m (eq. A.16)."""
        angular, linear = X.rotation.to_parent(self.angular), X.rotation.to_parent(self.linear)
        return Motion(angular, linear + cross(X.position, angular))

    def cross_force(self, f: Force) -> Force:
        """V x* f, the rate of a force vector fixed in a body that moves with V (eqs. A.42, A.44)."""
        w, v = self
        return Force(cross(w, f.moment) + cross(v, f.force), cross(w, f.force))


@algebra
class Force(NamedTuple):
    """A force vector: moment about the reference point and force (eq. A.8)."""

    moment: Vec3
    force: Vec3

    @classmethod
    def force_first(cls, x: Sequence[Scalar]) -> Force:
        """From [force; moment], the order of public vectors."""
        return cls(Vec3(*x[3:6]), Vec3(*x[0:3]))

    def __add__(self, other: Force) -> Force:  # type: ignore[override]
        return Force(self.moment + other.moment, self.force + other.force)

    def __sub__(self, other: Force) -> Force:
        return Force(self.moment - other.moment, self.force - other.force)

    def __neg__(self) -> Force:
        return Force(-self.moment, -self.force)

    def __rmul__(self, s: Scalar) -> Force:
        return Force(s * self.moment, s * self.force)

    def at(self, d: Vec3) -> Force:
        """The force with its moment about the point d away from the reference point (eqs. A.6, A.13)."""
        return Force(self.moment - cross(d, self.force), self.force)

    def in_child(self, X: Transform) -> Force:
        """ᴮX*_A f (eq. A.15)."""
        moment, force = self.at(X.position)
        return Force(X.rotation.to_child(moment), X.rotation.to_child(force))

    def in_parent(self, X: Transform) -> Force:
        """ᴬX*_B f (eq. A.17)."""
        moment, force = X.rotation.to_parent(self.moment), X.rotation.to_parent(self.force)
        return Force(moment + cross(X.position, force), force)


NO_MOTION = Motion(ZERO3, ZERO3)
NO_FORCE = Force(ZERO3, ZERO3)
