# SPDX-License-Identifier: Apache-2.0
"""Poses of frames, and the transformation of spatial quantities between two frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

from ada_dynamics.spatial.rotation import IDENTITY, MatrixRotation, Product, Rotation
from ada_dynamics.spatial.vector import ZERO3, Vec3

Seen = TypeVar("Seen")


class InParent(Protocol):
    """A quantity that can be transformed to the parent frame."""

    def in_parent(self: Seen, X: Transform) -> Seen:
        """The quantity, given in frame B, in frame A of X = ᴬT_B."""


class InChild(Protocol):
    """A quantity that can be transformed to the child frame."""

    def in_child(self: Seen, X: Transform) -> Seen:
        """The quantity, given in frame A, in frame B of X = ᴬT_B."""


SeenUp = TypeVar("SeenUp", bound=InParent)
SeenDown = TypeVar("SeenDown", bound=InChild)


@dataclass(frozen=True, slots=True)
class Transform:
    """Pose ᴬT_B of a frame B (the child) in a frame A: rotation ᴬR_B and position of B's origin in A's coordinates."""

    rotation: Rotation = IDENTITY
    position: Vec3 = ZERO3

    def to_parent(self, x: SeenUp) -> SeenUp:
        """Transform a motion, force or inertia from B at B's origin to A at A's origin (eqs. A.16, A.17, A.37)."""
        return x.in_parent(self)

    def to_child(self, x: SeenDown) -> SeenDown:
        """Transform a motion or force from A at A's origin to B at B's origin (eqs. A.14, A.15)."""
        return x.in_child(self)

    def point(self, x: Vec3) -> Vec3:
        """Coordinates in A of a point given in B."""
        return self.position + self.rotation.to_parent(x)

    def __matmul__(self, inner: Transform) -> Transform:
        """ᴬT_B ᴮT_C = ᴬT_C."""
        return Transform(Product(self.rotation, inner.rotation), self.point(inner.position))

    def inverse(self) -> Transform:
        """ᴮT_A, at the same cost per application."""
        return Transform(self.rotation.inverse(), -self.rotation.to_child(self.position))

    def flat(self) -> Transform:
        """Equal pose with a single rotation matrix."""
        return Transform(MatrixRotation(self.rotation.matrix()), self.position)
