# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics of the PA-10: all solutions, for one pose or a batch."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_controllers.pa10.geometry import ROTATION_TOLERANCE, Geometry, Lengths, geometry, joint_limits
from ada_controllers.pa10.inverse_law import INPUTS, s1_law, s3_law
from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.jit import Kernel
from ada_dynamics.jit.compiled import compiled_kernel

Redundant = Literal["s1", "s3"]

# tolerance of reach [m; m² for S3], for rounded poses at the boundary of the workspace
TOLERANCE = 1e-12
_DEFECT = ROTATION_TOLERANCE**2
_LAWS = {"s1": s1_law, "s3": s3_law}
_COLUMNS = {"s1": 0, "s3": 2}
_PLAIN = np.dtype(np.float64)


class Unreachable(InputError):
    """Pose without a solution.

    Attributes:
        distance: distance of the wrist from the workspace [m], eq. 24; 0 if only the redundant joint excludes it.
        condition: violated condition: "reach" (eq. 24), or "redundant" (eq. 46, or A_1' of eq. 57).
        intervals: angles of the redundant joint with solutions [rad]; empty if the wrist is out of reach.
    """

    def __init__(
        self, text: str, distance: float, condition: str, intervals: tuple[tuple[float, float], ...] = ()
    ) -> None:
        """Args: message, then the attributes."""
        super().__init__(text, field=condition, value=distance)
        self.distance = distance
        self.condition = condition
        self.intervals = intervals


class Solutions(NamedTuple):
    """Solutions of a batch of poses.

    Attributes:
        q: (N, 8, 7) [rad], in the order of `BRANCHES`; NaN for poses without solution.
        valid: (N,), or (N, 8) within limits: mask of the solutions.
        distance: (N,) distance of the wrist from the workspace [m]; negative inside.
    """

    q: Array
    valid: NDArray[np.bool_]
    distance: Array


def inverse(
    T: ArrayLike,
    lengths: str | Lengths = "CE",
    redundant: Redundant = "s1",
    value: float = 0.0,
    hand: ArrayLike | None = None,
    within_limits: bool = False,
    e2: float = 0.0,
) -> Array:
    """Return all solutions for a given angle of one joint, as rows of S1 S2 S3 E1 E2 W1 W2 [rad].

    There are eight, in the order of `BRANCHES`, each angle from -π to π; at the boundary of the workspace some are
    equal. In poses with undetermined angles (W1 = 0 or π: E2 and W2; straight arm: S3 and E2; wrist above the shoulder,
    with S3 given: S1) one of infinitely many solutions is returned.

    Args:
        T: pose of the hand in the base frame, 4 x 4.
        lengths: "CE", "7C", or user-defined lengths.
        redundant: joint with the given angle, "s1" or "s3".
        value: its angle [rad].
        hand: (H_x, H_y, H_z) from the flange [m], or a pose (4 x 4) in flange axes; None for the flange itself.
        within_limits: whether to return only solutions within the joint limits of the robot description; possibly none.
        e2: angle of E2 [rad] if W1 = 0 or π leaves it undetermined; half a turn more for the flipped wrist.

    Raises:
        Unreachable: if the wrist is out of reach, or the given angle has no solution.
        InputError: if T is no pose, a value is not finite, or a joint or set of lengths is unknown.
    """
    numbers = geometry(lengths, hand)
    if not (T.__class__ is np.ndarray and T.dtype is _PLAIN and T.shape == (4, 4)):
        T = _pose(T)
    if redundant not in _LAWS:
        _refuse_joint(redundant)
    q, check = _single(redundant)(T.reshape(16), np.array((value, e2)), numbers.inwards)
    distance, missed, defect = check.tolist()
    if distance > TOLERANCE or missed > TOLERANCE or defect > _DEFECT:
        _refuse(T, value, redundant, numbers, (distance, missed, defect))
    if within_limits:
        lower, upper = _limits(lengths)
        q = q[((q >= lower) & (q <= upper)).all(axis=1)]
    found: Array = q
    return found


def inverse_batch(
    T: ArrayLike,
    value: ArrayLike = 0.0,
    lengths: str | Lengths = "CE",
    redundant: Redundant = "s1",
    hand: ArrayLike | None = None,
    within_limits: bool = False,
    e2: float = 0.0,
) -> Solutions:
    """Return the solutions of a batch of poses; poses without solution are marked as invalid.

    Args:
        T: poses (N, 4, 4), or one (4, 4) for several angles.
        value: angles of the redundant joint (N,) [rad], or one for all.
        lengths: as in `inverse`.
        redundant: as in `inverse`.
        hand: as in `inverse`.
        within_limits: whether solutions outside the joint limits are invalid.
        e2: as in `inverse`.

    Raises:
        InputError: if shapes do not match, a value is not finite, a matrix is no pose, or a name is unknown.
    """
    if redundant not in _LAWS:
        _refuse_joint(redundant)
    numbers = geometry(lengths, hand)
    poses, given = _batch(T, value, e2)
    every = np.ascontiguousarray(np.broadcast_to(numbers.inwards, (len(poses), 15)))
    q, check = _kernel(redundant).batch(poses, given, every)
    wrong = np.flatnonzero(check[:, 2] > _DEFECT)
    if len(wrong):
        _refuse_pose(poses[wrong[0]].reshape(4, 4), f"T[{wrong[0]}]")
    valid = (check[:, :2] <= TOLERANCE).all(axis=1)
    if not valid.all():
        q[~valid] = np.nan
    if within_limits:
        lower, upper = _limits(lengths)
        valid = ((q >= lower) & (q <= upper)).all(axis=2)
    return Solutions(q, valid, check[:, 0])


def feasible(
    T: ArrayLike, lengths: str | Lengths = "CE", redundant: Redundant = "s1", hand: ArrayLike | None = None
) -> tuple[tuple[float, float], ...]:
    """Return the intervals of the redundant joint's angle, from -π to π [rad], that have solutions.

    Raises:
        Unreachable: if no angle has a solution.
        InputError: if T is no pose, or a name is unknown.
    """
    if redundant not in _LAWS:
        _refuse_joint(redundant)
    numbers, pose = geometry(lengths, hand), _pose(T)
    check = _single(redundant)(pose.reshape(16), np.zeros(2), numbers.inwards)[1].tolist()
    if check[0] > TOLERANCE or check[2] > _DEFECT:
        _refuse(pose, 0.0, redundant, numbers, check)
    return _intervals(_wrist_place(pose, numbers), redundant, numbers)


# --- kernels --------------------------------------------------------------------------------------------------------
@lru_cache(maxsize=4)
def _kernel(redundant: str) -> Kernel:
    return compiled_kernel(f"pa10_inverse_{redundant}", INPUTS, _LAWS[redundant])


@lru_cache(maxsize=4)
def _single(redundant: str) -> Callable[..., Any]:
    kernel = _kernel(redundant)
    return kernel.python_call(kernel.single)


# --- arguments ------------------------------------------------------------------------------------------------------
def _pose(T: ArrayLike) -> Array:
    try:
        pose = np.array(T, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InputError(f"PA-10: T is no matrix of numbers: {error}.", field="T", value=T) from error
    if pose.shape != (4, 4):
        raise InputError(
            f"PA-10: T has the shape {pose.shape}; give the pose of the hand, a 4 x 4 matrix.",
            field="T",
            value=pose.shape,
            allowed=(4, 4),
        )
    return pose


def _batch(T: ArrayLike, value: ArrayLike, e2: float) -> tuple[Array, Array]:
    poses, values = np.asarray(T, dtype=np.float64), np.asarray(value, dtype=np.float64)
    counts = {len(array) for array, plain in ((poses, 2), (values, 0)) if array.ndim == plain + 1}
    if poses.shape[-2:] != (4, 4) or poses.ndim not in (2, 3) or values.ndim > 1 or len(counts) > 1:
        raise InputError(
            f"PA-10: T has the shape {poses.shape} and value {values.shape}; give poses (N, 4, 4) and angles (N,), or "
            "one of either for all.",
            field="T",
            value=poses.shape,
        )
    count = counts.pop() if counts else 1
    given = np.empty((count, 2))
    given[:, 0], given[:, 1] = values, e2
    return np.ascontiguousarray(np.broadcast_to(poses, (count, 4, 4))).reshape(count, 16), given


def _limits(lengths: str | Lengths) -> tuple[Array, Array]:
    if not isinstance(lengths, str):
        raise InputError(
            "PA-10: joint limits are known for the lengths 'CE' and '7C' only; omit within_limits.",
            field="within_limits",
            allowed=("CE", "7C"),
        )
    return joint_limits(lengths)


def _refuse_joint(redundant: object) -> NoReturn:
    raise InputError(
        f"PA-10: redundant is {redundant!r}; it must be 's1' or 's3'.",
        field="redundant",
        value=redundant,
        allowed=("s1", "s3"),
    )


def _refuse_pose(pose: Array, name: str) -> NoReturn:
    rotation = pose[:3, :3]
    error = np.linalg.norm(rotation.T @ rotation - np.eye(3))
    raise InputError(
        f"PA-10: {name} is no pose: R^T R differs from the identity by {error:.2g} (allowed {ROTATION_TOLERANCE:g}), "
        f"det R = {np.linalg.det(rotation):.6g}, last row {pose[3].tolist()}. R must be a rotation, for instance from "
        "a unit quaternion, and the last row 0 0 0 1.",
        field=name,
        value=pose,
        allowed="a rigid motion",
    )


# --- poses without solution -----------------------------------------------------------------------------------------
def _refuse(T: Any, value: float, redundant: Redundant, numbers: Geometry, check: Any) -> NoReturn:
    distance, _, defect = check
    if defect > _DEFECT:
        _refuse_pose(T, "T")
    place = _wrist_place(T, numbers)
    lengths = numbers.lengths
    if distance > TOLERANCE:
        reach = float(np.linalg.norm(place))
        least, most = abs(lengths.upper - lengths.fore), lengths.upper + lengths.fore
        raise Unreachable(
            f"PA-10: the wrist would be {reach:.6g} m from the shoulder, {distance:.3g} m too "
            f"{'far' if reach > most else 'near'}; its distance must be {least:.6g} to {most:.6g} m (eq. 24).",
            distance,
            "reach",
        )
    intervals = _intervals(place, redundant, numbers)
    text = " or ".join(f"[{low:.6g}, {high:.6g}]" for low, high in intervals)
    raise Unreachable(
        f"PA-10: the pose has no solution with {redundant.upper()} = {value:.6g} rad, only in {text} rad.",
        0.0,
        "redundant",
        intervals,
    )


def _wrist_place(T: Array, numbers: Geometry) -> Array:
    """Return the wrist position relative to the shoulder, eq. 13."""
    inwards = numbers.inwards[3:].reshape(3, 4)
    place: Array = T[:3, :3] @ inwards[:, 3] + T[:3, 3] - [0.0, 0.0, numbers.lengths.base]
    return place


def _intervals(p: Array, redundant: Redundant, numbers: Geometry) -> tuple[tuple[float, float], ...]:
    """Return the angles of the redundant joint with a non-negative radicand in eq. 46 or 57, within rounding."""
    _, upper, fore, _ = numbers.lengths
    level, square = float(math.hypot(p[0], p[1])), float(p @ p)
    cos_4 = min(max((square - upper**2 - fore**2) / (2.0 * upper * fore), -1.0), 1.0)
    if redundant == "s3":
        most = fore**2 * (1.0 - cos_4**2) - TOLERANCE  # S_3² times this must not exceed `level`²
        if most <= level**2:
            return ((-math.pi, math.pi),)
        half, centres = math.asin(level / math.sqrt(most)), (0.0, math.pi)
    else:
        gamma = max(abs(upper + fore * cos_4) - TOLERANCE, 0.0)
        least = gamma**2 - float(p[2]) ** 2  # `level`² times the squared cosine must not be less
        if least <= 0.0 or level == 0.0:
            return ((-math.pi, math.pi),)
        half = math.acos(min(math.sqrt(least) / level, 1.0))
        first = math.atan2(p[1], p[0])
        centres = (first, first + math.pi)
    return _around(centres, half)


def _around(centres: tuple[float, float], half: float) -> tuple[tuple[float, float], ...]:
    """Return intervals around angles, split at ±π."""
    found = []
    for centre in centres:
        middle = math.remainder(centre, 2.0 * math.pi)
        low, high = middle - half, middle + half
        if low < -math.pi:
            found += [(low + 2.0 * math.pi, math.pi), (-math.pi, high)]
        elif high > math.pi:
            found += [(low, math.pi), (-math.pi, high - 2.0 * math.pi)]
        else:
            found.append((low, high))
    return tuple(sorted(found))
