# SPDX-License-Identifier: Apache-2.0
"""Contacts of a model: points and spheres of links on the ground, and pairs of simple shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ada_dynamics.algorithms.contact import ContactData, GroundContact, PairContact, normal_force, slip_resistance
from ada_dynamics.algorithms.crba import mass_matrix
from ada_dynamics.algorithms.jacobians import columns_at
from ada_dynamics.algorithms.kinematics import poses, transforms
from ada_dynamics.arrays import Array
from ada_dynamics.contact.geometry import (
    GRAVITY,
    Ball,
    Box,
    Capsule,
    ContactPair,
    ContactPoint,
    ContactSphere,
    Ground,
    Material,
    Obstacle,
    Plane,
    point_in_body,
    set_values,
    to_vec3,
)
from ada_dynamics.contact.shape_contacts import sole_points
from ada_dynamics.errors import InputError, invalid, unknown_name
from ada_dynamics.model.description import WORLD_LINK
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import WORLD, Frame, Tree
from ada_dynamics.spatial.vector import Vec3

if TYPE_CHECKING:
    from ada_dynamics.dynamics import Dynamics

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

LOADED_POINTS = 4  # largest number of points that share the weight in an estimate of rates


@dataclass(frozen=True)
class Contact:
    """Contacts of a model.

    Example::

        contact = Contact.of_soles(model)  # corner points of the lowest boxes
        contact = Contact(points=[ContactPoint("toe", "foot", (0.1, 0, 0))], material=Material(friction=0.5))

    Attributes:
        points: points that can touch the ground.
        spheres: spheres that can touch the ground.
        pairs: contacts between links.
        ground: plane of the ground.
        material: material of the contacts without a material.
    """

    points: Sequence[ContactPoint] = ()
    spheres: Sequence[ContactSphere] = ()
    pairs: Sequence[ContactPair] = ()
    ground: Ground = field(default_factory=Ground)
    material: Material = field(default_factory=Material)

    def __post_init__(self) -> None:
        """Check types and names."""
        for kind, name in ((ContactPoint, "points"), (ContactSphere, "spheres"), (ContactPair, "pairs")):
            given = getattr(self, name)
            items = tuple(given) if isinstance(given, Iterable) else (given,)
            if not all(isinstance(item, kind) for item in items):
                raise invalid(name, given, f"a list of {kind.__name__} objects", "contact: ")
            set_values(self, **{name: items})
        for cls, name in ((Ground, "ground"), (Material, "material")):
            if not isinstance(getattr(self, name), cls):
                raise invalid(name, getattr(self, name), f"a {cls.__name__}", "contact: ")
        seen: set[str] = set()
        for name in self.names:
            if name in seen:
                raise InputError(f"two contacts are named {name!r}; rename one.", field="name", value=name)
            seen.add(name)

    @property
    def names(self) -> list[str]:
        """Names of all contacts, in the order of `resolve`."""
        return [*(c.name for c in self.on_ground), *(pair.name for pair in self.pairs)]

    @property
    def on_ground(self) -> list[ContactPoint | ContactSphere]:
        """Points and spheres that can touch the ground."""
        return [*self.points, *self.spheres]

    def resolve(self, model: Model, tree: Tree | None = None) -> tuple[ContactData, ...]:
        """Contacts in the frames of bodies, for `algorithms.contact`.

        Args:
            model: model that contains the links.
            tree: tree of the model that defines the body frames; `model.tree` by default.

        Raises:
            InputError: a link is unknown or fixed to the world, or the links of a pair are fixed to each other.
        """
        tree = tree or model.tree
        found: list[ContactData] = []
        for c in self.on_ground:
            frame = _frame(tree, c.link, c.name)
            if frame.body == WORLD:
                text = (
                    f"contact {c.name!r}: link {c.link!r} is fixed to the world, so contacts cannot move it. Name a "
                    "link that moves, or load the model with base='floating'."
                )
                raise InputError(text, link=c.link, field=c.name)
            law = (c.material or self.material).law()
            normal = to_vec3(self.ground.normal)
            found.append(
                GroundContact(frame.body, point_in_body(frame, c.xyz), c.radius, law, normal, self.ground.height)
            )
        for pair in self.pairs:
            frame = _frame(tree, pair.one.link, pair.name)
            other = pair.other.in_body(_frame(tree, pair.other.link, pair.name))
            if other.body == frame.body:
                text = (
                    f"contact {pair.name!r}: links {pair.one.link!r} and {pair.other.link!r} are fixed to each other."
                )
                raise InputError(text, link=pair.one.link, field=pair.name, value=pair.other.link)
            law = (pair.material or pair.one.material or self.material).law()
            found.append(PairContact(frame.body, point_in_body(frame, pair.one.xyz), pair.one.radius, law, other))
        return tuple(found)

    # --- from the shapes of a model -----------------------------------------------------------------------------
    @classmethod
    def of_soles(
        cls,
        model: Model,
        links: Iterable[str] | None = None,
        *,
        q: Array | None = None,
        material: Material | None = None,
    ) -> Contact:
        """Corner points of the boxes that a robot stands on; see `shape_contacts.sole_points`.

        Args:
            model: model with boxes as collision shapes, or else as visual shapes.
            links: names of the feet; by default the links whose boxes are lowest at q.
            q: configuration in which the soles face the ground; neutral by default.
            material: material of all points; `Material.for_weight` of the model by default.
        """
        points = sole_points(model, links, model.neutral() if q is None else q)
        return cls(points, material=material or Material.for_weight(model.total_mass))


# --- frames of links ------------------------------------------------------------------------------------------------
def _frame(tree: Tree, link: str, contact: str) -> Frame:
    """Frame of a link or of the "world", which every tree contains."""
    if link not in tree.frames:
        raise InputError(
            f"contact {contact!r}: {unknown_name('link', link, tree.frames)}", link=link, field=contact, value=link
        )
    return tree.frames[link]


# --- reaction rates -------------------------------------------------------------------------------------------------
def contact_rate(model: Model, contact: Contact, q: Array | None = None) -> float:
    """Largest eigenvalue of the linearized contacts of a model at rest on the ground [1/s].

    Every contact is assumed to be loaded, each with a quarter of the weight (or an equal share of fewer contacts). The
    rate of springs is √(λ(M⁻¹ JᵀKJ)), the rate of dissipation and friction λ(M⁻¹ JᵀDJ). Loop constraints only reduce
    it; an impact at speed v increases it by 3/2 e ω v.

    Args:
        model: model that contains the links of the contacts.
        contact: the contacts; pairs are ignored.
        q: configuration; neutral by default.
    """
    tree = model.tree
    at = (model.neutral() if q is None else np.asarray(q, dtype=float)).tolist()
    grounds = [c for c in contact.resolve(model) if isinstance(c, GroundContact)]
    if not grounds or not model.nv:
        return 0.0
    gravity = float(np.linalg.norm(model.gravity)) or GRAVITY
    load = model.total_mass * gravity / min(len(grounds), LOADED_POINTS)
    world = poses(tree, transforms(tree, at))
    stiffness = np.zeros((model.nv, model.nv))
    damping = np.zeros((model.nv, model.nv))
    for c in grounds:
        n: Array = np.array(c.normal, dtype=float)
        x = np.array(world[c.body].point(c.point), dtype=float) - c.radius * n
        columns = columns_at(tree, at, world, c.body, Vec3(*x.tolist()))
        J: Array = np.array([m.linear for m in columns], dtype=float).T
        depth = (load / c.law.stiffness) ** (1.0 / c.law.exponent)
        normal = normal_force(c.law, depth, 0.0)
        slip = slip_resistance(c.law, normal.force, Vec3(0.0, 0.0, 0.0))
        outer = np.outer(n, n)
        stiffness += J.T @ (normal.by_depth * outer) @ J
        damping += J.T @ (normal.by_rate * outer + slip * (np.eye(3) - outer)) @ J
    L = np.linalg.cholesky(np.array(mass_matrix(tree, at).dense(), dtype=float))
    return max(float(np.sqrt(_largest(L, stiffness))), _largest(L, damping))


def _largest(L: Array, A: Array) -> float:
    """Largest eigenvalue of (L Lᵀ)⁻¹ A."""
    half = np.linalg.solve(L, A)
    return max(float(np.linalg.eigvalsh(np.linalg.solve(L, half.T))[-1]), 0.0)


# --- wrenches of contacts ------------------------------------------------------------------------------------------
class ContactFrame(NamedTuple):
    """Link and point at which the wrench of a contact acts."""

    link: str
    xyz: Sequence[float]  # in the link frame [m]
    other: str | None = None  # link that receives the opposite wrench; None for the ground


def contact_frames(contact: Contact | None) -> dict[str, ContactFrame]:
    """Frames in which the wrenches of contacts act, by name of the contact."""
    if contact is None:
        return {}
    frames = {c.name: ContactFrame(c.link, to_vec3(c.xyz)) for c in contact.on_ground}
    for pair in contact.pairs:
        other = None if pair.other.link == WORLD_LINK else pair.other.link
        frames[pair.name] = ContactFrame(pair.one.link, to_vec3(pair.one.xyz), other)
    return frames


def link_wrenches(
    dynamics: Dynamics, q: Array, wrenches: Mapping[str, Array], frames: Mapping[str, ContactFrame]
) -> dict[str, Array]:
    """Sum of contact wrenches by link, at the link origin in link axes, each (N, 6) [N, N m].

    Args:
        dynamics: dynamics of the robot.
        q: configurations, (N, nq).
        wrenches: wrench of each contact in world axes, (N, 6).
        frames: frames of the contacts.

    Raises:
        InputError: the frame of a contact is unknown.
    """
    total: dict[str, Array] = {}
    pose_of = cache(lambda link: dynamics.pose(link, q))
    for name, wrench in wrenches.items():
        if name not in frames:
            text = (
                f"the log has no frame of contact {name!r}, so its wrench cannot be transformed to a link; pass "
                "contact_frames={name: ContactFrame(link, xyz)} to the log."
            )
            raise InputError(text, field="contact_frames", value=name)
        frame = frames[name]
        pose = pose_of(frame.link)
        point = pose[:, :3, 3] + pose[:, :3, :3] @ np.asarray(frame.xyz)
        for link, sign in ((frame.link, 1.0), (frame.other, -1.0)):
            if link is not None:
                pose, force = pose_of(link), wrench[:, :3]
                moment = wrench[:, 3:] + np.cross(point - pose[:, :3, 3], force)
                own = [sign * np.einsum("nji,nj->ni", pose[:, :3, :3], x) for x in (force, moment)]
                total[link] = total.get(link, 0.0) + np.concatenate(own, axis=1)
    return total
