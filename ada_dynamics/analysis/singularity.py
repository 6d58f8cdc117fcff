# SPDX-License-Identifier: Apache-2.0
"""Singular configurations: manipulability det(J Jᵀ) (Takahashi 2012, sec. 3.3), condition numbers, distances by type.

Jacobians are (6, n) or (N, 6, n), rows [linear; angular].

Mechanisms with loops have three types of singular configurations (`singularity_distance`; Gosselin and Angeles 1990;
Zlatanov, Bonev and Gosselin 2002). With an orthonormal basis N of the null space of the constraint Jacobian, J_x N is
the velocity of a link and S N that of the motors:

    serial (type 1)    J_x N is rank-deficient: the link is at rest in some direction while motors move
    parallel (type 2)  S N is rank-deficient: the mechanism can move while the motors are at rest
    constraint         the constraint Jacobian is rank-deficient: the mobility increases
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.analysis import RANK
from ada_dynamics.constraints.coordinates import Coordinates, NullSpace, least_share, null_space
from ada_dynamics.constraints.singular import SINGULAR
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.computation import require_link
from ada_dynamics.errors import InputError, check_name, invalid
from ada_dynamics.model.description import WORLD_LINK
from ada_dynamics.model.elements import LoopJoint
from ada_dynamics.model.joints.base import SECOND

ROWS: dict[str, tuple[int, ...]] = {"linear": (0, 1, 2), "angular": (3, 4, 5), "all": (0, 1, 2, 3, 4, 5)}
AXES = "xyz"
SMALL_MINIMUM = 1e-3  # relative to the largest value of a measure: smaller minima are singular configurations
_ZERO_ROW = 1e-9  # relative to the largest entry of a Jacobian
_CHUNK = 20_000  # states that are processed together
_MATRIX_CHUNK = 1000  # states with a null-space basis each


def gram_determinant(J: ArrayLike) -> Array:
    """det(J Jᵀ), or det(Jᵀ J) for Jacobians with more rows than columns.

    It is the squared volume of the image of the unit ball of joint velocities, and vanishes at singular configurations.
    """
    s = _singular_values(J)
    return np.asarray(np.prod(s, axis=-1) ** 2, dtype=np.float64)


def _singular_values(J: ArrayLike) -> Array:
    matrix = np.asarray(J, dtype=np.float64)
    if matrix.ndim < 2 or 0 in matrix.shape[-2:]:
        raise invalid("J", matrix.shape, "(rows, columns) or (N, rows, columns)", "shape of ")
    return np.asarray(np.linalg.svd(matrix, compute_uv=False), dtype=np.float64)


def singularity_measure(
    dynamics: Dynamics,
    link: str,
    q: ArrayLike,
    *,
    rows: str | Sequence[int] = "all",
    point: ArrayLike = (0.0, 0.0, 0.0),
) -> Array:
    """det(J Jᵀ) of the Jacobian of a link, over the rows that are nonzero in some of the given configurations.

    Args:
        dynamics: dynamics of the robot.
        link: name of the link.
        q: configuration(s).
        rows: "linear", "angular", "all", or indices of rows of the Jacobian.
        point: point of the link in its frame [m].

    Returns:
        A number, or (N,).
    """
    require_link(dynamics, link)
    chosen = row_indices(rows)
    return _measure(lambda part: point_jacobian(dynamics, link, part, point)[..., chosen, :], q)


def point_jacobian(
    dynamics: Dynamics, link: str, q: ArrayLike, point: ArrayLike = (0.0, 0.0, 0.0), coordinates: Coordinates = "tree"
) -> Array:
    """Jacobian of a point of a link in world axes, (6, m) or (N, 6, m); zero for the world.

    `coordinates` as for `Dynamics.jacobian`.
    """
    poses = np.asarray(q, dtype=np.float64)
    if link == WORLD_LINK and link not in dynamics.model.links:
        columns = dynamics.model.nv if coordinates == "tree" else len(dynamics.constraints.indices(coordinates))
        return np.zeros((*poses.shape[:-1], 6, columns))
    J = np.asarray(dynamics.jacobian(link, poses, coordinates=coordinates))
    if not np.any(point):
        return J
    arm = (dynamics.pose(link, poses)[..., :3, :3] @ np.asarray(point, dtype=np.float64)[..., None])[..., 0]
    J[..., :3, :] += np.cross(J[..., 3:, :], arm[..., :, None], axis=-2)
    return J


# --- loops ----------------------------------------------------------------------------------------------------------
def loop_singularity_measure(dynamics: Dynamics, loop: str, q: ArrayLike) -> Array:
    """det(J Jᵀ) of the cut end of a loop, over its nonzero rows (fig. 3.17 f).

    The J of the paper for the closed 4R is in R^{6x4}: the velocity of the end by all four joints, including the loop
    joint. Its three rows out of the plane are zero in every configuration and are omitted, as the determinant would
    vanish.
    """
    return _measure(lambda part: loop_jacobian(dynamics, loop, part), q)


def loop_jacobian(dynamics: Dynamics, loop: str, q: ArrayLike) -> Array:
    """Relative velocity of both sides of a loop joint by the tree joints and the freedoms of the loop joint.

    (6, nv + freedoms) or (N, 6, nv + freedoms), in world axes, at the frame of the joint on its child side.
    """
    check_name("loop", loop, dynamics.model.loops)
    joint, poses = dynamics.model.loops[loop], np.asarray(q, dtype=np.float64)
    J = point_jacobian(dynamics, joint.child, poses, joint.child_xyz)
    J = J - point_jacobian(dynamics, joint.parent, poses, joint.parent_xyz)
    own = _freedoms(dynamics, joint, poses)
    return np.concatenate([J, own], axis=-1)


def _freedoms(dynamics: Dynamics, joint: LoopJoint, q: Array) -> Array:
    """Columns of the motions that a loop joint permits, in world axes."""

    def up(link: str, rotation: Array) -> Array:
        if link == WORLD_LINK and link not in dynamics.model.links:
            return np.broadcast_to(rotation, (*q.shape[:-1], 3, 3))
        return np.asarray(dynamics.pose(link, q)[..., :3, :3] @ rotation)

    own, to_parent, to_child = joint.type.aligned_sides(joint.axis, joint.axis2, None, **joint.constants)
    A, B = up(joint.parent, joint.parent_rotation @ to_parent), up(joint.child, joint.child_rotation @ to_child)
    columns = []
    for row in own.free_rows():
        direction = B[..., 1] if row.axis == SECOND else A[..., row.axis]
        along = direction if row.is_force else row.pitch * direction
        columns.append(np.concatenate([along, (not row.is_force) * direction], axis=-1))
    return np.stack(columns, axis=-1) if columns else np.zeros((*q.shape[:-1], 6, 0))


# --- types of singular configurations -------------------------------------------------------------------------------
class SingularityDistance(NamedTuple):
    """Distances to the types of singular configurations: 0 there, at most about 1. A number each, or (N,).

    Attributes:
        serial: smallest speed of the link among its generic directions of motion, per unit of joint speed.
        parallel: smallest fraction of a motion in the motors.
        constraint: smallest nonzero singular value of the constraint Jacobian relative to the largest.
        condition: condition number of the Jacobian of the link by the motors; infinite for the first two types.
    """

    serial: Array
    parallel: Array
    constraint: Array
    condition: Array

    @property
    def minimum(self) -> Array:
        """Smallest of the first three distances."""
        return np.minimum(np.minimum(self.serial, self.parallel), self.constraint)

    def kinds(self, below: float = SINGULAR) -> list[str]:
        """Types of singular configurations with a distance below a threshold for some of the configurations."""
        return [kind for kind in ("serial", "parallel", "constraint") if np.any(getattr(self, kind) < below)]


def singularity_distance(
    dynamics: Dynamics,
    link: str,
    q: ArrayLike,
    *,
    rows: str | Sequence[int] = "all",
    point: ArrayLike = (0.0, 0.0, 0.0),
) -> SingularityDistance:
    """Distances of configurations to the types of singular configurations.

    Lengths are in units of the characteristic length of the model, `dynamics.constraints.coordinates.length`.

    Args:
        dynamics: dynamics of the robot, with or without loops.
        link: link driven by the motors.
        q: configuration(s) with closed loops.
        rows: relevant rows of the Jacobian of the link: "linear", "angular", "all", or indices.
        point: point of the link in its frame [m].

    Raises:
        InputError: the motors do not determine the motion at any configuration, or the link cannot move.
    """
    require_link(dynamics, link)
    coordinates = dynamics.constraints.coordinates
    coordinates.refuse_missing(coordinates.motors, "motors")
    chosen, units = row_indices(rows), np.where(np.arange(6) < 3, coordinates.length, 1.0)

    def moved(poses: Array) -> Array:
        J = point_jacobian(dynamics, link, poses, point) * coordinates.units / units[:, None]
        return np.asarray(J[..., chosen, :])

    rank = _rank_of_link(dynamics, link, moved)
    poses = np.asarray(q, dtype=np.float64)
    several = np.atleast_2d(poses)
    parts = []
    for i in range(0, len(several), _MATRIX_CHUNK):
        found = null_space(dynamics.constraints.scaled_jacobian(several[i : i + _MATRIX_CHUNK]), coordinates.mobility)
        parts.append(_distances(found, moved(several[i : i + _MATRIX_CHUNK]), list(coordinates.motors), rank))
    whole = [np.concatenate(values) for values in zip(*parts, strict=True)] if parts else [np.zeros(0)] * 4
    return SingularityDistance(*(x if poses.ndim == 2 else np.asarray(x[0]) for x in whole))


def _distances(found: NullSpace, J: Array, motors: list[int], rank: int) -> SingularityDistance:
    serial, parallel, condition = (np.empty(len(J)) for _ in range(3))
    for lost in np.unique(found.lost):
        own = found.lost == lost
        N = found.basis(int(lost))[own]
        of_link, of_motors = J[own] @ N, N[:, motors]
        serial[own] = np.linalg.svd(of_link, compute_uv=False)[:, rank - 1]
        parallel[own] = least_share(N, motors)
        s = np.linalg.svd(of_link @ np.linalg.pinv(of_motors), compute_uv=False)
        with np.errstate(divide="ignore", invalid="ignore"):
            condition[own] = np.where(s[:, rank - 1] > 0.0, s[:, 0] / s[:, rank - 1], np.inf)
    condition[(serial < SINGULAR) | (parallel < SINGULAR)] = np.inf
    return SingularityDistance(serial, parallel, found.sigma, condition)


def _rank_of_link(dynamics: Dynamics, link: str, moved: Callable[[Array], Array]) -> int:
    """Generic rank of the Jacobian of the link."""
    coordinates = dynamics.constraints.coordinates
    poses = [dynamics.model.random_state(np.random.default_rng(i))[0] for i in range(len(coordinates.samples))]
    if coordinates.analysis is not None:
        poses = list(coordinates.analysis.configurations)
    sizes = [np.linalg.svd(moved(q) @ N, compute_uv=False) for q, N in zip(poses, coordinates.samples, strict=True)]
    rank = max(int(np.sum(s > RANK)) for s in sizes)
    if not rank:
        text = f"link {link!r} (or these rows of it) of model {dynamics.model.name!r} cannot move."
        raise InputError(text, link=link, field="link", value=link)
    return rank


# --- along a motion -------------------------------------------------------------------------------------------------
def singularity_times(t: ArrayLike, measure: ArrayLike) -> Array:
    """Times at which a non-negative measure reaches zero: its minima below a fraction of its largest value.

    A measure such as det(J Jᵀ) is quadratic in the distance to a singular configuration, so the time of a minimum is
    interpolated by a parabola through three samples. The ends of the motion are excluded.

    Args:
        t: times, (N,).
        measure: values, (N,).
    """
    times, values = np.asarray(t, dtype=np.float64), np.asarray(measure, dtype=np.float64)
    if times.ndim != 1 or times.shape != values.shape:
        raise invalid("times", times.shape, f"(N,), as that of the measure, {values.shape}", "shape of ")
    if len(times) < 3:
        return np.zeros(0)
    inner = values[1:-1]
    low = (inner <= values[:-2]) & (inner < values[2:]) & (inner < SMALL_MINIMUM * np.max(values))
    return np.array([_vertex(times[i : i + 3], values[i : i + 3]) for i in np.flatnonzero(low)])


def _vertex(t: Array, y: Array) -> float:
    """Time of the minimum of the parabola through three samples."""
    left, right = t[1] - t[0], t[2] - t[1]
    before, after = (y[1] - y[0]) / left, (y[2] - y[1]) / right
    curvature = (after - before) / (left + right)
    if curvature <= 0.0:
        return float(t[1])
    return float(np.clip(0.5 * (t[0] + t[1]) - 0.5 * before / curvature, t[0], t[2]))


def _measure(jacobian: Callable[[Array], Array], q: ArrayLike) -> Array:
    """`gram_determinant` over the rows that are nonzero somewhere."""
    poses = np.asarray(q, dtype=np.float64)
    several = np.atleast_2d(poses)
    parts = [jacobian(several[i : i + _CHUNK]) for i in range(0, len(several), _CHUNK)]
    if not parts:
        return np.zeros(0)
    sizes = np.max([np.max(np.abs(J), axis=(0, 2), initial=0.0) for J in parts], axis=0)
    acting = np.flatnonzero(sizes > _ZERO_ROW * np.max(sizes))
    if not len(acting):
        raise InputError("the Jacobian is zero: the link (or these rows of it) cannot move.", field="J", value=0.0)
    result = np.concatenate([gram_determinant(J[:, acting]) for J in parts])
    return result if poses.ndim == 2 else np.asarray(result[0])


def row_indices(rows: str | Sequence[int]) -> list[int]:
    """Indices of rows of a Jacobian."""
    if isinstance(rows, str):
        check_name("set of rows", rows, ROWS)
        return list(ROWS[rows])
    chosen = [int(i) for i in rows]
    if not chosen or min(chosen) < 0 or max(chosen) > 5:
        raise invalid("rows", tuple(rows), "among 0 to 5: linear x, y, z, angular x, y, z")
    return chosen
