# SPDX-License-Identifier: Apache-2.0
"""Materials and geometry of contacts: points and spheres of links, obstacles, contact pairs, and the ground.

Four rates limit the time step h for a body of mass m on n points (`docs/contact.md` derives them): ω = √(p g / sink) of
the springs, independent of the mass; 3/2 e g of the dissipation at rest; 3/2 e ω v at an impact with speed v; and μ g /
v_s of the friction at rest. The pitching rate of a wide body is up to √3 times its heaving rate, and the friction at
the foot of a tall body acts on up to four times its inverse mass.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.algorithms import contact
from ada_dynamics.algorithms.contact import EXPONENTS, Law
from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, invalid
from ada_dynamics.model.rotations import to_mat3
from ada_dynamics.model.tree import Frame
from ada_dynamics.spatial.vector import Vec3

GRAVITY = 9.81  # [m/s²], for estimates
EXPLICIT_LIMIT = 1.5  # time step times rate for RK4 and RKF45, which are stable up to 2.8 on the negative real axis
TURNING = 3.0  # squared ratio of the pitching and the heaving rate of a wide body
LEVER = 4.0  # ratio of the inverse masses of a tall body at its foot and at its center of mass
DAMPING_RATIO = 0.2  # of a body at rest on its contacts


def finite_number(value: object, what: str, *, positive: bool = False) -> float:
    """Convert to a finite, non-negative number.

    Args:
        value: number.
        what: name of the value in error messages.
        positive: reject zero, too.

    Raises:
        InputError: the value is not such a number.
    """
    try:
        x = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        x = np.nan
    if not np.isfinite(x) or x < 0.0 or (positive and x == 0.0):
        raise invalid(what, value, f"a finite number, {'positive' if positive else 'not negative'}")
    return x


@dataclass(frozen=True)
class Material:
    """Parameters of contacts: Hunt-Crossley normal force and regularized Coulomb friction.

    With the defaults, every integrator simulates 1 kg on four points with a time step of 1 ms; the contacts sink 0.5
    mm.

    Attributes:
        stiffness: k in f = k δ^p (1 + 3/2 e δ̇) [N/m^p].
        dissipation: e, loss of restitution per impact speed [s/m]; 0 is elastic.
        friction: coefficient μ.
        slip_speed: speed below which friction is approximately viscous [m/s]; on a slope, a body at rest creeps at
            about slip_speed tan(slope) / μ.
        exponent: p, 1 for linear springs or 1.5 for two spheres (Hertz).
    """

    stiffness: float = 5000.0
    dissipation: float = 4.0
    friction: float = 0.8
    slip_speed: float = 0.02
    exponent: float = 1.0

    def __post_init__(self) -> None:
        """Check the values."""
        for name, positive in (("stiffness", True), ("slip_speed", True), ("dissipation", False), ("friction", False)):
            set_values(self, **{name: finite_number(getattr(self, name), f"material: {name}", positive=positive)})
        if self.exponent not in EXPONENTS:
            raise invalid("exponent", self.exponent, "1 (springs) or 1.5 (Hertz)", "material: ")
        set_values(self, exponent=float(self.exponent))

    def law(self) -> Law:
        """Contact law for `algorithms.contact`."""
        return Law(self.stiffness, self.exponent, self.dissipation, self.friction, self.slip_speed)

    @classmethod
    def for_weight(cls, mass: float, points: int = 4, step: float = 1e-3, *, friction: float = 0.8) -> Material:
        """Stiffest material for the mass of a robot and an explicit time step; contacts sink at least 0.5 mm.

        Args:
            mass: mass that the contacts carry [kg].
            points: number of points that share the weight.
            step: time step of an explicit integrator (RK4, RKF45) [s].
            friction: friction coefficient.
        """
        mass, step = finite_number(mass, "mass", positive=True), finite_number(step, "step", positive=True)
        friction, points_given = finite_number(friction, "friction"), finite_number(points, "points", positive=True)
        sink = max(5e-4, 4.0 * TURNING * GRAVITY * (step / EXPLICIT_LIMIT) ** 2)  # [m]
        stiffness = mass * GRAVITY / (points_given * sink)
        rate = float(np.sqrt(GRAVITY / sink))
        dissipation = 2.0 * DAMPING_RATIO * rate / (1.5 * GRAVITY)
        slip_speed = max(LEVER * friction * GRAVITY * step / EXPLICIT_LIMIT, 1e-3)
        return cls(stiffness, dissipation, friction, slip_speed)


def _vector(value: object, what: str) -> tuple[float, ...]:
    try:
        x = np.array(value, dtype=float)
    except (TypeError, ValueError):
        x = np.full(1, np.nan)
    if x.shape != (3,) or not np.isfinite(x).all():
        raise invalid(what, value, "3 finite numbers")
    return tuple(x.tolist())


def _direction(value: object, what: str) -> tuple[float, ...]:
    x = np.array(_vector(value, what))
    length = float(np.linalg.norm(x))
    if length < 1e-9:
        raise invalid(what, value, "a direction such as (0, 0, 1)")
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
            raise invalid("end", self.end, "another point than start, or take a Ball", f"{where}: ", link=self.link)

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
            raise invalid("size", self.size, "3 positive numbers", f"{where}: ", link=self.link)
        R = np.asarray(self.rotation, dtype=float)
        if R.shape != (3, 3) or not np.max(np.abs(R @ R.T - np.eye(3))) < 1e-9:
            raise invalid("rotation", R.tolist(), "a 3x3 rotation matrix", f"{where}: ", link=self.link)
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
            raise invalid("one", self.one, "a ContactPoint or a ContactSphere", f"contact {self.name!r}: ")
        if not isinstance(self.other, Ball | Capsule | Plane | Box):
            raise invalid("other", self.other, "a Ball, Capsule, Plane or Box", f"contact {self.name!r}: ")
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
