# SPDX-License-Identifier: Apache-2.0
"""Design of linkages: coupler curves, transmission angles and dead points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.analysis.singularity import singularity_times
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.coordinates import least_share, null_space, velocities_of
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.computation import require_link

LinkPoint = tuple[str, ArrayLike]
"""Name of a link, and a point in its frame [m]."""


def point_path(dynamics: Dynamics, link: str, q: ArrayLike, point: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
    """Position of a point of a link in the world, (3,) or (N, 3) [m]."""
    require_link(dynamics, link)
    pose = dynamics.pose(link, q)
    return np.asarray(pose[..., :3, 3] + pose[..., :3, :3] @ np.asarray(point, dtype=np.float64))


def coupler_curve(
    dynamics: Dynamics, link: str, joint: str, positions: ArrayLike, point: ArrayLike = (0.0, 0.0, 0.0)
) -> tuple[Array, Array]:
    """Configurations, (N, nq), and path of a point of a link, (N, 3) [m], while a joint moves.

    The loops are closed in the assembly mode of the dynamics (`q0`).

    Args:
        dynamics: dynamics of a linkage of mobility 1.
        link: link of the point, such as the coupler.
        joint: driving joint, such as the crank.
        positions: positions of the driving joint [rad, m], (N,).
        point: point in the frame of the link [m].

    Raises:
        InputError: the joint does not determine the motion.
        SingularConfigurationError: there is a dead point on the way.
        ModelError: the loops cannot be closed at one of the positions.
    """
    q = dynamics.constraints.complete_position(np.asarray(positions, dtype=np.float64)[:, None], [joint])
    return q, point_path(dynamics, link, q, point)


def transmission_angle(
    dynamics: Dynamics, q: ArrayLike, coupler: LinkPoint, pin: LinkPoint, output: LinkPoint
) -> Array:
    """Angle between two bars at their common pin, in [0, π/2] [rad]; a number, or (N,).

    A linkage transmits forces well if the angle between coupler and output link is at least 0.7 rad (40 deg).

    Args:
        dynamics: dynamics of the linkage.
        q: configuration(s).
        coupler: other end of the coupler.
        pin: common pin, on either link.
        output: other end of the output link, such as its pivot on the ground.
    """
    at, one, other = (point_path(dynamics, link, q, point) for link, point in (pin, coupler, output))
    a, b = one - at, other - at
    across = np.linalg.norm(np.cross(a, b), axis=-1)
    return np.asarray(np.arctan2(across, np.abs(np.sum(a * b, axis=-1))))


def dead_points(dynamics: Dynamics, t: ArrayLike, q: ArrayLike, joints: Sequence[str] | None = None) -> Array:
    """Times at which joints lose control of the linkage: their share of the motion reaches zero.

    Args:
        dynamics: dynamics of the linkage.
        t: times, or positions of another joint, (N,).
        q: configurations with closed loops, (N, nq).
        joints: driving joints; the motors by default.
    """
    coordinates, poses = dynamics.constraints.coordinates, np.asarray(q, dtype=np.float64)
    chosen = list(coordinates.motors if joints is None else velocities_of(dynamics.model, list(joints)))
    found = null_space(dynamics.constraints.scaled_jacobian(poses), coordinates.mobility)
    return singularity_times(t, least_share(found.basis(), chosen) ** 2)
