# SPDX-License-Identifier: Apache-2.0
"""Equations of the kinematics of the PA-10 (Yamada, secs. 1 and 2) over generic scalars, without branches.

The foot Σ_b is the base frame. The shoulder Σ_a is L_b above it, the elbow L_s from there, the wrist L_e from the
elbow, and the flange L_w from the wrist (eqs. 2-12). Equations 13-70 are the inverse kinematics. Two steps differ from
the printed equations for accuracy near singular configurations; they are equal in exact arithmetic:

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
from collections.abc import Sequence
from typing import Any, NamedTuple

from ada_dynamics import expr
from ada_dynamics.spatial.rotation import AxisRotation
from ada_dynamics.spatial.vector import UNIT3, ZERO, Scalar, Vec3, cross

SIZES = {"q": 7, "pose": 16, "given": 2, "lengths": 4}
"""Sizes of the arguments: angles; pose by rows; angles of the redundant joint and of E2; L_b, L_s, L_e, L_w."""

Y, Z = 1, 2
AXES = (Z, Y, Z, Y, Z, Y, Z)
"""Rotation axes of the joints, eqs. 4-10."""

_STRAIGHT_WRIST = 1e-12  # sine of W1 below which the direction of E2 is determined by rounding errors only
_TINY = 1e-200


def pose_equations(q: Sequence[Scalar], lengths: Sequence[Scalar]) -> dict[str, Any]:
    """Pose of the flange, bTa aTs1 s1Ts2 ... w1Tw2 w2Tf, 4 x 4 (eqs. 2 and 3)."""
    base, upper, fore, hand = lengths
    turns = [AxisRotation(k, expr.cos(angle), expr.sin(angle)) for k, angle in zip(AXES, q, strict=True)]

    def outwards(vector: Vec3, count: int) -> Vec3:
        """Rotate a vector from the frame after the first `count` joints to the base."""
        for turn in reversed(turns[:count]):
            vector = turn.to_parent(vector)
        return vector

    columns = [outwards(axis, 7) for axis in UNIT3]
    wrist = base * UNIT3[Z] + upper * outwards(UNIT3[Z], 2) + fore * outwards(UNIT3[Z], 4)
    columns.append(wrist + hand * columns[Z])
    return {"pose": [*([column[i] for column in columns] for i in range(3)), [0.0, 0.0, 0.0, 1.0]]}


class WristTarget(NamedTuple):
    """aTw2d of eq. 14, and its distance from the workspace."""

    axes: Sequence[Vec3]  # columns of the rotation
    p: Vec3
    cos_4: Scalar  # C_4 of eq. 22, clipped to [-1, 1]
    distance: Scalar  # of the wrist from the workspace, negative inside [m]
    defect: Scalar  # sum of squared errors of the pose matrix


def s1_equations(pose: Sequence[Scalar], given: Sequence[Scalar], lengths: Sequence[Scalar]) -> dict[str, Any]:
    """All solutions for a given S1 (section 2.2.1): rows by λ2, λ4 and the sign of W1."""
    target = _target(pose, lengths)
    _, upper, fore, _ = lengths
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
        wrist = _wrist(target, (AxisRotation(Z, c_1, s_1), turn_2, turn_3, turn_4), given[1])
        rows += _both_wrists((theta_1, theta_2, theta_3, theta_4), wrist)
        turned = (theta_1, theta_2, _half_turn(theta_3), -theta_4)
        rows += _both_wrists(turned, (_half_turn(wrist[0]), *wrist[1:]))
    # distance of the plane of S1 from the possible elbow positions [m], eq. 46
    missed = expr.absolute(gamma_2) - expr.sqrt(length)
    return {"q": rows, "check": [target.distance, missed, target.defect]}


def s3_equations(pose: Sequence[Scalar], given: Sequence[Scalar], lengths: Sequence[Scalar]) -> dict[str, Any]:
    """All solutions for a given S3 (section 2.2.2): rows by λ1', λ4 and the sign of W1."""
    target = _target(pose, lengths)
    _, upper, fore, _ = lengths
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
        wrist = _wrist(target, (turn_1, turn_2, turn_3, turn_4), given[1])
        by_sign[lambda_1] = (theta_1, theta_2, theta_3, theta_4), wrist
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


def _target(pose: Sequence[Scalar], lengths: Sequence[Scalar]) -> WristTarget:
    """Compute aTw2d = bTa^-1 bTfd w2Tf^-1, eq. 13, and eqs. 22, 24."""
    base, upper, fore, hand = lengths
    columns = [Vec3(pose[j], pose[4 + j], pose[8 + j]) for j in range(4)]
    p = columns[3] - hand * columns[Z] - base * UNIT3[Z]
    square = p @ p
    cos_4 = (square - upper * upper - fore * fore) / (2.0 * upper * fore)  # eq. 22
    cos_4 = expr.maximum(expr.minimum(cos_4, 1.0), -1.0)
    reach = expr.sqrt(square)
    distance = expr.maximum(reach - (upper + fore), expr.absolute(upper - fore) - reach)  # eq. 24
    return WristTarget(columns[:3], p, cos_4, distance, _defect(columns, pose[12:]))


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


def _wrist(target: WristTarget, turns: Sequence[AxisRotation], e2: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Return θ5, θ6 >= 0 and θ7 from the rotation that remains after the first four joints (section 2.3)."""

    def rest(column: Vec3) -> Vec3:
        for turn in turns:
            column = turn.to_child(column)
        return column

    m = [rest(column) for column in target.axes]  # columns of (aTe1)^-1 aTw2d = Rz(θ5) Ry(θ6) Rz(θ7)
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
