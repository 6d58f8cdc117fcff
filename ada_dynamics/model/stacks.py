# SPDX-License-Identifier: Apache-2.0
"""Constants of many frames and bodies at once: in a stack they cost a tenth of what they do as so many small arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.align import clean_relative, clean_rotation
from ada_dynamics.model.elements import Link
from ada_dynamics.model.rigid import Pose
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.rotation import constant_rotation
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vec3 import Mat3, Vec3


def stacked(poses: Sequence[Pose]) -> Pose:
    """Many poses as a stack of matrices and one of vectors."""
    return np.array([R for R, _ in poses]).reshape(-1, 3, 3), np.array([p for _, p in poses]).reshape(-1, 3)


def turned(R: Array, p: Array) -> Array:
    """R p for stacks."""
    out: Array = (R @ p[:, :, None])[:, :, 0]
    return out


def transforms(R: Array, p: Array) -> list[Transform]:
    """Stacked poses as constants of the algorithms, in their cheapest forms."""
    matrices, positions = clean_rotation(R) + 0.0, clean_relative(p, axes=1) + 0.0  # + 0.0: no negative zeros
    keys = [row.tobytes() for row in matrices]
    distinct = dict(zip(keys, matrices.tolist(), strict=True))
    rotations = {key: constant_rotation(Mat3.of(rows)) for key, rows in distinct.items()}
    return [Transform(rotations[key], Vec3(*x)) for key, x in zip(keys, positions.tolist(), strict=True)]


def inertias(parts: Sequence[tuple[int, Link, Pose]], count: int) -> list[RigidInertia]:
    """Inertias of bodies about their origins, of all links fixed to them (Takahashi 2012, eq. A.29).

    Args:
        parts: number of the body, a link and its pose in the body.
        count: number of bodies.
    """
    links = [link for _, link, _ in parts]
    R, p = stacked([pose for *_, pose in parts])
    I, com = stacked([(link.inertia, link.com) for link in links])
    m = np.array([link.mass for link in links])
    c = p + turned(R, com)
    square = c[:, None, :] @ c[:, :, None]
    about = R @ I @ R.swapaxes(1, 2) + m[:, None, None] * (square * np.eye(3) - c[:, :, None] * c[:, None, :])
    body = np.array([number for number, _, _ in parts], dtype=np.intp)
    mass, h, total = np.zeros(count), np.zeros((count, 3)), np.zeros((count, 3, 3))
    for sums, values in ((mass, m), (h, m[:, None] * c), (total, about)):
        np.add.at(sums, body, values)
    symmetric = clean_relative(0.5 * (total + total.swapaxes(1, 2)), axes=(1, 2))
    rows = zip(mass.tolist(), (clean_relative(h, axes=1) + 0.0).tolist(), (symmetric + 0.0).tolist(), strict=True)
    return [RigidInertia(m, Vec3(*h), Mat3.of(I)) for m, h, I in rows]
