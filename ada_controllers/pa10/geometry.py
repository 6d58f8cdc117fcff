# SPDX-License-Identifier: Apache-2.0
"""Link lengths of both versions of the PA-10, and the pose of the hand.

The foot Σ_b is the base frame. The shoulder Σ_a is L_b above it, the elbow L_s from there, the wrist L_e from the
elbow, and the flange L_w from the wrist, all on one vertical line at zero angles (Yamada, eqs. 2-12).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, unknown_name

JOINTS = ("s1", "s2", "s3", "e1", "e2", "w1", "w2")


class Lengths(NamedTuple):
    """Lengths along the arm [m]."""

    base: float  # L_b, foot to shoulder
    upper: float  # L_s, shoulder to elbow
    fore: float  # L_e, elbow to wrist
    hand: float  # L_w, wrist to flange


LENGTHS = {"CE": Lengths(0.317, 0.450, 0.480, 0.070), "7C": Lengths(0.315, 0.450, 0.500, 0.080)}
"""Lengths by name: PA10-7CE, and the older PA-10-7C."""

ROBOTS = {"CE": "pa10", "7C": "pa10_7c"}
"""Names in the robot catalogue."""

# tolerance of rotation matrices, as the root of the sum of squared errors; larger errors affect the solutions
ROTATION_TOLERANCE = 1e-9


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


def lengths_of(lengths: str | Lengths) -> Lengths:
    """Return link lengths by name, or check given ones.

    Raises:
        InputError: if the name is unknown, or a length is invalid.
    """
    if isinstance(lengths, Lengths):
        if not all(np.isfinite(lengths)) or min(lengths.upper, lengths.fore) <= 0.0:
            raise InputError(
                f"PA-10: {lengths} must be finite, with positive upper and fore.", field="lengths", value=lengths
            )
        return lengths
    if lengths not in LENGTHS:
        raise unknown_name("set of lengths of the PA-10", lengths, LENGTHS)
    return LENGTHS[lengths]


def geometry(lengths: str | Lengths, hand: ArrayLike | None) -> Geometry:
    """Return the constants of an arm with a hand.

    Args:
        lengths: "CE", "7C", or user-defined lengths.
        hand: (H_x, H_y, H_z) from the flange [m] as in eq. 12, or a pose (4 x 4) in flange axes; None for the flange
            itself.

    Raises:
        InputError: if the lengths are unknown, or the hand is invalid.
    """
    if hand is None and isinstance(lengths, str):
        return _without_hand(lengths)
    return _numbers(lengths_of(lengths), np.eye(4) if hand is None else _hand_pose(hand))


@lru_cache(maxsize=8)
def _without_hand(lengths: str) -> Geometry:
    return _numbers(lengths_of(lengths), np.eye(4))


def _numbers(lengths: Lengths, hand: Array) -> Geometry:
    to_flange = np.eye(4)
    to_flange[2, 3] = lengths.hand
    from_wrist = to_flange @ hand  # eq. 12
    rotation, place = from_wrist[:3, :3], from_wrist[:3, 3]
    inverse = np.column_stack([rotation.T, -rotation.T @ place])
    arm = lengths[:3]
    return Geometry(np.r_[arm, from_wrist[:3].ravel()], np.r_[arm, inverse.ravel()], lengths)


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
    rotation = pose[:3, :3]
    error = np.linalg.norm(rotation.T @ rotation - np.eye(3))
    if error > ROTATION_TOLERANCE or np.linalg.det(rotation) < 0.0 or not np.array_equal(pose[3], [0.0, 0.0, 0.0, 1.0]):
        raise InputError(
            f"PA-10: hand is no pose: its upper left 3 x 3 block must be a rotation (orthogonality error "
            f"{error:.1e}, determinant {np.linalg.det(rotation):.3g}), and its last row 0 0 0 1.",
            field="hand",
            value=pose,
            allowed="a rigid motion",
        )
    return pose


@lru_cache(maxsize=8)
def joint_limits(lengths: str = "CE") -> tuple[Array, Array]:
    """Return lower and upper joint limits [rad] from the robot description.

    Raises:
        InputError: if the robot catalogue has no robot of these lengths.
    """
    import ada_dynamics as ada

    if lengths not in ROBOTS:
        raise unknown_name("set of lengths of the PA-10", lengths, ROBOTS)
    model = ada.load(ROBOTS[lengths])
    found = [model.joints[name].limits for name in JOINTS]
    lower, upper = (np.array([float(getattr(limit, end)) for limit in found]) for end in ("lower", "upper"))
    for ends in (lower, upper):
        ends.setflags(write=False)
    return lower, upper
