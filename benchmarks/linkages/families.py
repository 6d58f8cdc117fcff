# SPDX-License-Identifier: Apache-2.0
"""Random linkages with more conditions than count, each in a closed pose known in closed form.

Every maker takes a random generator and returns a `Linkage` with one motion, but for spherical five- and six-bars (two
and three) and the parallelogram that carries a pendulum (two).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from benchmarks.linkages.linkage import GROUND, Linkage, Long, Pin, Solid, random_rotation, turn, unit

Array = Any  # longdouble
Maker = Callable[[np.random.Generator], Linkage]
Line = tuple[Array, Array]  # direction and a point
Z = np.array([0, 0, 1], dtype=Long)


def spherical(count: int) -> Maker:
    """`count` axes through one point, between 25 and 100 deg from each neighbour."""

    def make(rng: np.random.Generator) -> Linkage:
        lines = [(a, Long(rng.uniform(0.3, 0.9)) * a) for a in _spread(rng, count)]
        return _ring(f"spherical {count}-bar", lines, count - 3, rng)

    return make


def bennett(rng: np.random.Generator) -> Linkage:
    """Opposite links alike, a/sin α = b/sin β, any angle."""
    long, twist = rng.uniform(0.3, 0.5), rng.uniform(0.6, 1.4)
    short = long * rng.uniform(0.45, 0.85)
    return _ring("Bennett", _turned(bennett_lines(long, short, twist, rng.uniform(0.5, 2.6)), rng), 1, rng)


def goldberg(rng: np.random.Generator) -> Linkage:
    """Two Bennetts that share a link; of the joints at its ends one is locked, the shared link taken out: five bars."""
    shared, twist = rng.uniform(0.3, 0.5), rng.uniform(0.7, 1.3)
    one = bennett_lines(shared, shared * rng.uniform(0.5, 0.8), twist, rng.uniform(0.6, 2.4))
    other = bennett_lines(shared, shared * rng.uniform(0.5, 0.8), twist, rng.uniform(-2.4, -0.6))
    # Both begin with the two joints of the shared link, in the same place: (locked, kept, next, last).
    lines = [one[1], one[2], one[3], other[3], other[2]]
    return _ring("Goldberg 5-bar", _turned(lines, rng), 1, rng)


def sarrus(rng: np.random.Generator) -> Linkage:
    """Three parallel axes, then three more of another direction: the plate between them moves along a line."""
    directions = _spread(rng, 2)
    up, lines = unit(np.cross(*directions)), []
    for u, heights in zip(directions, ((0.0, 0.5, 1.0), (1.0, 0.5, 0.0)), strict=True):
        out = unit(np.cross(up, u))
        for height in heights:
            bulge = rng.uniform(0.4, 0.8) if height == 0.5 else rng.uniform(-0.1, 0.1)
            lines.append((u, Long(height) * up + Long(bulge) * out + Long(rng.uniform(-0.2, 0.2)) * u))
    return _ring("Sarrus", _turned(lines, rng), 1, rng)


def bricard_line(rng: np.random.Generator) -> Linkage:
    """Bricard's line-symmetric six-bar: three axes, and the same after half a turn about a line."""
    lines = _any_lines(rng, 3)
    half = turn(Z, 1) @ np.diag(np.array([1, -1, -1], dtype=Long)) @ turn(Z, -1)
    return _ring("Bricard, line-symmetric", _turned(lines + [(half @ a, half @ p) for a, p in lines], rng), 1, rng)


def bricard_plane(rng: np.random.Generator) -> Linkage:
    """Bricard's plane-symmetric six-bar: two axes in a plane, two beside it and their mirror images."""
    mirror = np.diag(np.array([1, 1, -1], dtype=Long))
    first, second, third, fourth = _any_lines(rng, 4)
    first, fourth = ((unit(a * [1, 1, 0]), p * [1, 1, 0]) for a, p in (first, fourth))
    images = [(mirror @ a, mirror @ p) for a, p in (third, second)]
    return _ring("Bricard, plane-symmetric", _turned([first, second, third, fourth, *images], rng), 1, rng)


def bricard_trihedral(rng: np.random.Generator) -> Linkage:
    """Bricard's trihedral six-bar, opposite links alike: neighbouring axes are perpendicular and all offsets zero.

    In this pose the axes lie along six edges of a box: three meet in one corner, three in the opposite one.
    """
    corner = rng.uniform(0.15, 0.45, 3).astype(Long)
    x, y, z = np.eye(3, dtype=Long)
    near = 0 * corner
    lines = [(x, near), (z, corner), (y, near), (x, corner), (z, near), (y, corner)]
    return _ring("Bricard, trihedral", _turned(lines, rng), 1, rng)


def planar_four_bar(rng: np.random.Generator) -> Linkage:
    """Four parallel axes: three conditions too many in space."""
    corners = rng.uniform(-0.15, 0.15, (4, 2)) + np.array([(0.0, 0.0), (0.2, 0.8), (1.3, 1.0), (1.2, 0.0)])
    return _ring("planar four-bar", _turned([_upright(x, z, rng) for x, z in corners], rng), 1, rng)


def three_cranks(rng: np.random.Generator) -> Linkage:
    """A parallelogram with three cranks alike with a pendulum on it: two motions, seven of ten conditions too many."""
    crank, slope = Long(rng.uniform(0.6, 0.9)), Long(rng.uniform(-1.0, 1.0))
    lift = crank * np.array([np.sin(slope), 0, np.cos(slope)], dtype=Long)
    feet = [_upright(x + rng.uniform(-0.1, 0.1), rng.uniform(-0.2, 0.2), rng) for x in (0.0, 0.6, 1.2)]
    hinge = _upright(rng.uniform(0.2, 1.0), 0.5, rng)
    y = feet[0][0]
    heads = [p + lift for _, p in feet]
    bodies = [
        [feet[0][1], heads[0]],
        heads,
        [hinge[1], hinge[1] - 0.8 * Z],
        [feet[1][1], heads[1]],
        [feet[2][1], heads[2]],
    ]
    tree = [
        (GROUND, 0, feet[0][1]),
        (0, 1, heads[0]),
        (1, 2, hinge[1]),
        (GROUND, 3, feet[1][1]),
        (GROUND, 4, feet[2][1]),
    ]
    return Linkage(
        "three cranks, pendulum",
        tuple(random_solid(points, rng) for points in bodies),
        tuple(Pin(parent, child, y, point) for parent, child, point in tree),
        (Pin(1, 3, y, heads[1]), Pin(1, 4, y, heads[2])),
        2,
    )


FAMILIES: Mapping[str, Maker] = MappingProxyType(
    {
        "spherical_4": spherical(4),
        "spherical_5": spherical(5),
        "spherical_6": spherical(6),
        "bennett": bennett,
        "goldberg": goldberg,
        "sarrus": sarrus,
        "bricard_line": bricard_line,
        "bricard_plane": bricard_plane,
        "bricard_trihedral": bricard_trihedral,
        "planar_four_bar": planar_four_bar,
        "three_cranks": three_cranks,
    }
)


# --- what they are made of ------------------------------------------------------------------------------------------
def bennett_lines(long: Any, short: Any, twist: Any, angle: Any) -> list[Line]:
    """Four axes of a closed Bennett linkage; the first one is z, the second one a long link away along x."""
    long, short, twist, angle = (Long(x) for x in (long, short, twist, angle))
    other = np.arcsin(short / long * np.sin(twist))
    # At the ends of a long link the angles obey tan(θ1/2) tan(θ2/2) = sin((β + α)/2) / sin((β - α)/2); θ3 = -θ1.
    ratio = np.sin((other + twist) / 2) / np.sin((other - twist) / 2)
    second = 2 * np.arctan2(ratio * np.cos(angle / 2), np.sin(angle / 2))
    x = np.array([1, 0, 0], dtype=Long)
    R, p, lines = np.eye(3, dtype=Long), np.zeros(3, dtype=Long), []
    for length, bend, theta in zip((long, short, long), (twist, other, twist), (0, second, -angle), strict=True):
        lines.append((R @ Z, p))
        R = R @ turn(Z, theta)
        p = p + length * (R @ x)
        R = R @ turn(x, bend)
    return [*lines, (R @ Z, p)]


def random_solid(points: Sequence[Array], rng: np.random.Generator) -> Solid:
    """A body about these points: its centre of mass beside them, any principal axes, no two moments alike."""
    middle, size = np.mean(points, axis=0), 0.1 + max(_norm(p - q) for p in points for q in points)
    mass = Long(rng.uniform(0.5, 3.0))
    com = middle + size * rng.uniform(-0.25, 0.25, 3)
    R, spread = random_rotation(rng), mass * size**2 * rng.uniform(0.01, 0.08, 3)
    inertia = R @ np.diag(np.sum(spread) - spread) @ R.T
    # As the library is told, which takes floats: both have the same masses and inertias to rounding of a rotation.
    return Solid(Long(float(mass)), com, 0.5 * (inertia + inertia.T))


def _ring(name: str, lines: Sequence[Line], mobility: int, rng: np.random.Generator) -> Linkage:
    """A single loop: body k lies between axes k and k + 1; the last axis joins the last body to the ground."""
    count = len(lines)
    solids = tuple(random_solid([lines[k][1], lines[k + 1][1]], rng) for k in range(count - 1))
    tree = tuple(Pin(k - 1 if k else GROUND, k, *lines[k]) for k in range(count - 1))
    return Linkage(name, solids, tree, (Pin(count - 2, GROUND, *lines[-1]),), mobility)


def _spread(rng: np.random.Generator, count: int) -> list[Array]:
    """Directions in a ring, each between 25 and 100 deg from the next, no three neighbours near one plane."""
    while True:
        a = [unit(x) for x in rng.normal(size=(count, 3))]
        pairs = [float(a[k] @ a[k - 1]) for k in range(count)]
        flat = [abs(float(np.dot(np.cross(a[k - 2], a[k - 1]), a[k]))) for k in range(count)] if count > 2 else [1.0]
        if np.cos(np.radians(100.0)) < min(pairs) and max(pairs) < np.cos(np.radians(25.0)) and min(flat) > 0.2:
            return a


def _any_lines(rng: np.random.Generator, count: int) -> list[Line]:
    return [(unit(rng.normal(size=3)), rng.uniform(-0.3, 0.3, 3).astype(Long)) for _ in range(count)]


def _upright(x: float, z: float, rng: np.random.Generator) -> Line:
    """A line along y."""
    return np.array([0, 1, 0], dtype=Long), np.array([x, rng.uniform(-0.1, 0.1), z], dtype=Long)


def _turned(lines: Sequence[Line], rng: np.random.Generator) -> list[Line]:
    """The whole in any orientation, so that gravity acts in any direction."""
    R = random_rotation(rng)
    return [(R @ a, R @ p) for a, p in lines]


def _norm(x: Array) -> Any:
    return np.sqrt(x @ x)
