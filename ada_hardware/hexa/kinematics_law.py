# SPDX-License-Identifier: Apache-2.0
"""Leg equations of the HEXA over generic scalars: inverse kinematics, rods and their rates, a Newton step.

The motor of a leg is at A; its crank of length L rotates in the plane of u (outwards) and z; its rod of length l
connects the crank end C = A + L (cos q u - sin q z) with the ball joint B of the plate at p + R B. Angles are positive
downwards. Tarao et al. print no equations of the mechanism; these are the usual ones of 6-RUS robots.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

from ada_dynamics import expr
from ada_dynamics.robots.mechanisms.parallel_robots import LEGS, HexaGeometry
from ada_dynamics.spatial.vector import ZERO, Mat3, Scalar, Vec3, cross, matrix

PI = 3.141592653589793
_TINY = 1e-200

Row = list[Scalar]


class Leg(NamedTuple):
    """Constants of a leg in the base frame; ball joint in the plate frame."""

    shoulder: Vec3
    outwards: Vec3
    ball: Vec3


def legs_of(geometry: HexaGeometry) -> tuple[Leg, ...]:
    """Constants of the six legs."""
    found = []
    for i in range(LEGS):
        azimuth = geometry.azimuth(i)
        u = Vec3(float(expr.cos(azimuth)), float(expr.sin(azimuth)), 0.0)
        found.append(Leg(Vec3(*map(float, geometry.shoulder(i))), u, Vec3(*map(float, geometry.ball(i)))))
    return tuple(found)


# --- from the plate to the motors -----------------------------------------------------------------------------------
def inverse_law(geometry: HexaGeometry, pose: Sequence[Scalar], branch: Sequence[Scalar]) -> dict[str, Any]:
    """Inverse kinematics: crank angles of a pose, each from -π to π.

    |p + R B - C| = l is a cos q + b sin q = c, so q = atan2(b, a) ± acos(c / √(a² + b²)).

    Args:
        geometry: dimensions.
        pose: pose of the plate in the base frame, 4x4 row-major.
        branch: sign of each leg: -1 elbow outwards, 1 inwards.

    Returns:
        `q`, and `check`: per leg |c| - √(a² + b²) [m], positive if out of reach, then the squared error of the pose.
    """
    angles, check = [], []
    L, rod = geometry.crank, geometry.rod
    for leg, sign in zip(legs_of(geometry), branch, strict=True):
        d = _ball(pose, leg)[0] - leg.shoulder
        a, b = d @ leg.outwards, -d[2]
        c = (d @ d + (L * L - rod * rod)) * (0.5 / L)
        square = a * a + b * b
        opening = expr.atan2(expr.sqrt(expr.maximum(square - c * c, 0.0)), c)
        angles.append(_within_a_turn(expr.atan2(b, a) + sign * opening))
        check.append(expr.absolute(c) - expr.sqrt(square))
    return {"q": angles, "check": [*check, _defect(pose)]}


# --- at a pose and its crank angles ---------------------------------------------------------------------------------
def rods_law(geometry: HexaGeometry, pose: Sequence[Scalar], q: Sequence[Scalar]) -> dict[str, Any]:
    """Rods at a pose and crank angles: J_x t = J_q q̇ with the plate twist t = [v; ω] at its origin, in base axes.

    Returns:
        `rows`: J_x, in row i the rod direction n and R B x n; `motors`: diagonal of J_q, n ∂C/∂q [m/rad]; `longer`:
        actual minus nominal rod lengths [m].
    """
    rows, motors, longer = [], [], []
    for leg, angle in zip(legs_of(geometry), q, strict=True):
        ball, arm = _ball(pose, leg)
        crank, tangent = crank_of(leg, angle)
        r = ball - leg.shoulder - geometry.crank * crank
        length = expr.sqrt(r @ r)
        n = r / expr.maximum(length, _TINY)
        rows.append([*n, *cross(arm, n)])
        motors.append(geometry.crank * (n @ tangent))
        longer.append(length - geometry.rod)
    return {"rows": rows, "motors": motors, "longer": longer}


def newton_law(geometry: HexaGeometry, pose: Sequence[Scalar], q: Sequence[Scalar]) -> dict[str, Any]:
    """One Newton step towards the pose with correct rod lengths.

    The step is a twist t with J_x t = -`longer`. The plate is rotated by the rational (Cayley) rotation of ω, which
    agrees with the rotation vector to third order; R is re-orthogonalized in the same step.

    Returns:
        `moved`: pose after the step; `longer` before it; `check`: before it, the determinant of J_x with moments
        divided by the plate radius, and the squared error of the pose.
    """
    at = rods_law(geometry, pose, q)
    step = solve([list(row) for row in at["rows"]], [-x for x in at["longer"]])
    turn = _rational_rotation(Vec3(*step[3:]))
    R = turn @ _nearer_to_rotation(rotation_of(pose))
    moved = [[*R[i], pose[4 * i + 3] + step[i]] for i in range(3)]
    return {
        "moved": [*moved[0], *moved[1], *moved[2], *pose[12:]],
        "longer": at["longer"],
        "check": [determinant(at["rows"]) * geometry.plate**-3, _defect(pose)],
    }


def crank_of(leg: Leg, angle: Scalar) -> tuple[Vec3, Vec3]:
    """Direction of a crank, cos q u - sin q z, and its derivative with respect to q."""
    c, s = expr.cos(angle), expr.sin(angle)
    x, y, _ = leg.outwards
    return Vec3(c * x, c * y, -s), Vec3(-(s * x), -(s * y), -c)


# --- parts ----------------------------------------------------------------------------------------------------------
def solve(A: list[Row], b: Row) -> Row:
    """Solve A x = b by modified Gram-Schmidt orthogonalization, without branches or pivoting.

    For a singular A the result is large or arbitrary, but no exception is raised.
    """
    n = len(b)
    columns = [[A[i][j] for i in range(n)] for j in range(n)]
    upper: list[Row] = [[0.0] * n for _ in range(n)]
    rest, along = list(b), []
    for j in range(n):
        own = columns[j]
        scale = 1.0 / expr.sqrt(expr.maximum(_dot(own, own), _TINY))
        upper[j][j] = scale
        unit = [x * scale for x in own]
        for k in range(j + 1, n):
            upper[j][k] = _dot(unit, columns[k])
            columns[k] = [x - upper[j][k] * y for x, y in zip(columns[k], unit, strict=True)]
        along.append(_dot(unit, rest))
        rest = [x - along[j] * y for x, y in zip(rest, unit, strict=True)]
    x: Row = [0.0] * n
    for j in reversed(range(n)):
        x[j] = (along[j] - sum((upper[j][k] * x[k] for k in range(j + 1, n)), ZERO)) * upper[j][j]
    return x


def determinant(A: Sequence[Row]) -> Scalar:
    """Determinant of a 6x6 matrix by Laplace expansion into 3x3 minors."""
    terms = []
    for columns in combinations(range(LEGS), 3):
        others = [j for j in range(LEGS) if j not in columns]
        minors = [_triple_product(A, rows, chosen) for rows, chosen in (((0, 1, 2), columns), ((3, 4, 5), others))]
        sign = -1.0 if sum(columns) % 2 == 0 else 1.0
        terms.append(sign * (minors[0] * minors[1]))
    return sum(terms, ZERO)


def _triple_product(A: Sequence[Row], rows: Sequence[int], columns: Sequence[int]) -> Scalar:
    """Determinant of a 3x3 submatrix."""
    x, y, z = (Vec3(*(A[i][j] for j in columns)) for i in rows)
    return x @ cross(y, z)


def _dot(a: Row, b: Row) -> Scalar:
    return sum((x * y for x, y in zip(a, b, strict=True)), ZERO)


def rotation_of(pose: Sequence[Scalar]) -> Mat3:
    """Rotation matrix of a row-major pose."""
    return Mat3.of((pose[0:3], pose[4:7], pose[8:11]))


def _ball(pose: Sequence[Scalar], leg: Leg) -> tuple[Vec3, Vec3]:
    """Ball joint of a leg in the base frame, and R B."""
    arm = rotation_of(pose) @ leg.ball
    return Vec3(pose[3], pose[7], pose[11]) + arm, arm


def _defect(pose: Sequence[Scalar]) -> Scalar:
    """Sum of squared errors of a pose: orthonormal rows, right-handedness, last row."""
    x, y, z = rotation_of(pose)
    rest = cross(x, y) - z
    errors = (x @ x - 1.0, y @ y - 1.0, x @ y, *rest, *pose[12:15], pose[15] - 1.0)
    return sum((error * error for error in errors), ZERO)


def _nearer_to_rotation(R: Mat3) -> Mat3:
    """R (3 - RᵀR) / 2: reduces an orthogonality error e to the order of e²."""
    square = R.T @ R
    return R @ matrix(lambda i, j: (1.5 if i == j else 0.0) - 0.5 * square[i][j])


def _rational_rotation(turn: Vec3) -> Mat3:
    """Rotation about `turn` by 2 atan(|turn| / 2), from the quaternion (turn / 2, 1)."""
    x, y, z = 0.5 * turn
    k = 2.0 / (1.0 + x * x + y * y + z * z)
    return Mat3(
        Vec3(1.0 - k * (y * y + z * z), k * (x * y - z), k * (x * z + y)),
        Vec3(k * (x * y + z), 1.0 - k * (x * x + z * z), k * (y * z - x)),
        Vec3(k * (x * z - y), k * (y * z + x), 1.0 - k * (x * x + y * y)),
    )


def _within_a_turn(angle: Scalar) -> Scalar:
    """Wrap an angle from [-2π, 2π] to [-π, π]."""
    low = expr.select(angle, -PI, angle + 2.0 * PI, angle)
    return expr.select(PI, low, low - 2.0 * PI, low)
