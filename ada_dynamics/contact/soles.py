# SPDX-License-Identifier: Apache-2.0
"""Contacts from the simple shapes of a model: corners of soles and boxes, spheres, ends of capsules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np

from ada_dynamics.algorithms.kinematics import link_pose
from ada_dynamics.arrays import Array
from ada_dynamics.contact.parts import ContactPoint, ContactSphere
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.model.elements import Link, Shape
from ada_dynamics.model.model import Model

SAME_HEIGHT = 1e-3  # [m]; boxes within this of the lowest one stand on the ground together with it
SIDES = (-0.5, 0.5)


def sole_points(model: Model, links: Iterable[str] | None, q: Array, normal: Sequence[float]) -> list[ContactPoint]:
    """The four corners of that side of each box which faces the ground in the pose q.

    Args:
        model: with boxes as collision (or else visual) shapes.
        links: the feet; None for those that reach the lowest.
        q: positions.
        normal: of the ground.

    Raises:
        InputError: a link is unknown or has no boxes, or there are none at all.
    """
    up: Array = np.array(normal, dtype=float)
    wanted = list(_links(model, links)) if links is not None else [k for k in model.links.values() if _boxes(k)]
    if not wanted:
        raise InputError(
            f"model {model.name!r} has no boxes among its shapes, so no soles are known. Give the links collision "
            "boxes, or the points themselves: Contact(points=[ContactPoint(name, link, xyz), ...])."
        )
    corners: dict[str, list[Array]] = {}
    lowest: dict[str, float] = {}
    for link in wanted:
        boxes = _boxes(link)
        if not boxes:
            kinds = sorted({s.kind for s in shapes_of(link)}) or ["none"]
            raise InputError(
                f"link {link.name!r} has no box among its shapes (it has: {', '.join(kinds)}), so its sole is unknown. "
                "Give it a collision box, or give the points themselves as ContactPoint(name, link, xyz)."
            )
        pose = link_pose(model.tree, q.tolist(), link.name)
        R: Array = np.array(pose.rotation.matrix(), dtype=float)
        found = [_facing(box, R.T @ up) for box in boxes]
        heights = [float(up @ (np.array(pose.position) + R @ c)) for side in found for c in side]
        lowest[link.name], corners[link.name] = min(heights), [c for side in found for c in side]
    floor = min(lowest.values())
    feet = [name for name in corners if links is not None or lowest[name] <= floor + SAME_HEIGHT]
    return [_named(name, i, c) for name in feet for i, c in enumerate(corners[name], start=1)]


def shape_contacts(model: Model, links: Iterable[str]) -> tuple[list[ContactPoint], list[ContactSphere]]:
    """8 corners of boxes, spheres, and spheres at both ends of capsules.

    Raises:
        InputError: a link is unknown, or has a shape that is none of these.
    """
    points: list[ContactPoint] = []
    spheres: list[ContactSphere] = []
    for link in _links(model, links):
        shapes = shapes_of(link)
        if not shapes:
            raise InputError(f"link {link.name!r} has no shapes to make contacts of; give it collision shapes.")
        corners = [c for s in shapes if s.kind == "box" for c in box_corners(s)]
        points += [_named(link.name, i, c) for i, c in enumerate(corners, start=1)]
        balls = [(c, s.size[0]) for s in shapes if s.kind in ("sphere", "capsule") for c in ball_centres(s)]
        for i, (c, radius) in enumerate(balls, start=1):
            spheres.append(ContactSphere(f"{link.name}_ball_{i}", link.name, c.tolist(), radius))
        other = next((s.kind for s in shapes if s.kind not in ("box", "sphere", "capsule")), None)
        if other:
            raise InputError(
                f"link {link.name!r} has a {other}; contacts are made of boxes, spheres and capsules. "
                "Replace it among the link's collision shapes by these."
            )
    return points, spheres


def _links(model: Model, links: Iterable[str]) -> list[Link]:
    names = [links] if isinstance(links, str) else list(links)
    for name in names:
        if name not in model.links:
            raise unknown_name("link", name, model.links)
    return [model.links[name] for name in names]


def shapes_of(link: Link) -> Sequence[Shape]:
    """Shapes of a link that touch others: its collision shapes, or else its visuals."""
    return link.collisions or link.visuals


def _boxes(link: Link) -> list[Shape]:
    return [s for s in shapes_of(link) if s.kind == "box"]


def box_corners(box: Shape) -> list[Array]:
    """Of a box, in the link's frame."""
    return [in_link(box, np.array(sides) * box.size) for sides in product(SIDES, SIDES, SIDES)]


def ball_centres(shape: Shape) -> list[Array]:
    """Of a sphere, or of both ends of a capsule."""
    if shape.kind == "sphere":
        return [in_link(shape, np.zeros(3))]
    return [in_link(shape, np.array([0.0, 0.0, side * shape.size[1]])) for side in SIDES]


def in_link(shape: Shape, x: Array) -> Array:
    """A point of a shape in the link's frame."""
    return np.asarray(shape.xyz + shape.rotation @ x, dtype=np.float64)


def _facing(box: Shape, up: Array) -> list[Array]:
    """The corners of the side that faces down most, in order around it; `up` is in the link's axes."""
    own = box.rotation.T @ up
    k = int(np.argmax(np.abs(own)))
    a, b = (k + 1) % 3, (k + 2) % 3
    corners = []
    for along_a, along_b in ((0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5), (0.5, -0.5)):
        x = np.zeros(3)
        x[k], x[a], x[b] = -0.5 * np.sign(own[k]), along_a, along_b
        corners.append(in_link(box, x * box.size))
    return corners


def _named(link: str, i: int, corner: Array) -> ContactPoint:
    return ContactPoint(f"{link}_{i}", link, corner.tolist())
