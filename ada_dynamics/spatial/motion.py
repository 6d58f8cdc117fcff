# SPDX-License-Identifier: Apache-2.0
"""Spatial motion and force vectors, [angular; linear], and their cross products (Takahashi 2012, A.1-A.3, A.9)."""

from __future__ import annotations

from typing import NamedTuple

from ada_dynamics.spatial import vec3 as v3
from ada_dynamics.spatial.scalar import ZERO3, Scalar, Vec3


class Motion(NamedTuple):
    """A motion vector: angular velocity and velocity of the reference point, or their rates (eq. A.5)."""

    angular: Vec3
    linear: Vec3

    def __add__(self, other: object) -> Motion:
        if not isinstance(other, Motion):
            return NotImplemented
        return Motion(v3.add(self.angular, other.angular), v3.add(self.linear, other.linear))

    def __sub__(self, other: Motion) -> Motion:
        return Motion(v3.sub(self.angular, other.angular), v3.sub(self.linear, other.linear))

    def scaled(self, s: Scalar) -> Motion:
        """s times this vector."""
        return Motion(v3.scale(s, self.angular), v3.scale(s, self.linear))

    def at(self, d: Vec3) -> Motion:
        """The same motion seen at the point d away from the reference point (eq. A.3, A.10)."""
        return Motion(self.angular, v3.add(self.linear, v3.cross(self.angular, d)))

    def cross_motion(self, m: Motion) -> Motion:
        """V x m, the rate of a motion vector fixed in a body that moves with V (eqs. A.42, A.43)."""
        w, v = self
        return Motion(v3.cross(w, m.angular), v3.add(v3.cross(w, m.linear), v3.cross(v, m.angular)))

    def cross_force(self, f: Force) -> Force:
        """V x* f, the rate of a force vector fixed in a body that moves with V (eqs. A.42, A.44)."""
        w, v = self
        return Force(v3.add(v3.cross(w, f.moment), v3.cross(v, f.force)), v3.cross(w, f.force))

    def power(self, f: Force) -> Scalar:
        """V . F, the work per time of a force on this motion (after eq. A.2)."""
        return v3.dot(self.angular, f.moment) + v3.dot(self.linear, f.force)


class Force(NamedTuple):
    """A force vector: moment about the reference point and force (eq. A.8)."""

    moment: Vec3
    force: Vec3

    def __add__(self, other: object) -> Force:
        if not isinstance(other, Force):
            return NotImplemented
        return Force(v3.add(self.moment, other.moment), v3.add(self.force, other.force))

    def __sub__(self, other: Force) -> Force:
        return Force(v3.sub(self.moment, other.moment), v3.sub(self.force, other.force))

    def scaled(self, s: Scalar) -> Force:
        """s times this vector."""
        return Force(v3.scale(s, self.moment), v3.scale(s, self.force))

    def at(self, d: Vec3) -> Force:
        """The same force with its moment taken about the point d away (eq. A.6, A.13)."""
        return Force(v3.sub(self.moment, v3.cross(d, self.force)), self.force)


NO_MOTION = Motion(ZERO3, ZERO3)
NO_FORCE = Force(ZERO3, ZERO3)
