# SPDX-License-Identifier: Apache-2.0
"""Contacts of a model as a user gives them: points and spheres of links on the ground, and pairs of simple shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.algorithms import contact_shapes
from ada_dynamics.algorithms.contact import ContactData, GroundContact, PairContact
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import WORLD, Frame, Tree
from ada_dynamics.simulation.contact_rates import fastest_rate
from ada_dynamics.simulation.material import Material, finite
from ada_dynamics.spatial.scalar import Mat3, Vec3

__all__ = [
    "Ball",
    "Box",
    "Capsule",
    "Contact",
    "ContactPair",
    "ContactPoint",
    "ContactSphere",
    "Ground",
    "Material",
    "Obstacle",
    "Plane",
    "fastest_rate",
]

Array = NDArray[np.float64]
T = TypeVar("T")


def _vector(value: object, what: str) -> Vec3:
    try:
        x = np.array(value, dtype=float)
    except (TypeError, ValueError):
        x = np.full(1, np.nan)
    if x.shape != (3,) or not np.isfinite(x).all():
        raise InputError(f"{what} is {value!r}; it must be 3 finite numbers.")
    return (float(x[0]), float(x[1]), float(x[2]))


def _direction(value: object, what: str) -> Vec3:
    x = np.array(_vector(value, what))
    length = float(np.linalg.norm(x))
    if length < 1e-9:
        raise InputError(f"{what} is {value!r}, of length zero; give a direction such as (0, 0, 1).")
    x = x if abs(length - 1.0) < 1e-15 else x / length
    return (float(x[0]), float(x[1]), float(x[2]))


def _set(owner: object, **values: object) -> None:
    for name, value in values.items():
        object.__setattr__(owner, name, value)


@dataclass(frozen=True)
class ContactPoint:
    """A point of a link that can stand on the ground."""

    name: str
    link: str
    xyz: Sequence[float]  # in the link's frame [m]
    material: Material | None = None  # its own; that of the contact otherwise

    def __post_init__(self) -> None:
        """Check the values."""
        _set(self, xyz=_vector(self.xyz, f"contact {self.name!r} of link {self.link!r}: xyz"))

    @property
    def radius(self) -> float:
        """That of a point."""
        return 0.0


@dataclass(frozen=True)
class ContactSphere:
    """A sphere of a link that can stand and roll on the ground."""

    name: str
    link: str
    xyz: Sequence[float]  # its centre in the link's frame [m]
    radius: float  # [m]
    material: Material | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        where = f"contact {self.name!r} of link {self.link!r}"
        _set(self, xyz=_vector(self.xyz, f"{where}: xyz"), radius=finite(self.radius, f"{where}: radius"))


# --- what the other side of a pair can be -----------------------------------------------------------------------------
@dataclass(frozen=True)
class Ball:
    """A sphere of a link (or of the "world")."""

    link: str
    xyz: Sequence[float]
    radius: float

    def __post_init__(self) -> None:
        """Check the values."""
        where = f"ball of link {self.link!r}"
        _set(self, xyz=_vector(self.xyz, f"{where}: xyz"), radius=finite(self.radius, f"{where}: radius"))

    def at(self, frame: Frame) -> contact_shapes.Obstacle:
        """In the frame of its body."""
        return contact_shapes.Ball(frame.body, _point(frame, self.xyz), self.radius)


@dataclass(frozen=True)
class Capsule:
    """All within a radius of the line between two points of a link."""

    link: str
    start: Sequence[float]
    end: Sequence[float]
    radius: float

    def __post_init__(self) -> None:
        """Check the values."""
        where = f"capsule of link {self.link!r}"
        _set(self, start=_vector(self.start, f"{where}: start"), end=_vector(self.end, f"{where}: end"))
        _set(self, radius=finite(self.radius, f"{where}: radius"))
        if np.linalg.norm(np.subtract(self.start, self.end)) < 1e-9:
            raise InputError(f"{where}: start and end are both {self.start}; take a Ball for a capsule without length.")

    def at(self, frame: Frame) -> contact_shapes.Obstacle:
        """In the frame of its body."""
        return contact_shapes.Capsule(frame.body, _point(frame, self.start), _point(frame, self.end), self.radius)


@dataclass(frozen=True)
class Plane:
    """All of a link behind a plane: a large flat side of it."""

    link: str
    xyz: Sequence[float] = (0.0, 0.0, 0.0)  # a point of the plane in the link's frame [m]
    normal: Sequence[float] = (0.0, 0.0, 1.0)  # out of the matter

    def __post_init__(self) -> None:
        """Check the values."""
        where = f"plane of link {self.link!r}"
        _set(self, xyz=_vector(self.xyz, f"{where}: xyz"), normal=_direction(self.normal, f"{where}: normal"))

    def at(self, frame: Frame) -> contact_shapes.Obstacle:
        """In the frame of its body."""
        n = frame.pose.rotation.up(_tuple3(self.normal))
        return contact_shapes.HalfSpace(frame.body, _point(frame, self.xyz), n)


@dataclass(frozen=True)
class Box:
    """A cuboid of a link."""

    link: str
    size: Sequence[float]  # its edges [m]
    xyz: Sequence[float] = (0.0, 0.0, 0.0)  # its centre in the link's frame [m]
    rotation: ArrayLike = field(default_factory=lambda: np.eye(3))

    def __post_init__(self) -> None:
        """Check the values."""
        where = f"box of link {self.link!r}"
        _set(self, xyz=_vector(self.xyz, f"{where}: xyz"), size=_vector(self.size, f"{where}: size"))
        if min(self.size) <= 0.0:
            raise InputError(f"{where}: size is {self.size}; its edges must be positive.")
        R = np.asarray(self.rotation, dtype=float)
        if R.shape != (3, 3) or not np.max(np.abs(R @ R.T - np.eye(3))) < 1e-9:
            raise InputError(f"{where}: rotation is {R.tolist()}; it must be a 3x3 rotation matrix.")
        _set(self, rotation=tuple(map(tuple, R.tolist())))

    def at(self, frame: Frame) -> contact_shapes.Obstacle:
        """In the frame of its body."""
        axes: Array = np.array(frame.pose.rotation.matrix()) @ np.array(self.rotation)
        half = tuple(0.5 * s for s in self.size)
        return contact_shapes.Box(frame.body, _point(frame, self.xyz), _tuple33(axes), _tuple3(half))


Obstacle: TypeAlias = Ball | Capsule | Plane | Box


@dataclass(frozen=True)
class ContactPair:
    """A point or a sphere of a link, and a shape of another link or of the "world" that it can touch."""

    name: str
    one: ContactPoint | ContactSphere
    other: Obstacle
    material: Material | None = None

    def __post_init__(self) -> None:
        """Check the kinds."""
        if not isinstance(self.one, ContactPoint | ContactSphere):
            raise InputError(f"contact {self.name!r}: one is {self.one!r:.80}; give a ContactPoint or a ContactSphere.")
        if not isinstance(self.other, Ball | Capsule | Plane | Box):
            raise InputError(f"contact {self.name!r}: other is {self.other!r:.80}; give a Ball, Capsule, Plane or Box.")
        if self.one.link == self.other.link:
            raise InputError(f"contact {self.name!r} is of link {self.one.link!r} with itself; name two links.")


@dataclass(frozen=True)
class Ground:
    """The half-space under a plane.

    Attributes:
        height: of the plane along its normal [m].
        normal: upward, in the world's axes; brought to unit length.
    """

    height: float = 0.0
    normal: Sequence[float] = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        """Check the values."""
        height = _vector((self.height, 0.0, 0.0), "ground: (height, 0, 0)")[0]
        _set(self, height=height, normal=_direction(self.normal, "ground: normal"))


@dataclass(frozen=True)
class Contact:
    """All contacts of a model.

    Example::

        contact = Contact.of_soles(model)                        # corner points of the boxes that it stands on
        contact = Contact(points=[ContactPoint("toe", "foot", (0.1, 0, 0))], material=Material(friction=0.5))

    Attributes:
        points: that can touch the ground.
        spheres: that can touch the ground.
        pairs: of links.
        ground: where it is.
        material: of all contacts that have none of their own.
    """

    points: Sequence[ContactPoint] = ()
    spheres: Sequence[ContactSphere] = ()
    pairs: Sequence[ContactPair] = ()
    ground: Ground = Ground()
    material: Material = field(default_factory=Material)

    def __post_init__(self) -> None:
        """Check kinds and names."""
        for kind, name in ((ContactPoint, "points"), (ContactSphere, "spheres"), (ContactPair, "pairs")):
            _set(self, **{name: _all_of(kind, getattr(self, name), name)})
        for cls, name in ((Ground, "ground"), (Material, "material")):
            if not isinstance(getattr(self, name), cls):
                raise InputError(f"contact: {name} is {getattr(self, name)!r:.80}; give a {cls.__name__}.")
        seen: set[str] = set()
        for name in self.names:
            if name in seen:
                raise InputError(f"two contacts are named {name!r}; names of contacts must be unique.")
            seen.add(name)

    @property
    def names(self) -> list[str]:
        """Of all contacts, in the order of `resolve`."""
        return [*(c.name for c in self._on_ground), *(pair.name for pair in self.pairs)]

    @property
    def _on_ground(self) -> list[ContactPoint | ContactSphere]:
        return [*self.points, *self.spheres]

    def resolve(self, model: Model, tree: Tree | None = None) -> tuple[ContactData, ...]:
        """The contacts as `algorithms.contact` takes them: in the frames of bodies.

        Args:
            model: whose links are named.
            tree: of that model, in whose bodies' axes the contacts are wanted; `model.tree` by default.

        Raises:
            InputError: a link is unknown, or cannot move.
        """
        tree = tree or model.tree
        found: list[ContactData] = []
        for c in self._on_ground:
            frame = _moving_frame(tree, c)
            law = (c.material or self.material).law()
            normal = _tuple3(self.ground.normal)
            found.append(GroundContact(frame.body, _point(frame, c.xyz), c.radius, law, normal, self.ground.height))
        for pair in self.pairs:
            frame = _moving_frame(tree, pair.one, pair.name)
            other = pair.other.at(_frame(tree, pair.other.link, pair.name))
            if other.body == frame.body:
                raise InputError(
                    f"contact {pair.name!r}: links {pair.one.link!r} and {pair.other.link!r} are fixed to each other."
                )
            law = (pair.material or pair.one.material or self.material).law()
            found.append(PairContact(frame.body, _point(frame, pair.one.xyz), pair.one.radius, law, other))
        return tuple(found)

    # --- from the shapes of a model -----------------------------------------------------------------------------
    @classmethod
    def of_soles(
        cls,
        model: Model,
        links: Iterable[str] | None = None,
        *,
        q: Array | None = None,
        ground: Ground | None = None,
        material: Material | None = None,
    ) -> Contact:
        """Corner points of the boxes that a robot stands on; see `soles.sole_points`.

        Args:
            model: with boxes as collision (or else visual) shapes.
            links: the feet; by default those that reach the lowest in the pose q.
            q: pose in which the soles face the ground; neutral by default.
            ground: the ground.
            material: of all of them; by default `Material.for_weight` of the model.
        """
        from ada_dynamics.simulation import soles

        ground = ground or Ground()
        points = soles.sole_points(model, links, model.neutral() if q is None else q, ground.normal)
        return cls(points, ground=ground, material=material or Material.for_weight(model.total_mass))

    @classmethod
    def of_shapes(
        cls,
        model: Model,
        links: Iterable[str],
        *,
        ground: Ground | None = None,
        material: Material | None = None,
    ) -> Contact:
        """Of all collision (or else visual) shapes of links: 8 corners of boxes, spheres, two spheres of a capsule.

        Args:
            model: with such shapes.
            links: whose shapes to take.
            ground: the ground.
            material: of all of them; by default `Material.for_weight` of the model.
        """
        from ada_dynamics.simulation import soles

        points, spheres = soles.shape_contacts(model, links)
        material = material or Material.for_weight(model.total_mass)
        return cls(points, spheres, ground=ground or Ground(), material=material)


def _all_of(kind: Callable[..., T], given: Iterable[T], name: str) -> tuple[T, ...]:
    items = tuple(_each(given, name))
    for item in items:
        if not isinstance(item, kind):  # type: ignore[arg-type]
            raise InputError(f"contact: {name} holds {item!r:.80}; give {kind.__name__} objects.")
    return items


def _each(given: Iterable[T], name: str) -> Iterator[T]:
    try:
        return iter(given)
    except TypeError:
        raise InputError(f"contact: {name} is {given!r:.80}; give a list.") from None


# --- in the frames of bodies ------------------------------------------------------------------------------------------
def _frame(tree: Tree, link: str, contact: str) -> Frame:
    """Of a link or the "world", which all trees know."""
    if link not in tree.frames:
        raise InputError(f"contact {contact!r}: {unknown_name('link', link, tree.frames)}")
    return tree.frames[link]


def _moving_frame(tree: Tree, of: ContactPoint | ContactSphere, contact: str | None = None) -> Frame:
    frame = _frame(tree, of.link, contact or of.name)
    if frame.body == WORLD:
        raise InputError(
            f"contact {contact or of.name!r}: link {of.link!r} is fixed to the world, so that nothing can push it. "
            "Name a link that moves, or load the model with base='floating'; in a pair, exchange the two sides."
        )
    return frame


def _point(frame: Frame, xyz: Sequence[float]) -> Vec3:
    return _tuple3(frame.pose.point_up(_tuple3(xyz)))


def _tuple3(x: Sequence[float]) -> Vec3:
    return (float(x[0]), float(x[1]), float(x[2]))


def _tuple33(R: Array) -> Mat3:
    return (_tuple3(R[0]), _tuple3(R[1]), _tuple3(R[2]))
