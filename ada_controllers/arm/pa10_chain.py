# SPDX-License-Identifier: Apache-2.0
"""Forward kinematics of the PA-10: pose of the hand (Yamada, eqs. 2-12) and its velocity (section 3).

The foot Σ_b is the base frame. The shoulder Σ_a is L_b above it, the elbow L_s from there, the wrist L_e from the
elbow, and the flange L_w from the wrist, all on one vertical line at zero angles. Twists are [linear, angular], as in
Yamada: body twists of the hand in its own axes, spatial twists at the origin of the base in its axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from inspect import signature
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics import expr
from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.jit import Kernel
from ada_dynamics.jit.compiled import compiled_kernel
from ada_dynamics.spatial.rotation import AxisRotation
from ada_dynamics.spatial.vector import UNIT3, Scalar, Vec3, cross

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
        raise InputError(
            f"PA-10: hand is {np.array2string(pose, threshold=8)!r:.80}; give [H_x, H_y, H_z] from the flange [m], or "
            "its pose in flange axes, a 4 x 4 matrix.",
            field="hand",
            value=pose,
            allowed="three numbers, or a 4 x 4 matrix",
        )
    R = pose[:3, :3]
    is_rotation = np.linalg.norm(R.T @ R - np.eye(3)) <= ROTATION_TOLERANCE and np.linalg.det(R) > 0.0
    if not is_rotation or not np.array_equal(pose[3], [0.0, 0.0, 0.0, 1.0]):
        refuse_pose(pose, "hand")
    return pose


def refuse_pose(pose: Array, name: str) -> NoReturn:
    """Raise the error for a matrix that is no pose."""
    R = pose[:3, :3]
    error = np.linalg.norm(R.T @ R - np.eye(3))
    raise InputError(
        f"PA-10: {name} is no pose: R^T R differs from the identity by {error:.2g} (allowed {ROTATION_TOLERANCE:g}), "
        f"det R = {np.linalg.det(R):.6g}, last row {pose[3].tolist()}. R must be a rotation, for instance from "
        "a unit quaternion, and the last row 0 0 0 1.",
        field=name,
        value=pose,
        allowed="a rigid motion",
    )


@lru_cache(maxsize=8)
def joint_limits(lengths: str | Lengths = "CE") -> tuple[Array, Array]:
    """Return lower and upper joint limits [rad] from the robot description.

    Raises:
        InputError: if the robot catalogue has no robot of these lengths.
    """
    import ada_dynamics as ada

    if isinstance(lengths, Lengths):
        raise InputError(
            "PA-10: joint limits are known for the lengths 'CE' and '7C' only; omit within_limits, or give limits.",
            field="limits",
            value=lengths,
            allowed=tuple(_ROBOTS),
        )
    if lengths not in _ROBOTS:
        raise unknown_name("set of lengths of the PA-10", lengths, _ROBOTS)
    model = ada.load(_ROBOTS[lengths])
    found = [model.joints[name].limits for name in JOINTS]
    lower, upper = (np.array([float(getattr(limit, end)) for limit in found]) for end in ("lower", "upper"))
    for ends in (lower, upper):
        ends.setflags(write=False)
    return lower, upper


# --- equations ------------------------------------------------------------------------------------------------------
class Chain(NamedTuple):
    """Geometry of one configuration, in base axes."""

    axes: tuple[Vec3, ...]  # joint axes
    centres: tuple[Vec3, ...]  # a point on each axis: shoulder, elbow, or wrist
    columns: tuple[Vec3, ...]  # axes of the hand
    place: Vec3  # origin of the hand


def chain(q: Sequence[Scalar], geometry: Sequence[Scalar]) -> Chain:
    """Compute bTh = bTa aTs1 s1Ts2 ... w1Tw2 w2Th, eqs. 2 and 3."""
    base, upper, fore = geometry[:3]
    turns = [AxisRotation(k, expr.cos(angle), expr.sin(angle)) for k, angle in zip(AXES, q, strict=True)]

    def outwards(vector: Vec3, count: int) -> Vec3:
        """Rotate a vector from the frame after the first `count` joints to the base."""
        for turn in reversed(turns[:count]):
            vector = turn.to_parent(vector)
        return vector

    axes = tuple(outwards(UNIT3[k], i) for i, k in enumerate(AXES))
    shoulder = base * UNIT3[Z]
    elbow = shoulder + upper * axes[2]
    wrist = elbow + fore * axes[4]
    rows = [geometry[3 + 4 * i : 7 + 4 * i] for i in range(3)]
    columns = [outwards(Vec3(rows[0][j], rows[1][j], rows[2][j]), 7) for j in range(4)]
    centres = (shoulder,) * 3 + (elbow,) * 2 + (wrist,) * 2
    return Chain(axes, centres, tuple(columns[:3]), wrist + columns[3])


def pose_equations(q: Sequence[Scalar], geometry: Sequence[Scalar]) -> dict[str, Any]:
    """Pose of the hand, 4 x 4."""
    found = chain(q, geometry)
    rows = [[*(column[i] for column in found.columns), found.place[i]] for i in range(3)]
    return {"pose": [*rows, [0.0, 0.0, 0.0, 1.0]]}


def body_equations(q: Sequence[Scalar], geometry: Sequence[Scalar]) -> dict[str, Any]:
    """Body Jacobian: column i is hHi times the unit twist about axis i."""
    found = chain(q, geometry)
    columns = []
    for axis, centre in zip(found.axes, found.centres, strict=True):
        linear = cross(axis, found.place - centre)
        columns.append([column @ part for part in (linear, axis) for column in found.columns])
    return {"jacobian": list(map(list, zip(*columns, strict=True)))}


def spatial_equations(q: Sequence[Scalar], geometry: Sequence[Scalar]) -> dict[str, Any]:
    """Spatial Jacobian: column i is [r_i x a_i, a_i] for the axis a_i through r_i (appendix, bHh times the body's)."""
    found = chain(q, geometry)
    columns = [(*cross(r, a), *a) for a, r in zip(found.axes, found.centres, strict=True)]
    return {"jacobian": list(map(list, zip(*columns, strict=True)))}


# --- numerical values -----------------------------------------------------------------------------------------------
@lru_cache(maxsize=16)
def kernel_of(law: Callable[..., Any]) -> tuple[Kernel, Callable[..., Any]]:
    """Compile equations; return the kernel, and its function for one state."""
    kernel = compiled_kernel(f"pa10_{law.__name__}", {name: _INPUTS[name] for name in signature(law).parameters}, law)
    return kernel, kernel.python_call(kernel.single)


def _run(law: Callable[..., Any], q: ArrayLike, numbers: Geometry) -> Array:
    """Evaluate a law for one configuration, or a batch of them along the first axis of q."""
    kernel, single = kernel_of(law)
    angles = np.asarray(q, dtype=np.float64)
    found: Array
    if angles.shape == (7,):
        found = single(np.ascontiguousarray(angles), numbers.outwards)
    elif angles.ndim == 2 and angles.shape[1] == 7:
        every = np.ascontiguousarray(np.broadcast_to(numbers.outwards, (len(angles), 15)))
        found = kernel.batch(np.ascontiguousarray(angles), every)
    else:
        raise InputError(
            f"PA-10: q has the shape {angles.shape}; give seven angles [rad] ({', '.join(JOINTS)}), or rows of them.",
            field="q",
            value=angles.shape,
            allowed=(7,),
        )
    return found


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
    return _run(pose_equations, q, geometry(lengths, hand))


def body_jacobian(q: ArrayLike, lengths: str | Lengths = "CE", hand: ArrayLike | None = None) -> Array:
    """6 x 7 matrix from joint velocities to the hand's twist [linear, angular], at its origin in its axes."""
    return _run(body_equations, q, geometry(lengths, hand))


def spatial_jacobian(q: ArrayLike, lengths: str | Lengths = "CE", hand: ArrayLike | None = None) -> Array:
    """6 x 7 matrix from joint velocities to the spatial twist, [linear at the base's origin, angular]."""
    return _run(spatial_equations, q, geometry(lengths, hand))


def manipulability(q: ArrayLike, lengths: str | Lengths = "CE") -> Any:
    """√det(J Jᵀ) of the 6 x 7 Jacobian, 0 in singular configurations; a number, or one per row of q.

    It is equal for all hands and both Jacobians, which differ by transformations of determinant one.
    """
    jacobian = _run(spatial_equations, q, geometry(lengths, None))
    with np.errstate(divide="ignore"):  # for a zero determinant, whose value is correct
        determinant = np.linalg.det(jacobian @ np.swapaxes(jacobian, -1, -2))
    found = np.sqrt(np.maximum(determinant, 0.0))
    return float(found) if jacobian.ndim == 2 else found
