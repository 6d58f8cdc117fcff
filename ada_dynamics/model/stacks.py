# SPDX-License-Identifier: Apache-2.0
"""Stacked constants of frames and bodies, ten times as fast as single small arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.elements import Link
from ada_dynamics.model.rotations import Pose, clean_relative, clean_rotation, product, turned
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.rotation import constant_rotation
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import Mat3, Vec3


def stack(values: Sequence[Array]) -> Array:
    """Stack small arrays; shared ones are converted once."""
    distinct = dict(zip(map(id, values), values, strict=True))
    rows = np.array(list(distinct.values()))
    if len(distinct) == len(values):
        return rows
    numbers = dict(zip(distinct, range(len(distinct)), strict=True))
    index = np.fromiter(map(numbers.__getitem__, map(id, values)), np.intp, len(values))
    shared: Array = rows[index]
    return shared


def stacked(poses: Sequence[Pose]) -> Pose:
    """Stack poses: rotations (n, 3, 3) and positions (n, 3)."""
    return stack([R for R, _ in poses]).reshape(-1, 3, 3), stack([p for _, p in poses]).reshape(-1, 3)


def cleaned(R: Array, p: Array) -> Pose:
    """Remove rounding errors next to exact zeros and ones, and negative zeros."""
    return clean_rotation(R) + 0.0, clean_relative(p, axes=1) + 0.0


def transforms(matrices: Array, positions: Array) -> list[Transform]:
    """Convert cleaned poses to transforms in their cheapest form; equal rotations are shared."""
    keys = [row.tobytes() for row in matrices]
    distinct = dict(zip(keys, matrices.tolist(), strict=True))
    rotations = {key: constant_rotation(Mat3.of(rows)) for key, rows in distinct.items()}
    return [Transform(rotations[key], Vec3(*x)) for key, x in zip(keys, positions.tolist(), strict=True)]


class Inertias(NamedTuple):
    """Spatial inertias of many bodies about their origins, one per row."""

    mass: Array
    first_moment: Array
    about_origin: Array

    @classmethod
    def of(cls, bodies: Sequence[RigidInertia]) -> Inertias:
        """Stack the inertias of bodies."""
        m, h, about = zip(*bodies, strict=True) if bodies else ((), (), ())
        return cls(np.array(m, float), np.array(h, float).reshape(-1, 3), np.array(about, float).reshape(-1, 3, 3))

    def each(self) -> list[RigidInertia]:
        """Return one object per body."""
        rows = zip(*(column.tolist() for column in self), strict=True)
        return [RigidInertia(m, Vec3(*h), Mat3.of(I)) for m, h, I in rows]


def point_inertias(m: Array, c: Array) -> Array:
    """Inertias about the origin of point masses (n,) at positions (n, 3).

    Diagonal entries are sums such as cy² + cz²; |c|² - cx² would lose the digits of small entries.
    """
    squares, found = c * c, -c[:, :, None] * c[:, None, :]
    for i in range(3):
        found[:, i, i] = squares[:, (i + 1) % 3] + squares[:, (i + 2) % 3]
    return np.asarray(m[:, None, None] * found)


def point_inertia(m: float, c: Array) -> Array:
    """Inertia about the origin of one point mass at c."""
    return np.asarray(point_inertias(np.array([m]), np.asarray(c, dtype=float)[None, :])[0])


def inertia_about_com(inertia: RigidInertia) -> Array:
    """Rotational inertia of a body with mass about its centre of mass."""
    c = np.array(inertia.first_moment) / inertia.mass
    return np.asarray(np.array(inertia.about_origin) - point_inertia(inertia.mass, c))


def inertias(parts: Sequence[tuple[int, Link, Pose]], count: int) -> Inertias:
    """Inertias of bodies about their origins, summed over the links fixed to them (Takahashi 2012, eq. A.29).

    Args:
        parts: number of the body, a link and its pose in the body.
        count: number of bodies.
    """
    links = [link for _, link, _ in parts]
    R, p = stacked([pose for *_, pose in parts])
    I, com = stacked([(link.inertia, link.com) for link in links])
    m = np.array([link.mass for link in links])
    c = p + turned(R, com)
    about = product(product(R, I), R.swapaxes(1, 2)) + point_inertias(m, c)
    body = np.array([number for number, _, _ in parts], dtype=np.intp)
    mass, h, total = np.zeros(count), np.zeros((count, 3)), np.zeros((count, 3, 3))
    for sums, values in ((mass, m), (h, m[:, None] * c), (total, about)):
        np.add.at(sums, body, values)
    symmetric = clean_relative(0.5 * (total + total.swapaxes(1, 2)), axes=(1, 2))
    return Inertias(mass, clean_relative(h, axes=1) + 0.0, symmetric + 0.0)
