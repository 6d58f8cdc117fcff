# SPDX-License-Identifier: Apache-2.0
"""Balance of a robot whose feet are fixed to the ground by joints.

Fixed feet can pull at the ground. The wrenches of their joints add up to a unique wrench, independent of its
distribution over two feet. If its zero-moment point is outside the convex hull of the soles, unilateral feet would tip.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.analysis.balance import UP, zmp_of_wrenches
from ada_dynamics.analysis.polygon import convex_hull, margin
from ada_dynamics.arrays import Array
from ada_dynamics.contact.shape_contacts import sole_points
from ada_dynamics.errors import InputError
from ada_dynamics.model.description import WORLD_LINK
from ada_dynamics.model.edit.parts import has_free_root
from ada_dynamics.model.edit.poses import link_poses
from ada_dynamics.model.model import Model


class FixedFeet(NamedTuple):
    """Balance along a motion on fixed feet.

    Attributes:
        zmp: zero-moment point of all feet, (N, 3) [m]; NaN while they pull.
        margin: signed distance of the zero-moment point to the border of the soles, (N,) [m]: negative outside, -inf
            while they pull.
        soles: corners of the convex hull of the soles, counter-clockwise, (n, 2) [m].
        wrenches: wrench [force, moment] of the ground in the world frame by fixing joint, (N, 6).
    """

    zmp: Array
    margin: Array
    soles: Array
    wrenches: dict[str, Array]


def fixed_feet_of(motion: Any) -> FixedFeet:
    """Zero-moment point and margin of a robot whose feet are fixed to the world or to its root link.

    Args:
        motion: a `Log`.

    Raises:
        InputError: no foot of the robot is fixed, or it has no soles.
    """
    model: Model = motion.model
    feet = fixing_joints(model)
    if not feet:
        raise InputError(
            f"no fixed joint or loop joins a foot of {model.name!r} to its root {model.root!r} or the world; use "
            "balance_of for feet in contact with the ground.",
            field="model",
            value=motion.model.name,
        )
    poses = link_poses(model, motion.q[0])
    points, wrenches = {}, {}
    for joint, link in feet.items():
        R, at = poses[link]
        own = motion.wrenches[joint]
        points[joint] = np.broadcast_to(at, (len(own), 3))
        wrenches[joint] = np.hstack([own[:, :3] @ R.T, own[:, 3:] @ R.T])
    zmp = zmp_of_wrenches(points, wrenches)
    hull = soles_of(model, motion.q[0])
    return FixedFeet(zmp, _margins(zmp[:, :2], hull), hull, wrenches)


def _margins(points: Array, hull: Array) -> Array:
    """`polygon.margin` of many points, -inf for points that are not finite."""
    along = np.roll(hull, -1, axis=0) - hull
    to = points[:, None, :] - hull
    inward = (along[:, 0] * to[..., 1] - along[:, 1] * to[..., 0]) / np.linalg.norm(along, axis=1)
    found = np.min(inward, axis=1)  # distance to the nearest line, which is that to the border for points inside
    outside = ~(found >= 0.0)
    found[outside] = [margin(p, hull) if np.isfinite(p).all() else -np.inf for p in points[outside]]
    return np.asarray(found, dtype=np.float64)


def fixing_joints(model: Model) -> dict[str, str]:
    """Links of the feet by name of the fixed joint or loop joint to the world or to a fixed root link."""
    ground = {WORLD_LINK} if has_free_root(model) else {WORLD_LINK, model.root}
    joints, loops = (
        {n: j.child for n, j in found.items() if j.kind == "fixed" and j.parent in ground}
        for found in (model.joints, model.loops)
    )
    return {**joints, **loops} if loops else {}


def soles_of(model: Model, q: Array) -> Array:
    """Convex hull of the corners of the lowest boxes at a configuration, (n, 2) [m]."""
    return _hull(model, tuple(q.tolist()))


@lru_cache(maxsize=8)
def _hull(model: Model, q: tuple[float, ...]) -> Array:
    positions = np.array(q)
    poses = link_poses(model, positions)
    corners = [poses[p.link][1] + poses[p.link][0] @ np.array(p.xyz) for p in sole_points(model, None, positions, UP)]
    return convex_hull(np.array(corners)[:, :2])
