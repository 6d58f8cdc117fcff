# SPDX-License-Identifier: Apache-2.0
"""Balance on the ground: zero-moment point, support polygon, and the margin of the one within the other.

The ground is a plane: a unit normal and its height along it. Points of the plane are also given by two coordinates,
along `plane_axes(normal)`: x and y where the normal is +z.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.algorithms.centroidal import zero_moment_point
from ada_dynamics.analysis.momentum import mass_of, momentum_rate
from ada_dynamics.analysis.motion import dynamics_of
from ada_dynamics.analysis.polygon import convex_hull, margin
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError
from ada_dynamics.spatial.motion import Force
from ada_dynamics.spatial.vector import Vec3

# Contact -> link, point in its frame [m], and the link that takes the opposite wrench (none: the ground); the
# `contact_frames` of a log are such.
Places = Mapping[str, Any]

UP = (0.0, 0.0, 1.0)
_LIFTED = 1e-6  # of the largest normal force: less carries nothing, and its zero-moment point means nothing


def zmp_of_motion(
    dynamics: Dynamics,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    normal: ArrayLike = UP,
    height: float = 0.0,
    external: Mapping[str, ArrayLike] | None = None,
) -> Array:
    """Zero-moment point that a motion asks for, from the rates of momentum (Newton and Euler).

    The ground must supply the force ṗ - m g and, about the centre of mass, the moment L̇; at the zero-moment point
    nothing of that moment lies in the plane. Where the motion needs no force along the normal, it is NaN.

    Args:
        dynamics: of the robot; only what can move counts.
        q: positions, one state or many.
        v: velocities.
        a: accelerations.
        normal: unit normal of the ground.
        height: of the ground along its normal [m].
        external: wrench on a link, as for `Dynamics.forward`, that does not come from the ground; (6,) or (N, 6).

    Returns:
        (3,) or (N, 3) [m].
    """
    com, wrench = ground_wrench(dynamics, q, v, a, external)
    return _zmp([(com, wrench)], normal, height, mass_of(dynamics) * float(np.linalg.norm(dynamics.model.gravity)))


def ground_wrench(
    dynamics: Dynamics, q: ArrayLike, v: ArrayLike, a: ArrayLike, external: Mapping[str, ArrayLike] | None = None
) -> tuple[Array, Array]:
    """Wrench of the surroundings on the robot that this motion needs, beyond gravity and `external`.

    Returns:
        The centre of mass, and [force, moment about it] in the world's axes.
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
    points: Mapping[str, ArrayLike], wrenches: Mapping[str, ArrayLike], *, normal: ArrayLike = UP, height: float = 0.0
) -> Array:
    """Zero-moment point of the wrenches of the ground; NaN where they do not press.

    Args:
        points: by contact, where its wrench is taken about, (3,) or (N, 3), in the world.
        wrenches: by contact, [force, moment] of the ground on the body in the world's axes, (6,) or (N, 6).
        normal: unit normal of the ground.
        height: of the ground along its normal [m].

    Returns:
        (3,) or (N, 3) [m].
    """
    missing = [name for name in wrenches if name not in points]
    if missing or not wrenches:
        what = f"contact {missing[0]!r} has a wrench but no point" if missing else "there are no contact wrenches"
        raise InputError(
            f"{what}; give the point in the world about which each wrench is taken.",
            field="points",
            value=missing[0] if missing else None,
        )
    pairs = [(np.asarray(points[n], dtype=np.float64), np.asarray(w, dtype=np.float64)) for n, w in wrenches.items()]
    pressing = sum(w[..., :3] @ _unit(normal) for _, w in pairs)
    return _zmp(pairs, normal, height, float(np.max(np.abs(pressing), initial=0.0)))


def _zmp(pairs: list[tuple[Array, Array]], normal: ArrayLike, height: float, largest: float) -> Array:
    """The equation of `algorithms.centroidal` on columns of states."""
    N = _unit(normal)
    pressing = np.asarray(sum(w[..., :3] @ N for _, w in pairs), dtype=np.float64)
    carries = pressing > _LIFTED * largest
    lifted = ~carries if largest > 0.0 else np.ones_like(carries)
    acting = []
    for i, (point, wrench) in enumerate(pairs):
        # A force of 1 N instead of nothing keeps the division finite; its row becomes NaN below.
        force = np.where(lifted[..., None], N if i == 0 else 0.0, wrench[..., :3])
        acting.append((_columns(point), Force(_columns(wrench[..., 3:]), _columns(force))))
    x = zero_moment_point(acting, _columns(N), _columns(N * height))
    result = np.stack(np.broadcast_arrays(*x), axis=-1)
    result[lifted] = np.nan
    return result


def _columns(vectors: Array) -> Vec3:
    return Vec3(vectors[..., 0], vectors[..., 1], vectors[..., 2])


def _unit(normal: ArrayLike) -> Array:
    N = np.asarray(normal, dtype=np.float64)
    size = float(np.linalg.norm(N)) if N.shape == (3,) else 0.0
    if not 0.0 < size < np.inf:
        raise InputError(
            f"normal is {normal!r}; it must be a direction of 3 numbers, such as (0, 0, 1).",
            field="normal",
            value=normal,
            allowed="a direction of 3 numbers",
        )
    return N / size


def plane_axes(normal: ArrayLike = UP) -> Array:
    """Two unit vectors (rows) that span a plane and make a right-handed system with its normal; x and y for +z."""
    N = _unit(normal)
    nearest = np.eye(3)[0 if abs(N[0]) < 0.9 else 1]
    first = nearest - N * (N @ nearest)
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(N, first)])


def contact_points(dynamics: Dynamics, q: ArrayLike, places: Places) -> dict[str, Array]:
    """Points that are fixed to links, in the world.

    Args:
        dynamics: of the robot.
        q: positions, one state or many.
        places: name -> link, point in its frame.
    """
    found = {}
    poses = {link: dynamics.pose(link, q) for link in {place[0]: None for place in places.values()}}
    for name, (link, xyz, *_) in places.items():
        pose = poses[link]
        found[name] = pose[..., :3, 3] + pose[..., :3, :3] @ np.asarray(xyz, dtype=np.float64)
    return found


def support_polygon(points: ArrayLike, normal: ArrayLike = UP) -> Array:
    """Convex hull of the points in contact, in coordinates of the plane, counter-clockwise.

    Args:
        points: (k, 3) in the world.
        normal: of the ground.

    Returns:
        (n, 2); (0, 2) without contact, (1, 2) for a point, (2, 2) for a line.
    """
    cloud = np.asarray(points, dtype=np.float64).reshape(-1, 3)
    return convex_hull(cloud @ plane_axes(normal).T)


def support_margins(
    zmp: ArrayLike, points: Mapping[str, ArrayLike], loaded: Mapping[str, ArrayLike], *, normal: ArrayLike = UP
) -> Array:
    """How far the zero-moment point is inside the support polygon, at each time.

    Args:
        zmp: (N, 3) in the world.
        points: by contact, (N, 3) in the world.
        loaded: by contact, (N,): whether it touches, or its normal force (touching where it is positive).
        normal: of the ground.

    Returns:
        (N,) [m]: distance to the border, negative outside, at most zero on a line or a point; NaN where there is no
        zero-moment point; -inf where there is one but nothing touches.
    """
    axes = plane_axes(normal)
    flat = np.asarray(zmp, dtype=np.float64) @ axes.T
    if not points:
        return np.where(np.isfinite(flat).all(axis=1), -np.inf, np.nan)
    spots = np.stack([np.asarray(points[name], dtype=np.float64) @ axes.T for name in points], axis=1)
    touching = np.stack([np.asarray(loaded[name]) > 0 for name in points], axis=1)
    return np.array([margin(p, convex_hull(s[c])) for p, s, c in zip(flat, spots, touching, strict=True)])


class Balance(NamedTuple):
    """Balance along a motion on the ground.

    Attributes:
        zmp: zero-moment point of the contact wrenches, (N, 3) [m]; NaN while nothing presses on the ground.
        margin: of it within the support polygon, (N,) [m]; see `support_margins`.
        points: by contact with the ground, where it is, (N, 3) [m].
        forces: by contact with the ground, its normal force, (N,) [N].
    """

    zmp: Array
    margin: Array
    points: dict[str, Array]
    forces: dict[str, Array]

    def polygon(self, row: int, normal: ArrayLike = UP) -> Array:
        """Support polygon in one row; see `support_polygon`."""
        touching = [self.points[name][row] for name, force in self.forces.items() if force[row] > 0.0]
        return support_polygon(np.array(touching), normal)


def balance_of(motion: Any, *, places: Places | None = None, normal: ArrayLike = UP, height: float = 0.0) -> Balance:
    """Zero-moment point and support along a motion, from its contact wrenches.

    Args:
        motion: a `Log` with contact wrenches.
        places: where the contacts are; the log's own by default.
        normal: of the ground.
        height: of the ground along its normal [m].

    Raises:
        InputError: the motion has no contacts with the ground, or does not say where they are.
    """
    known = places if places is not None else getattr(motion, "contact_frames", None) or {}
    wrenches = getattr(motion, "contact_wrenches", None) or {}
    between_links = {name for name, place in known.items() if len(place) > 2 and place[2]}
    grounded = {name: w for name, w in wrenches.items() if name not in between_links}
    if not grounded:
        raise InputError(
            f"this motion of {motion.model.name!r} has no wrenches of contacts with the ground.",
            field="contacts",
            value=motion.model.name,
        )
    points = contact_points(dynamics_of(motion), motion.q, {name: known[name] for name in grounded if name in known})
    zmp = zmp_of_wrenches(points, grounded, normal=normal, height=height)
    forces = {name: np.asarray(w, dtype=np.float64)[..., :3] @ _unit(normal) for name, w in grounded.items()}
    return Balance(zmp, support_margins(zmp, points, forces, normal=normal), points, forces)
