# SPDX-License-Identifier: Apache-2.0
"""Balance on the ground: zero-moment point, support polygon and stability margin.

The ground is horizontal, with z upwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.analysis.motion import dynamics_of, mass_of, momentum_rate
from ada_dynamics.arrays import Array
from ada_dynamics.contact.shape_contacts import sole_points
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError, invalid
from ada_dynamics.model.description import WORLD_LINK
from ada_dynamics.model.edit.parts import has_free_root
from ada_dynamics.model.model import Model, link_poses

# Link, point in its frame [m], and the link with the opposite wrench (None for the ground) by contact, such as the
# `contact_frames` of a log.
ContactFrames = Mapping[str, Any]

_LIFTED = 1e-6  # relative to the largest normal force: the zero-moment point of smaller forces is undefined


def zmp_of_motion(
    dynamics: Dynamics,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    height: float = 0.0,
    external: Mapping[str, ArrayLike] | None = None,
) -> Array:
    """Zero-moment point required by a motion, from the rate of momentum (Newton-Euler).

    The ground must apply the force ṗ - m g and the moment L̇ about the center of mass; at the zero-moment point the
    horizontal components of the moment vanish. The result is NaN if the motion needs no vertical force.

    Args:
        dynamics: dynamics of the robot; fixed bodies are ignored.
        q: configuration(s).
        v: velocities.
        a: accelerations.
        height: height of the ground [m].
        external: wrenches on links other than those of the ground, as for `Dynamics.forward`, (6,) or (N, 6).

    Returns:
        Zero-moment point in the world frame, (3,) or (N, 3) [m].
    """
    com, wrench = ground_wrench(dynamics, q, v, a, external)
    return _zmp([(com, wrench)], height, mass_of(dynamics) * float(np.linalg.norm(dynamics.model.gravity)))


def ground_wrench(
    dynamics: Dynamics, q: ArrayLike, v: ArrayLike, a: ArrayLike, external: Mapping[str, ArrayLike] | None = None
) -> tuple[Array, Array]:
    """External wrench on the robot required by a motion in addition to gravity and `external`.

    Returns:
        The center of mass, and [force, moment about it] in the world frame.
    """
    com = dynamics.com(q)
    wrench = momentum_rate(dynamics, q, v, a)
    wrench[..., :3] -= mass_of(dynamics) * np.array(dynamics.model.gravity)
    for link, given in (external or {}).items():
        pose, own = dynamics.pose(link, q), np.asarray(given, dtype=np.float64)
        force = np.einsum("...ij,...j", pose[..., :3, :3], own[..., :3])
        moment = np.einsum("...ij,...j", pose[..., :3, :3], own[..., 3:])
        wrench[..., :3] -= force
        wrench[..., 3:] -= moment + np.cross(pose[..., :3, 3] - com, force)
    return com, wrench


def zmp_of_wrenches(
    points: Mapping[str, ArrayLike], wrenches: Mapping[str, ArrayLike], *, height: float = 0.0
) -> Array:
    """Zero-moment point of the wrenches of the ground; NaN without vertical force.

    Args:
        points: reference point of each wrench in the world frame by contact, (3,) or (N, 3).
        wrenches: [force, moment] of the ground on the body in the world frame by contact, (6,) or (N, 6).
        height: height of the ground [m].

    Returns:
        Zero-moment point in the world frame, (3,) or (N, 3) [m].
    """
    missing = [name for name in wrenches if name not in points]
    if missing or not wrenches:
        what = f"contact {missing[0]!r} has a wrench but no point" if missing else "there are no contact wrenches"
        text = f"{what}; give the reference point of each wrench in the world frame."
        raise InputError(text, field="points", value=missing[0] if missing else None)
    pairs = [(np.asarray(points[n], dtype=np.float64), np.asarray(w, dtype=np.float64)) for n, w in wrenches.items()]
    pressing = sum(w[..., 2] for _, w in pairs)
    return _zmp(pairs, height, float(np.max(np.abs(pressing), initial=0.0)))


def _zmp(pairs: list[tuple[Array, Array]], height: float, largest: float) -> Array:
    """Point at which the moment of wrenches about reference points has no horizontal component; NaN without force."""
    z = np.asarray(sum(w[..., 2] for _, w in pairs), dtype=np.float64)
    about = np.array([0.0, 0.0, height])
    moment = np.asarray(sum(w[..., 3:] + np.cross(point - about, w[..., :3]) for point, w in pairs), dtype=np.float64)
    carries = (z > _LIFTED * largest) & (largest > 0.0)
    pressing = np.where(carries, z, np.nan)
    return np.stack([-moment[..., 1] / pressing, moment[..., 0] / pressing, np.where(carries, height, np.nan)], axis=-1)


def contact_points(dynamics: Dynamics, q: ArrayLike, contact_frames: ContactFrames) -> dict[str, Array]:
    """Positions of contacts in the world frame.

    Args:
        dynamics: dynamics of the robot.
        q: configuration(s).
        contact_frames: link and point in its frame by contact.
    """
    found = {}
    poses = {link: dynamics.pose(link, q) for link in {place[0]: None for place in contact_frames.values()}}
    for name, (link, xyz, *_) in contact_frames.items():
        pose = poses[link]
        found[name] = pose[..., :3, 3] + pose[..., :3, :3] @ np.asarray(xyz, dtype=np.float64)
    return found


def support_margins(zmp: ArrayLike, points: Mapping[str, ArrayLike], loaded: Mapping[str, ArrayLike]) -> Array:
    """Signed distance of the zero-moment point to the border of the support polygon.

    Args:
        zmp: zero-moment points in the world frame, (N, 3).
        points: positions by contact in the world frame, (N, 3).
        loaded: contact flag or vertical force (contact if positive) by contact, (N,).

    Returns:
        (N,) [m]: positive inside, negative outside, at most zero for a line segment or a point; NaN without zero-moment
        point; -inf without contact.
    """
    flat = np.asarray(zmp, dtype=np.float64)[:, :2]
    if not points:
        return np.where(np.isfinite(flat).all(axis=1), -np.inf, np.nan)
    spots = np.stack([np.asarray(points[name], dtype=np.float64)[:, :2] for name in points], axis=1)
    touching = np.stack([np.asarray(loaded[name]) > 0 for name in points], axis=1)
    return np.array([margins(p[None], convex_hull(s[c]))[0] for p, s, c in zip(flat, spots, touching, strict=True)])


class GroundBalance(NamedTuple):
    """Balance along a motion on the ground.

    Attributes:
        zmp: zero-moment point of the contact wrenches, (N, 3) [m]; NaN without vertical force.
        margin: signed distance of the zero-moment point to the border of the support polygon, (N,) [m].
        points: positions of the contacts with the ground, (N, 3) [m].
        forces: vertical forces of the contacts with the ground, (N,) [N].
    """

    zmp: Array
    margin: Array
    points: dict[str, Array]
    forces: dict[str, Array]

    def polygon(self, row: int) -> Array:
        """Support polygon of one row, the convex hull of its contacts from above, as `convex_hull`."""
        touching = [self.points[name][row] for name, force in self.forces.items() if force[row] > 0.0]
        return convex_hull(np.array(touching).reshape(-1, 3)[:, :2])


def balance_of(motion: Any, *, contact_frames: ContactFrames | None = None, height: float = 0.0) -> GroundBalance:
    """Zero-moment point and support along a motion, from its contact wrenches.

    Args:
        motion: a `Log` with contact wrenches.
        contact_frames: link and point of each contact; those of the log by default.
        height: height of the ground [m].

    Raises:
        InputError: the motion has no contacts with the ground, or the frame of a contact is unknown.
    """
    known = contact_frames if contact_frames is not None else getattr(motion, "contact_frames", None) or {}
    wrenches = getattr(motion, "contact_wrenches", None) or {}
    between_links = {name for name, place in known.items() if len(place) > 2 and place[2]}
    grounded = {name: w for name, w in wrenches.items() if name not in between_links}
    if not grounded:
        text = f"this motion of {motion.model.name!r} has no wrenches of contacts with the ground."
        raise InputError(text, field="contacts", value=motion.model.name)
    points = contact_points(dynamics_of(motion), motion.q, {name: known[name] for name in grounded if name in known})
    zmp = zmp_of_wrenches(points, grounded, height=height)
    forces = {name: np.asarray(w, dtype=np.float64)[..., 2] for name, w in grounded.items()}
    return GroundBalance(zmp, support_margins(zmp, points, forces), points, forces)


# --- convex hulls in the plane -------------------------------------------------------------------------------------
_TINY = 1e-300  # against division by zero
_FLAT = 1e-12  # height of a corner relative to the size, below which it is ignored


def convex_hull(points: ArrayLike) -> Array:
    """Convex hull of points by Andrew's monotone chain, counter-clockwise.

    Args:
        points: (N, 2).

    Returns:
        (0, 2) without points, (1, 2) for coincident points, (2, 2) for collinear points, else (n, 2).
    """
    cloud = np.asarray(points, dtype=np.float64)
    if cloud.size == 0:
        return np.zeros((0, 2))
    if cloud.ndim != 2 or cloud.shape[1] != 2 or not np.isfinite(cloud).all():
        raise invalid("points", cloud.shape, "(N, 2), all finite", "shape of ")
    size = float(np.max(np.ptp(cloud, axis=0)))
    if size <= _FLAT * float(np.max(np.abs(cloud))):
        return cloud[:1].copy()
    corners = [(float(x), float(y)) for x, y in np.unique(cloud, axis=0)]  # sorted by x, then by y
    smallest = _FLAT * size * size
    lower, upper = _chain(corners, smallest), _chain(corners[::-1], smallest)
    return np.array(lower[:-1] + upper[:-1])


def _chain(corners: list[tuple[float, float]], smallest: float) -> list[tuple[float, float]]:
    """One side of the hull; corners that turn right or are collinear are removed."""
    kept: list[tuple[float, float]] = []
    for p in corners:
        while len(kept) > 1 and _turn(kept[-2], kept[-1], p) <= smallest:
            kept.pop()
        kept.append(p)
    return kept


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    """Twice the signed area of a triangle, positive for a left turn."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def margins(points: ArrayLike, hull: Array) -> Array:
    """Signed distances of points (N, 2) to the border of a hull, (N,): positive inside, negative outside.

    The distances are at most zero for a line segment or a point, -inf for an empty hull, NaN for points with NaN.
    """
    P = np.asarray(points, dtype=np.float64)
    starts = hull[:1] if len(hull) == 2 else hull
    along = np.roll(hull, -1, axis=0)[: len(starts)] - starts
    to = P[:, None] - starts
    share = np.sum(to * along, axis=2) / np.maximum(np.sum(along * along, axis=1), _TINY)
    distance = np.linalg.norm(to - np.clip(share, 0.0, 1.0)[..., None] * along, axis=2)
    is_left = along[:, 0] * to[..., 1] - along[:, 1] * to[..., 0] >= 0.0
    nearest = np.min(distance, axis=1, initial=np.inf)
    signed = np.where(is_left.all(axis=1) & (len(hull) > 2), nearest, -nearest)
    return np.where(np.isfinite(P).all(axis=1), signed, np.nan)


# --- feet fixed to the ground by joints ----------------------------------------------------------------------------
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
    found = margins(zmp[:, :2], hull)
    return FixedFeet(zmp, np.where(np.isnan(found), -np.inf, found), hull, wrenches)


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
    corners = [poses[p.link][1] + poses[p.link][0] @ np.array(p.xyz) for p in sole_points(model, None, positions)]
    return convex_hull(np.array(corners)[:, :2])
