# SPDX-License-Identifier: Apache-2.0
"""Geometry of contacts: points and spheres of links, obstacles, contact pairs, and the ground."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.algorithms import contact
from ada_dynamics.arrays import Array
from ada_dynamics.contact.material import Material, finite_number
from ada_dynamics.errors import InputError
from ada_dynamics.model.rotations import to_mat3
from ada_dynamics.model.tree import Frame
from ada_dynamics.spatial.vector import Vec3


def _vector(value: object, what: str) -> tuple[float, ...]:
    try:
        x = np.array(value, dtype=float)
    except (TypeError, ValueError):
        x = np.full(1, np.nan)
    if x.shape != (3,) or not np.isfinite(x).all():
        raise InputError(
            f"{what} is {value!r}; it must be 3 finite numbers.", field=what, value=value, allowed="3 numbers"
        )
    return tuple(x.tolist())


def _direction(value: object, what: str) -> tuple[float, ...]:
    x = np.array(_vector(value, what))
    length = float(np.linalg.norm(x))
    if length < 1e-9:
        text = f"{what} is {value!r}, of length zero; give a direction such as (0, 0, 1)."
        raise InputError(text, field=what, value=value)
    x = x if abs(length - 1.0) < 1e-15 else x / length
    return tuple(x.tolist())


def set_values(owner: object, **values: object) -> None:
    """Set fields of a frozen dataclass in its `__post_init__`."""
    for name, value in values.items():
        object.__setattr__(owner, name, value)


@dataclass(frozen=True)
class ContactPoint:
    """A point of a link that can touch the ground."""

    name: str
    link: str
    xyz: Sequence[float]  # in the link's frame [m]
    material: Material | None = None  # that of `Contact` by default

    def __post_init__(self) -> None:
        """Check the values."""
        set_values(self, xyz=_vector(self.xyz, f"contact {self.name!r} of link {self.link!r}: xyz"))

    @property
    def radius(self) -> float:
        """Zero, the radius of a point."""
        return 0.0


@dataclass(frozen=True)
class ContactSphere:
    """A sphere of a link that can touch the ground and roll on it."""

    name: str
    link: str
    xyz: Sequence[float]  # center in the link frame [m]
    radius: float  # [m]
    material: Material | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        where = f"contact {self.name!r} of link {self.link!r}"
        set_values(self, xyz=_vector(self.xyz, f"{where}: xyz"), radius=finite_number(self.radius, f"{where}: radius"))


# --- obstacles ------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Ball:
    """A sphere of a link or of the "world"."""

    link: str
    xyz: Sequence[float]
    radius: float

    def __post_init__(self) -> None:
        """Check the values."""
        where = f"ball of link {self.link!r}"
        set_values(self, xyz=_vector(self.xyz, f"{where}: xyz"), radius=finite_number(self.radius, f"{where}: radius"))

    def in_body(self, frame: Frame) -> contact.BodyObstacle:
        """Obstacle in the frame of its body."""
        return contact.BodyBall(frame.body, point_in_body(frame, self.xyz), self.radius)


@dataclass(frozen=True)
class Capsule:
    """A capsule of a link: all points within a radius of a line segment."""

    link: str
    start: Sequence[float]
    end: Sequence[float]
    radius: float

    def __post_init__(self) -> None:
        """Check the values."""
        where = f"capsule of link {self.link!r}"
        set_values(self, start=_vector(self.start, f"{where}: start"), end=_vector(self.end, f"{where}: end"))
        set_values(self, radius=finite_number(self.radius, f"{where}: radius"))
        if np.linalg.norm(np.subtract(self.start, self.end)) < 1e-9:
            text = f"{where}: start and end are both {self.start}; take a Ball for a capsule without length."
            raise InputError(text, link=self.link, field="end", value=self.end)

    def in_body(self, frame: Frame) -> contact.BodyObstacle:
        """Obstacle in the frame of its body."""
        return contact.BodyCapsule(
            frame.body, point_in_body(frame, self.start), point_in_body(frame, self.end), self.radius
        )


@dataclass(frozen=True)
class Plane:
    """A half-space of a link, behind a plane."""

    link: str
    xyz: Sequence[float] = (0.0, 0.0, 0.0)  # a point of the plane in the link frame [m]
    normal: Sequence[float] = (0.0, 0.0, 1.0)  # outward normal in the link frame

    def __post_init__(self) -> None:
        """Check the values."""
        where = f"plane of link {self.link!r}"
        set_values(self, xyz=_vector(self.xyz, f"{where}: xyz"), normal=_direction(self.normal, f"{where}: normal"))

    def in_body(self, frame: Frame) -> contact.BodyObstacle:
        """Obstacle in the frame of its body."""
        n = frame.pose.rotation.to_parent(to_vec3(self.normal))
        return contact.BodyHalfSpace(frame.body, point_in_body(frame, self.xyz), n)


@dataclass(frozen=True)
class Box:
    """A box of a link."""

    link: str
    size: Sequence[float]  # edge lengths [m]
    xyz: Sequence[float] = (0.0, 0.0, 0.0)  # center in the link frame [m]
    rotation: ArrayLike = field(default_factory=lambda: np.eye(3))

    def __post_init__(self) -> None:
        """Check the values."""
        where = f"box of link {self.link!r}"
        set_values(self, xyz=_vector(self.xyz, f"{where}: xyz"), size=_vector(self.size, f"{where}: size"))
        if min(self.size) <= 0.0:
            text = f"{where}: size is {self.size}; its edges must be positive."
            raise InputError(text, link=self.link, field="size", value=self.size, allowed="positive numbers")
        R = np.asarray(self.rotation, dtype=float)
        if R.shape != (3, 3) or not np.max(np.abs(R @ R.T - np.eye(3))) < 1e-9:
            text = f"{where}: rotation is {R.tolist()}; it must be a 3x3 rotation matrix."
            raise InputError(text, link=self.link, field="rotation", value=R.tolist())
        set_values(self, rotation=tuple(map(tuple, R.tolist())))

    def in_body(self, frame: Frame) -> contact.BodyObstacle:
        """Obstacle in the frame of its body."""
        axes: Array = np.array(frame.pose.rotation.matrix()) @ np.array(self.rotation)
        half = tuple(0.5 * s for s in self.size)
        return contact.BodyBox(frame.body, point_in_body(frame, self.xyz), to_mat3(axes), to_vec3(half))


Obstacle: TypeAlias = Ball | Capsule | Plane | Box


@dataclass(frozen=True)
class ContactPair:
    """A point or sphere of a link, and an obstacle of another link or of the "world"."""

    name: str
    one: ContactPoint | ContactSphere
    other: Obstacle
    material: Material | None = None

    def __post_init__(self) -> None:
        """Check the types."""
        if not isinstance(self.one, ContactPoint | ContactSphere):
            raise InputError(
                f"contact {self.name!r}: one is {self.one!r:.80}; give a ContactPoint or a ContactSphere.",
                field="one",
                value=self.one,
                allowed=("ContactPoint", "ContactSphere"),
            )
        if not isinstance(self.other, Ball | Capsule | Plane | Box):
            raise InputError(
                f"contact {self.name!r}: other is {self.other!r:.80}; give a Ball, Capsule, Plane or Box.",
                field="other",
                value=self.other,
                allowed=("Ball", "Capsule", "Plane", "Box"),
            )
        if self.one.link == self.other.link:
            text = f"contact {self.name!r} is of link {self.one.link!r} with itself; name two links."
            raise InputError(text, link=self.one.link, field="other")


@dataclass(frozen=True)
class Ground:
    """The half-space below a plane.

    Attributes:
        height: signed distance of the plane from the world origin along the normal [m].
        normal: upward normal in the world frame; normalized to unit length.
    """

    height: float = 0.0
    normal: Sequence[float] = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        """Check the values."""
        height = _vector((self.height, 0.0, 0.0), "ground: (height, 0, 0)")[0]
        set_values(self, height=height, normal=_direction(self.normal, "ground: normal"))


# --- frames of bodies -----------------------------------------------------------------------------------------------
def point_in_body(frame: Frame, xyz: Sequence[float]) -> Vec3:
    """Point of a link in the frame of its body [m]."""
    return to_vec3(frame.pose.point(to_vec3(xyz)))


def to_vec3(x: Iterable[float]) -> Vec3:
    """Convert three numbers to a vector of Python floats."""
    return Vec3(*map(float, x))
