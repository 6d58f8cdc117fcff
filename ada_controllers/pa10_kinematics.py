# SPDX-License-Identifier: Apache-2.0
"""Kinematics of the Mitsubishi PA-10 (Yamada): forward and inverse kinematics in closed form.

    from ada_controllers import pa10_kinematics as pa10

    T = pa10.forward(q, lengths="CE")                          # pose of the hand in the base frame, 4 x 4
    q = pa10.inverse(T, lengths="CE", redundant="s1", value=0.3)  # eight rows of seven angles

Angles are those of S1 S2 S3 E1 E2 W1 W2 [rad]; at zero the arm is vertical. Lengths: "CE" for the PA10-7CE (robot
`pa10`), "7C" for the older PA-10-7C (`pa10_7c`). The foot Σ_b is the base frame. The shoulder Σ_a is L_b above it, the
elbow L_s from there, the wrist L_e from the elbow, and the flange L_w from the wrist (eqs. 2-12). For the
Jacobians (section 3) see `Dynamics.jacobian` of the robot description.

The inverse kinematics (eqs. 13-70) is evaluated over generic scalars and without branches. Two steps differ from the
printed equations for accuracy near singular configurations; they are equal in exact arithmetic:

- θ4 of eq. 26 is an arccosine, which loses half of the digits for a straight arm. With S1 given, θ3 and θ4 follow from
  eqs. 18, with S_4 from eq. 40, so that the pose is reached to full precision.
- θ7 follows from the rotation that remains after θ5, which is also valid if W1 is 0 or π and only E2 + W2 (or their
  difference) is determined.

Two of the four or eight sign branches are solved. With (θ1, ..., θ7) also

    (θ1, θ2, θ3 ± π, -θ4, θ5 ± π, θ6, θ7)   elbow flipped, S1 unchanged       (λ4, eq. 44: λ3 = -λ4)
    (θ1 ± π, -θ2, θ3 ± π, θ4, θ5, θ6, θ7)   shoulder flipped
    (θ1, ..., θ4, θ5 ± π, -θ6, θ7 ± π)      wrist flipped

reach the pose; the first two in sequence leave S3 unchanged.

Misprints: "式(17.c)" before eq. 27 is eq. 18.c; "式(30)" before eq. 34 is eq. 29; A_2² in eq. 39 is A_2, by eq. 37; the
right sides of eq. 62 lack the primes of eq. 61.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from inspect import signature
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics import expr
from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.jit import Kernel
from ada_dynamics.jit.compiled import compiled_kernel
from ada_dynamics.spatial.rotation import AxisRotation
from ada_dynamics.spatial.vector import UNIT3, ZERO, Mat3, Scalar, Vec3, cross

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
X, Y, Z = 0, 1, 2
AXES = (Z, Y, Z, Y, Z, Y, Z)
"""Rotation axes of the joints, eqs. 4-10."""


class Lengths(NamedTuple):
    """Lengths along the arm [m]."""

    base: float  # L_b, foot to shoulder
    upper: float  # L_s, shoulder to elbow
    fore: float  # L_e, elbow to wrist
    hand: float  # L_w, wrist to flange


LENGTHS = {"CE": Lengths(0.317, 0.450, 0.480, 0.070), "7C": Lengths(0.315, 0.450, 0.500, 0.080)}
"""Lengths by name: PA10-7CE, and the older PA-10-7C."""

_ROBOTS = {"CE": "pa10", "7C": "pa10_7c"}  # names in the robot catalogue
# tolerance of rotation matrices, as the root of the sum of squared errors; larger errors affect the solutions
ROTATION_TOLERANCE = 1e-9
_INPUTS = {"q": 7, "pose": 16, "given": 2, "geometry": 15}  # sizes of the arguments of equations


# --- geometry ---------------------------------------------------------------------------------------------------------
class Geometry(NamedTuple):
    """Constants of the equations.

    Attributes:
        outwards: L_b, L_s, L_e, then the rows of w2Th (3 x 4), the pose of the hand in the wrist frame.
        inwards: L_b, L_s, L_e, then the rows of w2Th^-1.
        lengths: link lengths.
    """

    outwards: Array
    inwards: Array
    lengths: Lengths


def geometry(lengths: str | Lengths, hand: ArrayLike | None) -> Geometry:
    """Return the constants of an arm with a hand.

    Args:
        lengths: "CE", "7C", or user-defined lengths.
        hand: (H_x, H_y, H_z) from the flange [m] as in eq. 12, or a pose (4 x 4) in flange axes; None for the flange
            itself.

    Raises:
        InputError: if the lengths are unknown, or the hand is invalid.
    """
    return _without_hand(lengths) if hand is None else _geometry(lengths, _hand_pose(hand))


@lru_cache(maxsize=8)
def _without_hand(lengths: str | Lengths) -> Geometry:
    return _geometry(lengths, np.eye(4))


def _geometry(lengths: str | Lengths, hand: Array) -> Geometry:
    if not isinstance(lengths, Lengths):
        if lengths not in LENGTHS:
            raise unknown_name("set of lengths of the PA-10", lengths, LENGTHS)
        lengths = LENGTHS[lengths]
    elif not all(np.isfinite(lengths)) or min(lengths.upper, lengths.fore) <= 0.0:
        raise InputError(
            f"PA-10: {lengths} must be finite, with positive upper and fore.", field="lengths", value=lengths
        )
    to_flange = np.eye(4)
    to_flange[2, 3] = lengths.hand
    from_wrist = to_flange @ hand  # eq. 12
    rotation, place = from_wrist[:3, :3], from_wrist[:3, 3]
    inverse = np.column_stack([rotation.T, -rotation.T @ place])
    return Geometry(np.r_[lengths[:3], from_wrist[:3].ravel()], np.r_[lengths[:3], inverse.ravel()], lengths)


def _hand_pose(hand: ArrayLike) -> Array:
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
        refuse_pose(pose, "hand")
    return pose


def refuse_pose(pose: Array, name: str) -> NoReturn:
    """Raise the error for a matrix that is no pose."""
    R = pose[:3, :3]
    error = np.linalg.norm(R.T @ R - np.eye(3))
    text = (
        f"PA-10: {name} is no pose: R^T R differs from the identity by {error:.2g} (allowed {ROTATION_TOLERANCE:g}), "
        f"det R = {np.linalg.det(R):.6g}, last row {pose[3].tolist()}. R must be a rotation, for instance from "
        "a unit quaternion, and the last row 0 0 0 1."
    )
    raise InputError(text, field=name, value=pose, allowed="a rigid motion")


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


# --- equations ------------------------------------------------------------------------------------------------------
def pose_equations(q: Sequence[Scalar], geometry: Sequence[Scalar]) -> dict[str, Any]:
    """Pose of the hand, bTh = bTa aTs1 s1Ts2 ... w1Tw2 w2Th, 4 x 4 (eqs. 2 and 3)."""
    base, upper, fore = geometry[:3]
    turns = [AxisRotation(k, expr.cos(angle), expr.sin(angle)) for k, angle in zip(AXES, q, strict=True)]

    def outwards(vector: Vec3, count: int) -> Vec3:
        """Rotate a vector from the frame after the first `count` joints to the base."""
        for turn in reversed(turns[:count]):
            vector = turn.to_parent(vector)
        return vector

    wrist = base * UNIT3[Z] + upper * outwards(UNIT3[Z], 2) + fore * outwards(UNIT3[Z], 4)
    rows = [geometry[3 + 4 * i : 7 + 4 * i] for i in range(3)]
    *columns, place = (outwards(Vec3(rows[0][j], rows[1][j], rows[2][j]), 7) for j in range(4))
    columns.append(wrist + place)
    return {"pose": [*([column[i] for column in columns] for i in range(3)), [0.0, 0.0, 0.0, 1.0]]}


# --- numerical values -----------------------------------------------------------------------------------------------
@lru_cache(maxsize=16)
def kernel_of(law: Callable[..., Any]) -> tuple[Kernel, Callable[..., Any]]:
    """Compile equations; return the kernel, and its function for one state."""
    kernel = compiled_kernel(f"pa10_{law.__name__}", {name: _INPUTS[name] for name in signature(law).parameters}, law)
    return kernel, kernel.python_call(kernel.single)


def forward(q: ArrayLike, lengths: str | Lengths = "CE", hand: ArrayLike | None = None) -> Array:
    """Pose of the hand in the base frame.

    Args:
        q: S1 S2 S3 E1 E2 W1 W2 [rad], (7,) or (N, 7).
        lengths: "CE", "7C", or user-defined lengths.
        hand: (H_x, H_y, H_z) from the flange [m], or a pose (4 x 4) in flange axes; None for the flange itself.

    Returns:
        4 x 4, or (N, 4, 4).

    Raises:
        InputError: if a value is not finite, a shape is wrong, or the lengths are unknown.
    """
    numbers = geometry(lengths, hand).outwards
    kernel, single = kernel_of(pose_equations)
    angles = np.asarray(q, dtype=np.float64)
    found: Array
    if angles.shape == (7,):
        found = single(np.ascontiguousarray(angles), numbers)
    elif angles.ndim == 2 and angles.shape[1] == 7:
        every = np.ascontiguousarray(np.broadcast_to(numbers, (len(angles), 15)))
        found = kernel.batch(np.ascontiguousarray(angles), every)
    else:
        text = f"PA-10: q has the shape {angles.shape}; give seven angles [rad] ({', '.join(JOINTS)}), or rows of them."
        raise InputError(text, field="q", value=angles.shape, allowed=(7,))
    return found


# --- inverse kinematics -----------------------------------------------------------------------------------------------
Redundant = Literal["s1", "s3"]

BRANCHES = tuple((a, b, c) for a in (1, -1) for b in (1, -1) for c in (1, -1))
"""Signs of the eight solutions in order: λ2 (S1 given) or λ1' (S3 given), λ4, sign of W1."""

TOLERANCE = 1e-12
"""Tolerance of reach [m; m² for S3], for rounded poses at the boundary of the workspace."""

_DEFECT = ROTATION_TOLERANCE**2
_STRAIGHT_WRIST = 1e-12  # sine of W1 below which the direction of E2 is determined by rounding errors only
_TINY = 1e-200
_PLAIN = np.dtype(np.float64)


class WristTarget(NamedTuple):
    """aTw2d of eq. 14, and its distance from the workspace."""

    rotation: Mat3  # columns
    p: Vec3
    square: Scalar  # |p|²
    cos_4: Scalar  # C_4 of eq. 22, clipped to [-1, 1]
    distance: Scalar  # of the wrist from the workspace, negative inside [m]
    defect: Scalar  # sum of squared errors of the pose matrix


class Arm(NamedTuple):
    """First four joints of one solution."""

    angles: tuple[Scalar, Scalar, Scalar, Scalar]
    turns: tuple[AxisRotation, AxisRotation, AxisRotation, AxisRotation]


def s1_equations(pose: Sequence[Scalar], given: Sequence[Scalar], geometry: Sequence[Scalar]) -> dict[str, Any]:
    """All solutions for a given S1 (section 2.2.1), rows in the order of `BRANCHES`."""
    target = _target(pose, geometry)
    upper, fore = geometry[1:3]
    p_x, p_y, p_z = target.p
    theta_1 = given[0]
    c_1, s_1 = expr.cos(theta_1), expr.sin(theta_1)

    alpha_2, beta_2 = p_x * c_1 + p_y * s_1, p_z  # eq. 27
    gamma_2 = upper + fore * target.cos_4
    beta_3 = p_x * s_1 - p_y * c_1  # eq. 31
    length = alpha_2 * alpha_2 + beta_2 * beta_2
    a_2 = length - gamma_2 * gamma_2  # eq. 33
    root = expr.sqrt(expr.maximum(a_2, 0.0))
    # S_4 of eq. 40 replaces eq. 25; the arctangent has the arguments L_e S_4 and L_e C_4
    across, along = expr.sqrt(expr.maximum(a_2, 0.0) + beta_3 * beta_3), gamma_2 - upper
    theta_4, turn_4 = _angle(Y, across, along)
    rows = []
    for lambda_2 in (1.0, -1.0):
        signed = lambda_2 * root
        theta_2, turn_2 = _angle(Y, alpha_2 * gamma_2 - beta_2 * signed, beta_2 * gamma_2 + alpha_2 * signed)  # eq. 47
        theta_3, turn_3 = _angle(Z, -beta_3, signed)  # eq. 48, λ4 = 1
        arm = Arm((theta_1, theta_2, theta_3, theta_4), (AxisRotation(Z, c_1, s_1), turn_2, turn_3, turn_4))
        wrist = _wrist(target, arm, given[1])
        rows += _both_wrists(arm.angles, wrist)
        turned = (theta_1, theta_2, _half_turn(theta_3), -theta_4)
        rows += _both_wrists(turned, (_half_turn(wrist[0]), *wrist[1:]))
    # distance of the plane of S1 from the possible elbow positions [m], eq. 46
    missed = expr.absolute(gamma_2) - expr.sqrt(length)
    return {"q": rows, "check": [target.distance, missed, target.defect]}


def s3_equations(pose: Sequence[Scalar], given: Sequence[Scalar], geometry: Sequence[Scalar]) -> dict[str, Any]:
    """All solutions for a given S3 (section 2.2.2), rows in the order of `BRANCHES`."""
    target = _target(pose, geometry)
    upper, fore = geometry[1:3]
    p_x, p_y, p_z = target.p
    theta_3 = given[0]
    c_3, s_3 = expr.cos(theta_3), expr.sin(theta_3)
    turn_3 = AxisRotation(Z, c_3, s_3)

    level = p_x * p_x + p_y * p_y
    square_4 = expr.maximum(1.0 - target.cos_4 * target.cos_4, 0.0)
    a_1 = level - fore * fore * s_3 * s_3 * square_4  # eq. 57, equal to A_2', eq. 58
    # if A_1' is negative by rounding, S_4 is set such that it is zero, for consistency
    fitting = level / expr.maximum(fore * fore * s_3 * s_3, _TINY)
    sin_4 = expr.sqrt(expr.select(a_1, 0.0, expr.minimum(fitting, 1.0), square_4))  # eq. 25, λ4 = 1
    theta_4, turn_4 = _angle(Y, sin_4, target.cos_4)  # eq. 26
    root = expr.sqrt(expr.maximum(a_1, 0.0))
    alpha, beta, gamma = -p_x, p_y, fore * s_3 * sin_4  # eq. 50
    across, along = fore * c_3 * sin_4, upper + fore * target.cos_4  # right sides of eqs. 18.a and 18.c
    by_sign = {}
    for lambda_1 in (1.0, -1.0):
        signed = lambda_1 * root
        theta_1, turn_1 = _angle(Z, alpha * gamma - beta * signed, beta * gamma + alpha * signed)  # eqs. 59, 60
        ahead = -signed  # p_x C_1 + p_y S_1, see eq. 63
        # eqs. 61, 62 with λ2' = λ1': (p_x C_1 + p_y S_1, p_z) rotated by θ2 is (across, along)
        theta_2, turn_2 = _angle(Y, ahead * along - p_z * across, ahead * across + p_z * along)
        arm = Arm((theta_1, theta_2, theta_3, theta_4), (turn_1, turn_2, turn_3, turn_4))
        by_sign[lambda_1] = arm.angles, _wrist(target, arm, given[1])
    rows = []
    for lambda_1 in (1.0, -1.0):
        rows += _both_wrists(*by_sign[lambda_1])
        # elbow and shoulder flipped: λ4 = -1, and λ1' changes its sign with p_x C_1 + p_y S_1
        (theta_1, theta_2, _, theta_4), wrist = by_sign[-lambda_1]
        turned = (_half_turn(theta_1), -theta_2, theta_3, -theta_4)
        rows += _both_wrists(turned, (_half_turn(wrist[0]), *wrist[1:]))
    # negative radicand [m²], divided by S_3², because it originates from the error of S_4²
    missed = -(a_1 / expr.maximum(s_3 * s_3, _TINY))
    return {"q": rows, "check": [target.distance, missed, target.defect]}


def _target(pose: Sequence[Scalar], geometry: Sequence[Scalar]) -> WristTarget:
    """Compute aTw2d = bTa^-1 bThd w2Th^-1, eq. 13, and eqs. 22, 24."""
    base, upper, fore = geometry[:3]
    columns = [Vec3(pose[j], pose[4 + j], pose[8 + j]) for j in range(4)]
    inwards = [geometry[3 + 4 * i : 7 + 4 * i] for i in range(3)]

    def hand(j: int) -> Vec3:
        """Return column j of the product of both poses, without the translation of the first."""
        result: Vec3 = inwards[0][j] * columns[0] + inwards[1][j] * columns[1] + inwards[2][j] * columns[2]
        return result

    p = hand(3) + columns[3] - Vec3(0.0, 0.0, base)
    square = p @ p
    cos_4 = (square - upper * upper - fore * fore) / (2.0 * upper * fore)  # eq. 22
    cos_4 = expr.maximum(expr.minimum(cos_4, 1.0), -1.0)
    reach = expr.sqrt(square)
    distance = expr.maximum(reach - (upper + fore), expr.absolute(upper - fore) - reach)  # eq. 24
    return WristTarget(Mat3(hand(0), hand(1), hand(2)), p, square, cos_4, distance, _defect(columns, pose[12:]))


def _defect(columns: Sequence[Vec3], last: Sequence[Scalar]) -> Scalar:
    """Return a sum of squares that is zero for a pose: orthonormal axes, right-handed, last row 0 0 0 1."""
    x, y, z, _ = columns
    rest = cross(x, y) - z
    errors = (x @ x - 1.0, y @ y - 1.0, x @ y, *rest, *last[:3], last[3] - 1.0)
    return sum((error * error for error in errors), ZERO)


def _angle(axis: int, sine: Scalar, cosine: Scalar) -> tuple[Scalar, AxisRotation]:
    """Return atan2 of scaled sine and cosine, and the rotation; no rotation if both are zero."""
    square = sine * sine + cosine * cosine
    scale = 1.0 / expr.sqrt(expr.maximum(square, _TINY))
    c = expr.select(square, _TINY, 1.0, cosine * scale)
    s = expr.select(square, _TINY, 0.0, sine * scale)
    angle = expr.select(square, _TINY, 0.0, expr.atan2(sine, cosine))
    return angle, AxisRotation(axis, c, s)


def _wrist(target: WristTarget, arm: Arm, e2: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Return θ5, θ6 >= 0 and θ7 from the rotation that remains after the first four joints (section 2.3)."""

    def rest(column: Vec3) -> Vec3:
        for turn in arm.turns:
            column = turn.to_child(column)
        return column

    m = [rest(column) for column in target.rotation]  # columns of (aTe1)^-1 aTw2d = Rz(θ5) Ry(θ6) Rz(θ7)
    sin_6 = expr.sqrt(m[2][0] * m[2][0] + m[2][1] * m[2][1])
    theta_6 = expr.atan2(sin_6, m[2][2])
    free = expr.select(sin_6, _STRAIGHT_WRIST, 1.0, 0.0)
    found, turn = _angle(Z, m[2][1], m[2][0])
    theta_5 = expr.select(0.5, free, e2, found)
    c_5 = expr.select(0.5, free, expr.cos(e2), turn.c)
    s_5 = expr.select(0.5, free, expr.sin(e2), turn.s)
    # second row of Rz(θ5)^T M = Ry(θ6) Rz(θ7), equal to (S_7, C_7, 0)
    s_7, c_7 = (c_5 * m[j][1] - s_5 * m[j][0] for j in (0, 1))
    return theta_5, theta_6, expr.atan2(s_7, c_7)


def _both_wrists(arm: Sequence[Scalar], wrist: tuple[Scalar, Scalar, Scalar]) -> list[list[Scalar]]:
    theta_5, theta_6, theta_7 = wrist
    return [[*arm, *wrist], [*arm, _half_turn(theta_5), -theta_6, _half_turn(theta_7)]]


def _half_turn(angle: Scalar) -> Scalar:
    """Return the angle plus half a turn, from -π to π."""
    return expr.select(0.0, angle, angle - math.pi, angle + math.pi)


_LAWS = {"s1": s1_equations, "s3": s3_equations}


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
    q, check = _kernel(redundant)[1](T.reshape(16), np.array((value, e2)), numbers.inwards)
    distance, missed, defect = check.tolist()
    if distance > TOLERANCE or missed > TOLERANCE or defect > _DEFECT:
        _refuse(T, value, redundant, numbers, (distance, missed, defect))
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
    numbers = geometry(lengths, hand)
    poses, given = _batch(T, value, e2)
    every = np.ascontiguousarray(np.broadcast_to(numbers.inwards, (len(poses), 15)))
    q, check = _kernel(redundant)[0].batch(poses, given, every)
    wrong = np.flatnonzero(check[:, 2] > _DEFECT)
    if len(wrong):
        refuse_pose(poses[wrong[0]].reshape(4, 4), f"T[{wrong[0]}]")
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
    numbers, pose = geometry(lengths, hand), _pose(T)
    check = _kernel(redundant)[1](pose.reshape(16), np.zeros(2), numbers.inwards)[1].tolist()
    if check[0] > TOLERANCE or check[2] > _DEFECT:
        _refuse(pose, 0.0, redundant, numbers, check)
    return _intervals(_wrist_place(pose, numbers), redundant, numbers)


def _kernel(redundant: str) -> tuple[Kernel, Callable[..., Any]]:
    if redundant not in _LAWS:
        text = f"PA-10: redundant is {redundant!r}; it must be 's1' or 's3'."
        raise InputError(text, field="redundant", value=redundant, allowed=tuple(_LAWS))
    return kernel_of(_LAWS[redundant])


# --- arguments ------------------------------------------------------------------------------------------------------
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


# --- poses without solution -----------------------------------------------------------------------------------------
def _refuse(T: Any, value: float, redundant: Redundant, numbers: Geometry, check: Any) -> NoReturn:
    distance, _, defect = check
    if defect > _DEFECT:
        refuse_pose(T, "T")
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
