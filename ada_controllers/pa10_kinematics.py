# SPDX-License-Identifier: Apache-2.0
"""Kinematics of the Mitsubishi PA-10 (Yamada): forward and inverse kinematics in closed form.

    from ada_controllers import pa10_kinematics as pa10

    T = pa10.forward(q, lengths="CE")                          # pose of the hand in the base frame, 4 x 4
    q = pa10.inverse(T, lengths="CE", redundant="s1", value=0.3)  # eight rows of seven angles

Angles are those of S1 S2 S3 E1 E2 W1 W2 [rad]; at zero the arm is vertical. Lengths: "CE" for the PA10-7CE (robot
`pa10`), "7C" for the older PA-10-7C (`pa10_7c`). `pa10_equations` contains the equations, which are compiled at first
use. For the Jacobians (section 3) see `Dynamics.jacobian` of the robot description.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from inspect import signature
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_controllers.pa10_equations import SIZES, pose_equations, s1_equations, s3_equations
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.poses import inverse as inverse_pose
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.jit import Kernel
from ada_dynamics.jit.compiled import compiled_kernel

__all__ = [
    "BRANCHES",
    "JOINTS",
    "LENGTHS",
    "Lengths",
    "Solutions",
    "Unreachable",
    "feasible",
    "forward",
    "inverse",
    "inverse_batch",
    "joint_limits",
]

JOINTS = ("s1", "s2", "s3", "e1", "e2", "w1", "w2")


class Lengths(NamedTuple):
    """Lengths along the arm [m]."""

    base: float  # L_b, foot to shoulder
    upper: float  # L_s, shoulder to elbow
    fore: float  # L_e, elbow to wrist
    hand: float  # L_w, wrist to flange


LENGTHS = {"CE": Lengths(0.317, 0.450, 0.480, 0.070), "7C": Lengths(0.315, 0.450, 0.500, 0.080)}
"""Lengths by name: PA10-7CE, and the older PA-10-7C."""

Redundant = Literal["s1", "s3"]

BRANCHES = tuple((a, b, c) for a in (1, -1) for b in (1, -1) for c in (1, -1))
"""Signs of the eight solutions in order: λ2 (S1 given) or λ1' (S3 given), λ4, sign of W1."""

TOLERANCE = 1e-12
"""Tolerance of reach [m; m² for S3], for rounded poses at the boundary of the workspace."""

_ROBOTS = {"CE": "pa10", "7C": "pa10_7c"}  # names in the robot catalogue
_LAWS = {"s1": s1_equations, "s3": s3_equations}
# tolerance of rotation matrices, as the root of the sum of squared errors; larger errors affect the solutions
ROTATION_TOLERANCE = 1e-9
_DEFECT = ROTATION_TOLERANCE**2
_PLAIN = np.dtype(np.float64)


# --- forward kinematics -----------------------------------------------------------------------------------------------
def forward(q: ArrayLike, lengths: str | Lengths = "CE", hand: ArrayLike | None = None) -> Array:
    """Pose of the hand in the base frame.

    Args:
        q: S1 S2 S3 E1 E2 W1 W2 [rad], (7,) or (N, 7).
        lengths: "CE", "7C", or user-defined lengths.
        hand: (H_x, H_y, H_z) from the flange [m] as in eq. 12, or a pose (4 x 4) in flange axes; None for the flange
            itself.

    Returns:
        4 x 4, or (N, 4, 4).

    Raises:
        InputError: if a value is not finite, a shape is wrong, or the lengths are unknown.
    """
    numbers = _numbers(lengths)
    kernel, single = _compiled(pose_equations)
    angles = np.ascontiguousarray(q, dtype=np.float64)
    flange: Array
    if angles.shape == (7,):
        flange = single(angles, numbers)
    elif angles.ndim == 2 and angles.shape[1] == 7:
        flange = kernel.batch(angles, _repeated(numbers, len(angles)))
    else:
        text = f"PA-10: q has the shape {angles.shape}; give seven angles [rad] ({', '.join(JOINTS)}), or rows of them."
        raise InputError(text, field="q", value=angles.shape, allowed=(7,))
    return flange if hand is None else np.asarray(flange @ _hand_pose(hand))


@lru_cache(maxsize=16)
def _compiled(law: Callable[..., Any]) -> tuple[Kernel, Callable[..., Any]]:
    """Compile equations; return the kernel, and its function for one state."""
    kernel = compiled_kernel(f"pa10_{law.__name__}", {name: SIZES[name] for name in signature(law).parameters}, law)
    return kernel, kernel.python_call(kernel.single)


@lru_cache(maxsize=8)
def joint_limits(lengths: str | Lengths = "CE") -> tuple[Array, Array]:
    """Return lower and upper joint limits [rad] from the robot description.

    Raises:
        InputError: if the robot catalogue has no robot of these lengths.
    """
    import ada_dynamics as ada

    if isinstance(lengths, Lengths):
        text = "PA-10: joint limits are known for the lengths 'CE' and '7C' only; omit within_limits, or give limits."
        raise InputError(text, field="limits", value=lengths, allowed=tuple(_ROBOTS))
    if lengths not in _ROBOTS:
        raise unknown_name("set of lengths of the PA-10", lengths, _ROBOTS)
    model = ada.load(_ROBOTS[lengths])
    found = [model.joints[name].limits for name in JOINTS]
    lower, upper = (np.array([float(getattr(limit, end)) for limit in found]) for end in ("lower", "upper"))
    for ends in (lower, upper):
        ends.setflags(write=False)
    return lower, upper


# --- inverse kinematics -----------------------------------------------------------------------------------------------
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
        """Store the facts beside the message."""
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
    numbers = _numbers(lengths)
    if not (T.__class__ is np.ndarray and T.dtype is _PLAIN and T.shape == (4, 4)):
        T = _pose(T)
    flange = T if hand is None else T @ inverse_pose(_hand_pose(hand))
    q, check = _kernel(redundant)[1](flange.reshape(16), np.array((value, e2)), numbers)
    distance, missed, defect = check.tolist()
    if distance > TOLERANCE or missed > TOLERANCE or defect > _DEFECT:
        if defect > _DEFECT:
            _refuse_pose(T, "T")
        _refuse(_wrist_place(flange, numbers), value, redundant, numbers, distance)
    if within_limits:
        lower, upper = joint_limits(lengths)
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
    numbers = _numbers(lengths)
    poses, given = _batch(T, value, e2)
    flanges = poses if hand is None else poses @ inverse_pose(_hand_pose(hand))
    count = len(poses)
    q, check = _kernel(redundant)[0].batch(
        np.ascontiguousarray(flanges).reshape(count, 16), given, _repeated(numbers, count)
    )
    wrong = np.flatnonzero(check[:, 2] > _DEFECT)
    if len(wrong):
        _refuse_pose(poses[wrong[0]], f"T[{wrong[0]}]")
    valid = (check[:, :2] <= TOLERANCE).all(axis=1)
    if not valid.all():
        q[~valid] = np.nan
    if within_limits:
        lower, upper = joint_limits(lengths)
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
    numbers, pose = _numbers(lengths), _pose(T)
    flange = pose if hand is None else pose @ inverse_pose(_hand_pose(hand))
    distance, _, defect = _kernel(redundant)[1](flange.reshape(16), np.zeros(2), numbers)[1].tolist()
    if defect > _DEFECT:
        _refuse_pose(pose, "T")
    place = _wrist_place(flange, numbers)
    if distance > TOLERANCE:
        _refuse(place, 0.0, redundant, numbers, distance)
    return _intervals(place, redundant, numbers)


def _kernel(redundant: str) -> tuple[Kernel, Callable[..., Any]]:
    if redundant not in _LAWS:
        text = f"PA-10: redundant is {redundant!r}; it must be 's1' or 's3'."
        raise InputError(text, field="redundant", value=redundant, allowed=tuple(_LAWS))
    return _compiled(_LAWS[redundant])


# --- arguments --------------------------------------------------------------------------------------------------------
@lru_cache(maxsize=8)
def _numbers(lengths: str | Lengths) -> Array:
    """Return L_b, L_s, L_e and L_w as a vector."""
    if not isinstance(lengths, Lengths):
        if lengths not in LENGTHS:
            raise unknown_name("set of lengths of the PA-10", lengths, LENGTHS)
        lengths = LENGTHS[lengths]
    elif not all(np.isfinite(lengths)) or min(lengths.upper, lengths.fore) <= 0.0:
        raise InputError(
            f"PA-10: {lengths} must be finite, with positive upper and fore.", field="lengths", value=lengths
        )
    return np.array(lengths)


def _repeated(numbers: Array, count: int) -> Array:
    return np.ascontiguousarray(np.broadcast_to(numbers, (count, len(numbers))))


def _hand_pose(hand: ArrayLike) -> Array:
    """Return the pose of a hand in flange axes, eq. 12."""
    pose = np.asarray(hand, dtype=np.float64)
    if pose.shape == (3,) and np.isfinite(pose).all():
        at = np.eye(4)
        at[:3, 3] = pose
        return at
    if pose.shape != (4, 4) or not np.isfinite(pose).all():
        text = (
            f"PA-10: hand is {np.array2string(pose, threshold=8)!r:.80}; give [H_x, H_y, H_z] from the flange [m], or "
            "its pose in flange axes, a 4 x 4 matrix."
        )
        raise InputError(text, field="hand", value=pose, allowed="three numbers, or a 4 x 4 matrix")
    R = pose[:3, :3]
    is_rotation = np.linalg.norm(R.T @ R - np.eye(3)) <= ROTATION_TOLERANCE and np.linalg.det(R) > 0.0
    if not is_rotation or not np.array_equal(pose[3], [0.0, 0.0, 0.0, 1.0]):
        _refuse_pose(pose, "hand")
    return pose


def _pose(T: ArrayLike) -> Array:
    try:
        pose = np.array(T, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InputError(f"PA-10: T is no matrix of numbers: {error}.", field="T", value=T) from error
    if pose.shape != (4, 4):
        text = f"PA-10: T has the shape {pose.shape}; give the pose of the hand, a 4 x 4 matrix."
        raise InputError(text, field="T", value=pose.shape, allowed=(4, 4))
    return pose


def _batch(T: ArrayLike, value: ArrayLike, e2: float) -> tuple[Array, Array]:
    """Return poses (N, 4, 4), and the angles of the redundant joint and of E2, (N, 2)."""
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
    return np.broadcast_to(poses, (count, 4, 4)), given


# --- poses without solution -------------------------------------------------------------------------------------------
def _refuse_pose(pose: Array, name: str) -> NoReturn:
    """Raise the error for a matrix that is no pose."""
    R = pose[:3, :3]
    error = np.linalg.norm(R.T @ R - np.eye(3))
    text = (
        f"PA-10: {name} is no pose: R^T R differs from the identity by {error:.2g} (allowed {ROTATION_TOLERANCE:g}), "
        f"det R = {np.linalg.det(R):.6g}, last row {pose[3].tolist()}. R must be a rotation, for instance from "
        "a unit quaternion, and the last row 0 0 0 1."
    )
    raise InputError(text, field=name, value=pose, allowed="a rigid motion")


def _refuse(place: Array, value: float, redundant: Redundant, numbers: Array, distance: float) -> NoReturn:
    """Raise the error for a wrist position, relative to the shoulder, without solution."""
    _, upper, fore, _ = numbers.tolist()
    if distance > TOLERANCE:
        reach = float(np.linalg.norm(place))
        least, most = abs(upper - fore), upper + fore
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


def _wrist_place(flange: Array, numbers: Array) -> Array:
    """Return the wrist position relative to the shoulder, eq. 13."""
    base, _, _, hand = numbers
    return np.asarray(flange[:3, 3] - hand * flange[:3, 2] - [0.0, 0.0, base])


def _intervals(p: Array, redundant: Redundant, numbers: Array) -> tuple[tuple[float, float], ...]:
    """Return the angles of the redundant joint with a non-negative radicand in eq. 46 or 57, within rounding."""
    _, upper, fore, _ = numbers.tolist()
    level, square = float(math.hypot(p[0], p[1])), float(p @ p)
    cos_4 = min(max((square - upper**2 - fore**2) / (2.0 * upper * fore), -1.0), 1.0)
    if redundant == "s3":
        most = fore**2 * (1.0 - cos_4**2) - TOLERANCE  # S_3² times this must not exceed `level`²
        if most <= level**2:
            return ((-math.pi, math.pi),)
        half, first = math.asin(level / math.sqrt(most)), 0.0
    else:
        gamma = max(abs(upper + fore * cos_4) - TOLERANCE, 0.0)
        least = gamma**2 - float(p[2]) ** 2  # `level`² times the squared cosine must not be less
        if least <= 0.0 or level == 0.0:
            return ((-math.pi, math.pi),)
        half, first = math.acos(min(math.sqrt(least) / level, 1.0)), math.atan2(p[1], p[0])
    found = []
    for centre in (first, first + math.pi):
        middle = math.remainder(centre, 2.0 * math.pi)
        low, high = middle - half, middle + half
        if low < -math.pi:  # split at ±π
            found += [(low + 2.0 * math.pi, math.pi), (-math.pi, high)]
        elif high > math.pi:
            found += [(low, math.pi), (-math.pi, high - 2.0 * math.pi)]
        else:
            found.append((low, high))
    return tuple(sorted(found))
