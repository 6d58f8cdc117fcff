# SPDX-License-Identifier: Apache-2.0
"""How near a robot is to a singular pose: det(J Jᵀ) (Takahashi 2012, sec. 3.3), condition numbers, passings.

Jacobians are (6, n) or (N, 6, n), rows [linear; angular].

Of a mechanism with loops there are three kinds (`nearness`), which Gosselin and Angeles (1990) and Zlatanov, Bonev and
Gosselin (2002) tell apart. With N, orthonormal columns, the motions that the loops leave, J_x N those of a link and S N
those of the motors:

    serial (type 1)    J_x N loses rank: motors move, and the link does not
    parallel (type 2)  S N loses rank: the link, or a part beside it, moves with the motors at rest
    constraint         the loops' conditions themselves lose rank: the mechanism has one motion more
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.coordinates import Coordinates
from ada_dynamics.constraints.singular import SINGULAR
from ada_dynamics.constraints.tangent_map import RANK, Motions, least_share, motions
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.model.description import WORLD_LINK
from ada_dynamics.model.elements import LoopJoint
from ada_dynamics.model.joints.rows import SECOND

ROWS: dict[str, tuple[int, ...]] = {"linear": (0, 1, 2), "angular": (3, 4, 5), "all": (0, 1, 2, 3, 4, 5)}
AXES = "xyz"
PASSED = 1e-3  # of a measure's largest value: a minimum below this share is a passing
_IDLE = 1e-9  # of the largest entry of a Jacobian: rows that stay below it, in every pose, are zero
_CHUNK = 20_000  # states at once
_FEW = 1000  # likewise, where there is a matrix of all velocities for each


def gram_determinant(J: ArrayLike) -> Array:
    """det(J Jᵀ) of one Jacobian or of many; of Jᵀ J where there are more rows than columns, which is not always zero.

    It is the square of the volume of what unit joint velocities give, and vanishes in singular poses.
    """
    s = _singular_values(J)
    return np.asarray(np.prod(s, axis=-1) ** 2, dtype=np.float64)


def manipulability(J: ArrayLike) -> Array:
    """√det(J Jᵀ) (Yoshikawa)."""
    return np.asarray(np.sqrt(gram_determinant(J)), dtype=np.float64)


def _singular_values(J: ArrayLike) -> Array:
    matrix = np.asarray(J, dtype=np.float64)
    if matrix.ndim < 2 or 0 in matrix.shape[-2:]:
        raise InputError(
            f"J has shape {matrix.shape}; a Jacobian is (rows, columns), or (N, rows, columns) for N poses.",
            field="J",
            value=matrix.shape,
            allowed="(rows, columns) or (N, rows, columns)",
        )
    return np.asarray(np.linalg.svd(matrix, compute_uv=False), dtype=np.float64)


def singularity_measure(
    dynamics: Dynamics,
    link: str,
    q: ArrayLike,
    *,
    rows: str | Sequence[int] = "all",
    point: ArrayLike = (0.0, 0.0, 0.0),
) -> Array:
    """det(J Jᵀ) of a link's Jacobian, over those of its rows that are not zero in all given poses.

    Args:
        dynamics: of the robot.
        link: its name.
        q: positions, one state or many.
        rows: "linear", "angular", "all", or numbers of rows of the Jacobian.
        point: of the link, in its frame, whose velocity counts [m].

    Returns:
        One number, or (N,).
    """
    dynamics.require_link(link)
    chosen = rows_of(rows)
    return _measure(lambda part: point_jacobian(dynamics, link, part, point)[..., chosen, :], q)


def point_jacobian(
    dynamics: Dynamics, link: str, q: ArrayLike, point: ArrayLike = (0.0, 0.0, 0.0), coordinates: Coordinates = "tree"
) -> Array:
    """Jacobian of a point of a link in the world's axes, (6, m) or (N, 6, m); of the world itself it is zero.

    `coordinates` as for `Dynamics.jacobian`.
    """
    poses = np.asarray(q, dtype=np.float64)
    if link == WORLD_LINK and link not in dynamics.model.links:
        columns = dynamics.model.nv if coordinates == "tree" else len(dynamics.velocity_indices(coordinates))
        return np.zeros((*poses.shape[:-1], 6, columns))
    J = np.asarray(dynamics.jacobian(link, poses, coordinates=coordinates))
    if not np.any(point):
        return J
    arm = (dynamics.pose(link, poses)[..., :3, :3] @ np.asarray(point, dtype=np.float64)[..., None])[..., 0]
    J[..., :3, :] += np.cross(J[..., 3:, :], arm[..., :, None], axis=-2)
    return J


# --- loops ----------------------------------------------------------------------------------------------------------
def loop_measure(dynamics: Dynamics, loop: str, q: ArrayLike) -> Array:
    """det(J Jᵀ) of the end at which a loop is cut, over the rows that are not zero (fig. 3.17 f).

    The paper's J for the closed 4R is in R^{6x4}: velocity of the end by all four joints, the closing one among them.
    Three of its rows, those out of the plane, are zero in every pose; with them the determinant would always vanish.
    """
    return _measure(lambda part: loop_jacobian(dynamics, loop, part), q)


def loop_jacobian(dynamics: Dynamics, loop: str, q: ArrayLike) -> Array:
    """Relative velocity of both sides of a loop joint by the tree's joints, then by the loop joint's own freedoms.

    (6, nv + freedoms) or (N, 6, nv + freedoms), in the world's axes, at the joint's place on its child side.
    """
    if loop not in dynamics.model.loops:
        raise unknown_name("loop", loop, dynamics.model.loops)
    joint, poses = dynamics.model.loops[loop], np.asarray(q, dtype=np.float64)
    J = point_jacobian(dynamics, joint.child, poses, joint.child_xyz)
    J = J - point_jacobian(dynamics, joint.parent, poses, joint.parent_xyz)
    own = _freedoms(dynamics, joint, poses)
    return np.concatenate([J, own], axis=-1)


def _freedoms(dynamics: Dynamics, joint: LoopJoint, q: Array) -> Array:
    """Columns of motions that a loop joint leaves free, in the world's axes."""

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


def closing_condition(dynamics: Dynamics, q: ArrayLike, every: int = 1) -> Array:
    """Smallest singular value of the loops' conditions by the largest, weighted by mass: 0 in a singular pose.

    See `Dynamics.loop_state`. It takes some tenths of a millisecond per pose; `every` leaves poses out.

    Args:
        dynamics: of a robot; without loops the result is 1.
        q: positions, (N, nq).
        every: look at each n-th state only.

    Returns:
        (ceil(N / every),).
    """
    if every < 1:
        raise InputError(f"every is {every}; it must be at least 1.", field="every", value=every, allowed="at least 1")
    return np.array([dynamics.loop_state(state).sigma for state in np.atleast_2d(q)[::every]])


# --- kinds of singular poses ----------------------------------------------------------------------------------------
class Nearness(NamedTuple):
    """How far poses are from each kind of singular pose: 0 there, at most about 1. One number, or (N,).

    Attributes:
        serial: least speed of the link, among directions in which it moves in general, per unit of all joints' speed.
        parallel: least share of the motors in a motion.
        constraint: smallest singular value of the loops' conditions that does not vanish in general, by the largest.
        condition: condition number of the link's Jacobian by the motors; infinite in poses of the first two kinds.
    """

    serial: Array
    parallel: Array
    constraint: Array
    condition: Array

    @property
    def least(self) -> Array:
        """The smallest one of the first three."""
        return np.minimum(np.minimum(self.serial, self.parallel), self.constraint)

    def kinds(self, below: float = SINGULAR) -> list[str]:
        """Kinds of singular poses that some of the poses are nearer to than that."""
        return [kind for kind in ("serial", "parallel", "constraint") if np.any(getattr(self, kind) < below)]


def nearness(
    dynamics: Dynamics,
    link: str,
    q: ArrayLike,
    *,
    rows: str | Sequence[int] = "all",
    point: ArrayLike = (0.0, 0.0, 0.0),
) -> Nearness:
    """How near poses are to singular ones of each kind.

    Lengths count in units of the model's typical length, `dynamics.choices.length`: a slide by it as a turn by 1 rad, a
    link's way of it likewise.

    Args:
        dynamics: of a robot, with loops or without.
        link: that the motors are to move.
        q: poses that close the loops, one or many.
        rows: that count of the link's motion: "linear", "angular", "all", or numbers of rows of the Jacobian.
        point: of the link, in its frame, whose velocity counts [m].

    Raises:
        InputError: the motors do not determine the motion in any pose; nothing moves the link.
    """
    dynamics.require_link(link)
    choices = dynamics.choices
    choices.refuse_missing(choices.motors, "motors")
    chosen, units = rows_of(rows), np.where(np.arange(6) < 3, choices.length, 1.0)

    def moved(poses: Array) -> Array:
        J = point_jacobian(dynamics, link, poses, point) * choices.units / units[:, None]
        return np.asarray(J[..., chosen, :])

    rank = _rank_of_link(dynamics, link, moved)
    poses = np.asarray(q, dtype=np.float64)
    several = np.atleast_2d(poses)
    parts = []
    for i in range(0, len(several), _FEW):
        found = motions(dynamics.constraint_jacobian(several[i : i + _FEW]), choices.mobility)
        parts.append(_nearness(found, moved(several[i : i + _FEW]), list(choices.motors), rank))
    whole = [np.concatenate(values) for values in zip(*parts, strict=True)] if parts else [np.zeros(0)] * 4
    return Nearness(*(x if poses.ndim == 2 else np.asarray(x[0]) for x in whole))


def _nearness(found: Motions, J: Array, motors: list[int], rank: int) -> Nearness:
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
    return Nearness(serial, parallel, found.sigma, condition)


def _rank_of_link(dynamics: Dynamics, link: str, moved: Callable[[Array], Array]) -> int:
    """Number of directions in which the link moves in general."""
    choices = dynamics.choices
    poses = [dynamics.model.random_state(np.random.default_rng(i))[0] for i in range(len(choices.samples))]
    if choices.study is not None:
        poses = list(choices.study.poses)
    sizes = [np.linalg.svd(moved(q) @ N, compute_uv=False) for q, N in zip(poses, choices.samples, strict=True)]
    rank = max(int(np.sum(s > RANK)) for s in sizes)
    if not rank:
        raise InputError(
            f"nothing moves link {link!r} (or these rows of it) of model {dynamics.model.name!r}.",
            link=link,
            field="link",
            value=link,
        )
    return rank


# --- along a motion -------------------------------------------------------------------------------------------------
def passings(t: ArrayLike, measure: ArrayLike, share: float = PASSED) -> Array:
    """Times at which a measure that is never negative touches zero: its minima below a share of its largest value.

    A measure such as det(J Jᵀ) grows with the square of the distance to a singular pose, so the time of a minimum is
    that of the parabola through its lowest sample and both neighbours. The ends of the motion do not count.

    Args:
        t: times, (N,).
        measure: values there.
        share: see above.
    """
    times, values = np.asarray(t, dtype=np.float64), np.asarray(measure, dtype=np.float64)
    if times.ndim != 1 or times.shape != values.shape:
        raise InputError(
            f"times have shape {times.shape} and the measure {values.shape}; both must be (N,).",
            field="times",
            value=times.shape,
            allowed=values.shape,
        )
    if len(times) < 3:
        return np.zeros(0)
    inner = values[1:-1]
    low = (inner <= values[:-2]) & (inner < values[2:]) & (inner < share * np.max(values))
    return np.array([_vertex(times[i : i + 3], values[i : i + 3]) for i in np.flatnonzero(low)])


def _vertex(t: Array, y: Array) -> float:
    """Where the parabola through three samples is lowest."""
    left, right = t[1] - t[0], t[2] - t[1]
    before, after = (y[1] - y[0]) / left, (y[2] - y[1]) / right
    curvature = (after - before) / (left + right)
    if curvature <= 0.0:
        return float(t[1])
    return float(np.clip(0.5 * (t[0] + t[1]) - 0.5 * before / curvature, t[0], t[2]))


def _measure(jacobian: Callable[[Array], Array], q: ArrayLike) -> Array:
    """`gram_determinant` over the rows that act somewhere."""
    poses = np.asarray(q, dtype=np.float64)
    several = np.atleast_2d(poses)
    parts = [jacobian(several[i : i + _CHUNK]) for i in range(0, len(several), _CHUNK)]
    if not parts:
        return np.zeros(0)
    sizes = np.max([np.max(np.abs(J), axis=(0, 2), initial=0.0) for J in parts], axis=0)
    acting = np.flatnonzero(sizes > _IDLE * np.max(sizes))
    if not len(acting):
        raise InputError(
            "the Jacobian is zero in all given poses: nothing moves the link (or these rows of it).",
            field="J",
            value=0.0,
        )
    result = np.concatenate([gram_determinant(J[:, acting]) for J in parts])
    return result if poses.ndim == 2 else np.asarray(result[0])


def rows_of(rows: str | Sequence[int]) -> list[int]:
    """Numbers of rows of a Jacobian."""
    if isinstance(rows, str):
        if rows not in ROWS:
            raise unknown_name("set of rows", rows, ROWS)
        return list(ROWS[rows])
    chosen = [int(i) for i in rows]
    if not chosen or min(chosen) < 0 or max(chosen) > 5:
        raise InputError(
            f"rows are {list(rows)}; a Jacobian has rows 0 to 5: linear x, y, z, angular x, y, z.",
            field="rows",
            value=tuple(rows),
            allowed=tuple(range(6)),
        )
    return chosen
