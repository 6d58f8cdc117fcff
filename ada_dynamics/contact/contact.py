# SPDX-License-Identifier: Apache-2.0
"""Contacts of a model as a user gives them: points and spheres of links on the ground, and pairs of simple shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from ada_dynamics.algorithms.contact import ContactData, GroundContact, PairContact
from ada_dynamics.arrays import Array
from ada_dynamics.contact import soles
from ada_dynamics.contact.material import Material
from ada_dynamics.contact.parts import (
    Ball,
    Box,
    Capsule,
    ContactPair,
    ContactPoint,
    ContactSphere,
    Ground,
    Obstacle,
    Plane,
    point_in,
    set_values,
    triple,
)
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import WORLD, Frame, Tree

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
]

T = TypeVar("T")


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
    ground: Ground = field(default_factory=Ground)
    material: Material = field(default_factory=Material)

    def __post_init__(self) -> None:
        """Check kinds and names."""
        for kind, name in ((ContactPoint, "points"), (ContactSphere, "spheres"), (ContactPair, "pairs")):
            set_values(self, **{name: _all_of(kind, getattr(self, name), name)})
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
            InputError: a link is unknown, or cannot move; neither side of a pair can.
        """
        tree = tree or model.tree
        found: list[ContactData] = []
        for c in self._on_ground:
            frame = _moving_frame(tree, c)
            law = (c.material or self.material).law()
            normal = triple(self.ground.normal)
            found.append(GroundContact(frame.body, point_in(frame, c.xyz), c.radius, law, normal, self.ground.height))
        for pair in self.pairs:
            frame = _frame(tree, pair.one.link, pair.name)
            other = pair.other.at(_frame(tree, pair.other.link, pair.name))
            if other.body == frame.body:
                raise InputError(
                    f"contact {pair.name!r}: links {pair.one.link!r} and {pair.other.link!r} are fixed to each other."
                )
            law = (pair.material or pair.one.material or self.material).law()
            found.append(PairContact(frame.body, point_in(frame, pair.one.xyz), pair.one.radius, law, other))
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


def _moving_frame(tree: Tree, of: ContactPoint | ContactSphere) -> Frame:
    frame = _frame(tree, of.link, of.name)
    if frame.body == WORLD:
        raise InputError(
            f"contact {of.name!r}: link {of.link!r} is fixed to the world, so that nothing can push it. Name a link "
            "that moves, or load the model with base='floating'."
        )
    return frame
