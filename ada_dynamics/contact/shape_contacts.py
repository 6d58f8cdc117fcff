# SPDX-License-Identifier: Apache-2.0
"""Contacts generated from the shapes of a model: soles, collision shapes, and the hulls of all bodies.

Boxes yield their corners, cylinders points on their rims, spheres and capsules spheres, meshes their vertices.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple, TypeAlias

import numpy as np

from ada_dynamics.algorithms.kinematics import all_link_poses, link_pose
from ada_dynamics.arrays import Array
from ada_dynamics.contact.geometry import ContactPoint, ContactSphere, Material
from ada_dynamics.errors import InputError, check_name
from ada_dynamics.model.elements import Link, Shape
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import WORLD
from ada_dynamics.spatial.transform import Transform

Vertices: TypeAlias = Callable[[Shape], Array | None]
"""Returns the scaled vertices of a mesh in its own frame, (n, 3), or None if it cannot be read."""

MAX_CONTACTS = 56  # of a robot: compiled in seconds, microseconds per time step
CORNERS = 8  # contacts of feet and heavy bodies
RESERVED = 16  # contacts reserved for bodies other than feet
HEAVY, LIMB, SMALL = 0.1, 0.02, 0.005  # fractions of the mass of a robot
NEAR_GROUND = 0.05  # fraction of the height of a robot within which its lowest bodies are feet
SAME_HEIGHT = 1e-4  # [m]
MIN_EXTENT = 1e-6  # [m], of a flat body
RIM = 8  # points on each rim of a cylinder
SOLE_HEIGHT = 1e-3  # [m], within which boxes are on the ground together with the lowest box
SIDES = (-0.5, 0.5)
_NO_SOLE = "no box, so its sole is unknown: add a collision box, or give Contact(points=[ContactPoint(...), ...])."


def sole_points(model: Model, links: Iterable[str] | None, q: Array) -> list[ContactPoint]:
    """Corner points of the lowest side of each box at the configuration q.

    Args:
        model: model with boxes as collision shapes, or else as visual shapes.
        links: names of the feet; None for the links whose boxes are lowest.
        q: configuration, (nq,).

    Raises:
        InputError: a link is unknown or has no boxes, or no link has boxes.
    """
    wanted = list(_links(model, links)) if links is not None else [k for k in model.links.values() if _boxes(k)]
    if not wanted:
        raise InputError(f"model {model.name!r} has {_NO_SOLE}", field="links", value=model.name)
    corners: dict[str, list[Array]] = {}
    lowest: dict[str, float] = {}
    for link in wanted:
        boxes = _boxes(link)
        if not boxes:
            kinds = sorted({s.kind for s in shapes_of(link)}) or ["none"]
            text = f"link {link.name!r} (shapes: {', '.join(kinds)}) has {_NO_SOLE}"
            raise InputError(text, link=link.name, field="links", value=kinds, allowed="box")
        pose = link_pose(model.tree, q.tolist(), link.name)
        R: Array = np.array(pose.rotation.matrix(), dtype=float)
        found = [_lowest_side(box, R[2]) for box in boxes]
        heights = [float(pose.position[2] + (R @ c)[2]) for side in found for c in side]
        lowest[link.name], corners[link.name] = min(heights), [c for side in found for c in side]
    floor = min(lowest.values())
    feet = [name for name in corners if links is not None or lowest[name] <= floor + SOLE_HEIGHT]
    return [
        ContactPoint(f"{name}_{i}", name, corner.tolist()) for name in feet for i, corner in enumerate(corners[name], 1)
    ]


_Row = tuple[str, Array, float, float | None]  # link, center in its frame, radius or zero, friction coefficient


def _as_contacts(model: Model, rows: Iterable[_Row]) -> tuple[list[ContactPoint], list[ContactSphere]]:
    """Named points and spheres, with materials for shapes with a friction coefficient."""
    points: list[ContactPoint] = []
    spheres: list[ContactSphere] = []
    materials: dict[float | None, Material | None] = {None: None}
    count: Counter[str] = Counter()
    for link, centre, radius, friction in rows:
        if friction is not None and friction not in materials:
            materials[friction] = Material.for_weight(model.total_mass, friction=friction)
        count[link] += 1
        name, xyz, material = f"{link}_{count[link]}", centre.tolist(), materials[friction]
        if radius > 0.0:
            spheres.append(ContactSphere(name, link, xyz, radius, material))
        else:
            points.append(ContactPoint(name, link, xyz, material))
    return points, spheres


def _links(model: Model, links: Iterable[str]) -> list[Link]:
    names = [links] if isinstance(links, str) else list(links)
    for name in names:
        check_name("link", name, model.links)
    return [model.links[name] for name in names]


def shapes_of(link: Link) -> Sequence[Shape]:
    """Collision shapes of a link, or else its visual shapes where these may collide."""
    return link.collisions or (link.visuals if link.visuals_collide else ())


def _boxes(link: Link) -> list[Shape]:
    return [s for s in shapes_of(link) if s.kind == "box"]


def point_in_link(shape: Shape, x: Array) -> Array:
    """Point of a shape in the link frame."""
    return np.asarray(shape.xyz + shape.rotation @ x, dtype=np.float64)


def _lowest_side(box: Shape, up: Array) -> list[Array]:
    """Corners of the lowest side of a box, in order around it; `up` is in link axes."""
    own = box.rotation.T @ up
    k = int(np.argmax(np.abs(own)))
    a, b = (k + 1) % 3, (k + 2) % 3
    corners = []
    for along_a, along_b in ((0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5), (0.5, -0.5)):
        x = np.zeros(3)
        x[k], x[a], x[b] = -0.5 * np.sign(own[k]), along_a, along_b
        corners.append(point_in_link(box, x * box.size))
    return corners


# --- hulls of all bodies -------------------------------------------------------------------------------------------
class _Candidates(NamedTuple):
    """Candidate contacts of a body; points have radius zero."""

    links: list[str]
    centres: Array  # (n, 3), in the link frames
    radii: Array  # (n,)
    placed: Array  # (n, 3), in the world frame
    frictions: list[float | None]  # coefficients; None for that of the material of the ground

    @property
    def heights(self) -> Array:
        """Heights of the lowest points, (n,) [m]."""
        return np.asarray(self.placed[:, 2] - self.radii)


class HullContacts(NamedTuple):
    """Points and spheres on the hulls of bodies, and links whose meshes are not available.

    Attributes:
        points: contact points.
        spheres: contact spheres.
        inertia_boxes: links without readable meshes, represented by the box with their inertia.
        missing: links without readable meshes and without inertia, which have no contacts.
    """

    points: list[ContactPoint]
    spheres: list[ContactSphere]
    inertia_boxes: list[str]
    missing: list[str]

    @property
    def note(self) -> str:
        """One line about the links that are represented by inertia boxes."""
        shown = ", ".join(self.inertia_boxes[:3]) + (", ..." if len(self.inertia_boxes) > 3 else "")
        return f"{len(self.inertia_boxes)} links without readable meshes touch as the box of their inertia: {shown}"


def hull_contacts(model: Model, q: Array, vertices: Vertices | None = None) -> HullContacts:
    """Contacts of a robot with the ground, at extreme points of its bodies.

    Feet and heavy bodies have up to eight contacts, other bodies fewer, depending on their mass.

    Args:
        model: model with collision shapes, or else visual shapes.
        q: configuration that determines which bodies are low, (nq,).
        vertices: reads meshes; without it, no mesh is readable.
    """
    found, inertia_boxes, missing = _candidates(model, q, vertices)
    selection = _selection(model, found)
    rows = (
        (found[body].links[i], found[body].centres[i], float(found[body].radii[i]), found[body].frictions[i])
        for body, chosen in selection.items()
        for i in chosen
    )
    return HullContacts(*_as_contacts(model, rows), inertia_boxes, missing)


def lowest_height(model: Model, q: Array, contacts: Sequence[ContactPoint | ContactSphere]) -> float:
    """Height of the lowest point of contacts at a configuration [m]."""
    world = all_link_poses(model.tree, q.tolist())
    return min(float(_in_world(world[c.link], np.array(c.xyz))[2]) - c.radius for c in contacts)


def _in_world(pose: Transform, points: Array) -> Array:
    """Points of a link in the world frame."""
    R, p = np.array(pose.rotation.matrix(), dtype=float), np.array(pose.position, dtype=float)
    return np.asarray(points @ R.T + p)


# --- candidates -----------------------------------------------------------------------------------------------------
def _candidates(
    model: Model, q: Array, vertices: Vertices | None
) -> tuple[dict[int, _Candidates], list[str], list[str]]:
    """Candidates by moving body, links represented by inertia boxes, and links without contacts."""
    world = all_link_poses(model.tree, q.tolist())
    inertia_boxes: list[str] = []
    missing: list[str] = []
    parts: dict[int, list[tuple[str, Array, float, float | None]]] = {}
    for link in model.links.values():
        body = model.tree.frames[link.name].body
        if body == WORLD or not shapes_of(link):
            continue
        balls = list(_shape_points(shapes_of(link), vertices))
        if not balls:
            box = _inertia_box(link)
            (missing if box is None else inertia_boxes).append(link.name)
            if box is None:
                continue
            balls = [(box, 0.0, shapes_of(link)[0].friction)]
        for centres, radius, friction in balls:
            parts.setdefault(body, []).append((link.name, centres, radius, friction))
    found = {}
    for body, pieces in parts.items():
        links = [name for name, centres, _, _ in pieces for _ in centres]
        frictions = [friction for _, centres, _, friction in pieces for _ in centres]
        radii = np.concatenate([np.full(len(centres), radius) for _, centres, radius, _ in pieces])
        centres = np.concatenate([piece[1] for piece in pieces])
        placed = np.concatenate([_in_world(world[name], own) for name, own, _, _ in pieces])
        found[body] = _Candidates(links, centres, radii, placed, frictions)
    return found, inertia_boxes, missing


def _shape_points(shapes: Sequence[Shape], vertices: Vertices | None) -> Iterator[tuple[Array, float, float | None]]:
    """Centers in the link frame, (n, 3), their radius with the margin of the contact, and the friction."""
    for shape in shapes:
        if shape.kind == "box":
            corners = [point_in_link(shape, np.array(sides) * shape.size) for sides in product(SIDES, SIDES, SIDES)]
            yield np.array(corners), shape.margin, shape.friction
        elif shape.kind in ("sphere", "capsule"):
            ends = [side * shape.size[1] for side in SIDES] if shape.kind == "capsule" else [0.0]
            centres = [point_in_link(shape, np.array([0.0, 0.0, z])) for z in ends]
            yield np.array(centres), shape.size[0] + shape.margin, shape.friction
        elif shape.kind == "cylinder":
            angles = 2.0 * np.pi * (np.arange(RIM) + 0.5) / RIM
            rim = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(RIM)]) * shape.size[0]
            rims = [rim + np.array([0.0, 0.0, side * shape.size[1]]) for side in SIDES]
            yield np.array([point_in_link(shape, x) for x in np.concatenate(rims)]), shape.margin, shape.friction
        else:
            own = None if vertices is None else vertices(shape)
            if own is not None and len(own):
                yield own @ np.asarray(shape.rotation).T + shape.xyz, shape.margin, shape.friction


def _inertia_box(link: Link) -> Array | None:
    """Corners of the homogeneous box with the mass and inertia of a link; None for a massless link."""
    if link.mass <= 0.0:
        return None
    moments, axes = np.linalg.eigh(np.asarray(link.inertia, dtype=np.float64))
    squares = 6.0 / link.mass * (moments.sum() - 2.0 * moments)
    half = 0.5 * np.sqrt(np.maximum(squares, 0.0))
    return np.array([link.com + axes @ (np.array(signs) * half) for signs in product((-1.0, 1.0), repeat=3)])


# --- selection ------------------------------------------------------------------------------------------------------
def _selection(model: Model, found: dict[int, _Candidates]) -> dict[int, list[int]]:
    """Selected candidates by body: most for feet and trunk, few for limbs; the lightest bodies may have none."""
    if not found:
        return {}
    heights = {body: float(np.min(one.heights)) for body, one in found.items()}
    top = max(float(np.max(one.placed[:, 2] + one.radii)) for one in found.values())
    floor = min(heights.values())
    feet = {body for body, height in heights.items() if height <= floor + NEAR_GROUND * (top - floor)}
    tips = _tips(model, set(found))
    shares = {body: float(model.tree.bodies[body].inertia.mass) / model.total_mass for body in found}

    def limit(body: int) -> int:
        if body in feet:
            return max(1, min(CORNERS, (MAX_CONTACTS - RESERVED) // len(feet)))
        if shares[body] >= HEAVY:
            return CORNERS
        if body in tips and shares[body] >= SMALL:
            return 4
        return 2 if shares[body] >= LIMB else 1

    selection: dict[int, list[int]] = {}
    left = MAX_CONTACTS
    for body in sorted(found, key=lambda body: (body not in feet, -shares[body])):
        if left:
            selection[body] = _extreme_points(found[body], min(limit(body), left))[:left]
            left -= len(selection[body])
    return selection


def _tips(model: Model, with_shapes: set[int]) -> set[int]:
    """Last body with a shape of each limb."""
    bodies = model.tree.bodies
    carries = {body.parent for body in bodies}
    tips = set()
    for tip in (body.index for body in bodies if body.index not in carries):
        body = tip
        while body != WORLD and body not in with_shapes:
            body = bodies[body].parent
        tips.add(body)
    return tips


def _extreme_points(one: _Candidates, most: int) -> list[int]:
    """Candidates that extend farthest towards the corners of the bounding box, or along the longest axis.

    Heights count twice, which selects the points of a rounded sole that touch the ground.
    """
    corners = np.array(list(product((-1.0, 1.0), repeat=3))) * (1.0, 1.0, 2.0)
    if most >= 4:
        towards = corners[corners[:, 2] < 0.0] if most < CORNERS else corners
        towards = towards / np.maximum(np.ptp(one.placed, axis=0), MIN_EXTENT)
    elif most >= 2:
        longest = np.linalg.svd(one.placed - one.placed.mean(axis=0), full_matrices=False)[2][0]
        towards = np.array([longest, -longest])
    else:
        towards = -np.eye(3)[2:]
    rows = [int(np.argmax(one.placed @ direction + one.radii * np.linalg.norm(direction))) for direction in towards]
    bottom = int(np.argmin(one.heights))
    if np.min(one.heights[rows]) > one.heights[bottom] + SAME_HEIGHT:
        rows.append(bottom)
    return list(dict.fromkeys(rows))
