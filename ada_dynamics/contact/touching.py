# SPDX-License-Identifier: Apache-2.0
"""Points and spheres of a robot that can touch the ground, on the hulls of its bodies.

Boxes give their corners, cylinders points on their rims, spheres and capsules balls, meshes their vertices. Of all
these, each body keeps the ones that stick out: eight of feet and heavy bodies, fewer of limbs, by mass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import NamedTuple, TypeAlias

import numpy as np

from ada_dynamics.algorithms.kinematics import poses, transforms
from ada_dynamics.arrays import Array
from ada_dynamics.contact.parts import ContactPoint, ContactSphere
from ada_dynamics.contact.soles import ball_centres, box_corners, in_link, shapes_of
from ada_dynamics.model.elements import Link, Shape
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import WORLD
from ada_dynamics.spatial.transform import Transform

Vertices: TypeAlias = Callable[
    [Shape], Array | None
]  # of a mesh in its own frame, scaled; None where it is not to be had

MOST = 56  # contacts of a robot: they compile in seconds and step in microseconds
CORNERS = 8  # contacts of feet and heavy bodies
RESERVED = 16  # contacts that feet leave to others
HEAVY, LIMB, SMALL = 0.1, 0.02, 0.005  # shares of a robot's mass
NEAR_GROUND = 0.05  # share of a robot's height within which its lowest bodies count as feet
SAME_HEIGHT = 1e-4  # [m]
FLAT = 1e-6  # [m], of a body without extent in a direction
RIM = 8  # points on each rim of a cylinder


class _Candidates(NamedTuple):
    """Balls of a body; points have no radius."""

    links: list[str]
    centres: Array  # (n, 3), in the links' frames
    radii: Array  # (n,)
    placed: Array  # (n, 3), in the world

    @property
    def heights(self) -> Array:
        """Of their lowest points, (n,)."""
        return np.asarray(self.placed[:, 2] - self.radii)


class Touching(NamedTuple):
    """Points and spheres that can touch the ground, and links that have none."""

    points: list[ContactPoint]
    spheres: list[ContactSphere]
    stand_ins: list[str]  # links whose meshes are not to be had, for which the box of their inertia touches
    unread: list[str]  # links whose meshes are not to be had, and which have no inertia either

    @property
    def stand_ins_in_words(self) -> str:
        """One line about stand-ins."""
        shown = ", ".join(self.stand_ins[:3]) + (", ..." if len(self.stand_ins) > 3 else "")
        return f"{len(self.stand_ins)} links without meshes that can be read touch as the box of their inertia: {shown}"


def touching(model: Model, q: Array, vertices: Vertices | None = None) -> Touching:
    """Contacts of a robot with the ground.

    Args:
        model: with collision (or else visual) shapes.
        q: pose in which bodies are low or high.
        vertices: reads meshes; without it, none can be read.
    """
    found, stand_ins, unread = _candidates(model, q, vertices)
    kept = _kept(model, found)
    points, spheres, count = [], [], dict.fromkeys(model.links, 0)
    for body, rows in kept.items():
        for i in rows:
            one = found[body]
            link, xyz, radius = one.links[i], one.centres[i].tolist(), float(one.radii[i])
            count[link] += 1
            if radius > 0.0:
                spheres.append(ContactSphere(f"{link}_{count[link]}", link, xyz, radius))
            else:
                points.append(ContactPoint(f"{link}_{count[link]}", link, xyz))
    return Touching(points, spheres, stand_ins, unread)


def lowest(model: Model, q: Array, contacts: Sequence[ContactPoint | ContactSphere]) -> float:
    """Height of the lowest point of contacts [m]."""
    frames = _link_frames(model, q)
    return min(float(frames[c.link](np.array(c.xyz))[2]) - c.radius for c in contacts)


# --- what there is ----------------------------------------------------------------------------------------------------
def _candidates(
    model: Model, q: Array, vertices: Vertices | None
) -> tuple[dict[int, _Candidates], list[str], list[str]]:
    """By moving body; and links whose meshes are not to be had."""
    frames = _link_frames(model, q)
    stand_ins: list[str] = []
    unread: list[str] = []
    parts: dict[int, list[tuple[str, Array, Array]]] = {}
    for link in model.links.values():
        body = model.tree.frames[link.name].body
        if body == WORLD or not shapes_of(link):
            continue
        balls = list(_balls(shapes_of(link), vertices))
        if not balls:
            box = _inertia_box(link)
            (unread if box is None else stand_ins).append(link.name)
            if box is None:
                continue
            balls = [(box, 0.0)]
        for centres, radius in balls:
            parts.setdefault(body, []).append((link.name, centres, np.full(len(centres), radius)))
    found = {}
    for body, pieces in parts.items():
        links = [name for name, centres, _ in pieces for _ in centres]
        centres = np.concatenate([piece[1] for piece in pieces])
        placed = np.concatenate([frames[name](own) for name, own, _ in pieces])
        found[body] = _Candidates(links, centres, np.concatenate([piece[2] for piece in pieces]), placed)
    return found, stand_ins, unread


def _link_frames(model: Model, q: Array) -> dict[str, Callable[[Array], Array]]:
    """By link that moves, what brings points of it into the world."""
    world = poses(model.tree, transforms(model.tree, q.tolist()))
    frames = {name: frame for name, frame in model.tree.frames.items() if frame.body != WORLD}
    return {name: _mover(world[frame.body] @ frame.pose) for name, frame in frames.items()}


def _mover(pose: Transform) -> Callable[[Array], Array]:
    R, p = np.array(pose.rotation.matrix(), dtype=float), np.array(pose.position, dtype=float)
    return lambda x: np.asarray(x @ R.T + p)


def _balls(shapes: Sequence[Shape], vertices: Vertices | None) -> Iterator[tuple[Array, float]]:
    """Centres in the link's frame, and their radius."""
    for shape in shapes:
        if shape.kind == "box":
            yield np.array(box_corners(shape)), 0.0
        elif shape.kind in ("sphere", "capsule"):
            yield np.array(ball_centres(shape)), shape.size[0]
        elif shape.kind == "cylinder":
            angles = 2.0 * np.pi * (np.arange(RIM) + 0.5) / RIM
            rim = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(RIM)]) * shape.size[0]
            ends = [rim + np.array([0.0, 0.0, side * shape.size[1]]) for side in (-0.5, 0.5)]
            yield np.array([in_link(shape, x) for x in np.concatenate(ends)]), 0.0
        else:
            own = None if vertices is None else vertices(shape)
            if own is not None and len(own):
                yield own @ np.asarray(shape.rotation).T + shape.xyz, 0.0


def _inertia_box(link: Link) -> Array | None:
    """Corners of the even box that has the link's mass and inertia; None where it has none."""
    if link.mass <= 0.0:
        return None
    moments, axes = np.linalg.eigh(np.asarray(link.inertia, dtype=np.float64))
    squares = 6.0 / link.mass * (moments.sum() - 2.0 * moments)
    half = 0.5 * np.sqrt(np.maximum(squares, 0.0))
    return np.array([link.com + axes @ (np.array(signs) * half) for signs in product((-1.0, 1.0), repeat=3)])


# --- what is kept -----------------------------------------------------------------------------------------------------
def _kept(model: Model, found: dict[int, _Candidates]) -> dict[int, list[int]]:
    """By body, rows of its candidates: many of feet and trunk, few of limbs, none of the lightest if they are many."""
    if not found:
        return {}
    heights = {body: float(np.min(one.heights)) for body, one in found.items()}
    top = max(float(np.max(one.placed[:, 2] + one.radii)) for one in found.values())
    floor = min(heights.values())
    feet = {body for body, height in heights.items() if height <= floor + NEAR_GROUND * (top - floor)}
    tips = _tips(model, set(found))
    shares = {body: float(model.tree.bodies[body].inertia.mass) / model.total_mass for body in found}

    def wanted(body: int) -> int:
        if body in feet:
            return max(1, min(CORNERS, (MOST - RESERVED) // len(feet)))
        if shares[body] >= HEAVY:
            return CORNERS
        if body in tips and shares[body] >= SMALL:
            return 4
        return 2 if shares[body] >= LIMB else 1

    kept: dict[int, list[int]] = {}
    left = MOST
    for body in sorted(found, key=lambda body: (body not in feet, -shares[body])):
        if left:
            kept[body] = _sticking_out(found[body], min(wanted(body), left))[:left]
            left -= len(kept[body])
    return kept


def _tips(model: Model, clad: set[int]) -> set[int]:
    """The last body with a shape on each limb."""
    bodies = model.tree.bodies
    carries = {body.parent for body in bodies}
    tips = set()
    for tip in (body.index for body in bodies if body.index not in carries):
        body = tip
        while body != WORLD and body not in clad:
            body = bodies[body].parent
        tips.add(body)
    return tips


def _sticking_out(one: _Candidates, most: int) -> list[int]:
    """Rows of the candidates that reach farthest: to the corners of the box around them, or along its length.

    Corners count their height twice: of a rounded sole, those are kept that it stands on.
    """
    corners = np.array(list(product((-1.0, 1.0), repeat=3))) * (1.0, 1.0, 2.0)
    if most >= 4:
        towards = corners[corners[:, 2] < 0.0] if most < CORNERS else corners
        towards = towards / np.maximum(np.ptp(one.placed, axis=0), FLAT)
    elif most >= 2:
        longest = np.linalg.svd(one.placed - one.placed.mean(axis=0), full_matrices=False)[2][0]
        towards = np.array([longest, -longest])
    else:
        towards = -np.eye(3)[2:]
    rows = [int(np.argmax(one.placed @ way + one.radii * np.linalg.norm(way))) for way in towards]
    bottom = int(np.argmin(one.heights))
    if np.min(one.heights[rows]) > one.heights[bottom] + SAME_HEIGHT:
        rows.append(bottom)
    return list(dict.fromkeys(rows))
