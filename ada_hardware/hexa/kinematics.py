# SPDX-License-Identifier: Apache-2.0
"""Kinematics of the HEXA: inverse kinematics in closed form, forward kinematics by closing its loops, Jacobians.

    table = HexaKinematics()
    q = table.inverse(pose)                    # six crank angles for a pose of the plate in the base frame, 4x4
    found = table.forward(q, near)             # found.pose, found.configuration
    found = table.jacobians(pose)              # J_x t = J_q q̇ with t = [v; ω] of the plate at its origin, base axes

Angles are those of the joints `leg_1_crank` ... `leg_6_crank` of the catalogue's `hexa`, with the same dimensions.

The motor of a leg is at A; its crank of length L rotates in the plane of u (outwards) and z; its rod of length l
connects the crank end C = A + L (cos q u - sin q z) with the ball joint B of the plate at p + R B. Angles are positive
downwards. Tarao et al. print no equations of the mechanism; these are the usual ones of 6-RUS robots.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache, partial
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics import expr
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError, ModelError, SingularConfigurationError
from ada_dynamics.jit.compiled import compiled
from ada_dynamics.robots.mechanisms.parallel_robots import LEGS, HexaGeometry, hexa
from ada_dynamics.spatial.vector import ZERO, Mat3, Scalar, Vec3, cross
from ada_robot.errors import HardwareError

JOINTS = tuple(f"leg_{i + 1}_crank" for i in range(LEGS))
"""Names of the motor joints."""

HOME: Array = np.array([[1.0, 0, 0, 0], [0, 1.0, 0, 0], [0, 0, 1.0, -0.55], [0, 0, 0, 1.0]])
"""Pose in the middle of the workspace, level."""

PLATE = "platform"
TOLERANCE = 1e-12  # [m] rounding error
ROTATION_TOLERANCE = 1e-9  # Frobenius norm of the orthogonality error of R
SINGULAR = 1e-6  # measure below which a configuration is treated as singular
_TINY = 1e-200
_TURN = 2.0 * np.pi


class Unreachable(InputError, HardwareError):
    """A leg cannot reach a pose.

    Attributes:
        leg: 1 to 6, the leg with the largest error.
        distance: length by which its rod is too short (positive) or too long (negative) [m].
    """

    def __init__(self, text: str, leg: int, distance: float) -> None:
        super().__init__(text)
        self.leg = leg
        self.distance = distance


class NoPose(InputError, HardwareError):
    """No pose of the plate has the given crank angles, or only one beyond a singular configuration."""


class SingularConfiguration(InputError, HardwareError):
    """Singular configuration of the second kind."""


class PlatePose(NamedTuple):
    """Pose of the plate for crank angles."""

    pose: Array  # pose in the base frame, 4x4
    configuration: Array  # positions of all joints of the catalogue's `hexa`


class Jacobians(NamedTuple):
    """J_x t = J_q q̇, with t = [v; ω] of the plate at its origin in base axes."""

    plate: Array  # J_x, 6x6: per leg the rod direction n, and R B x n
    motors: Array  # diagonal of J_q [m/rad]
    size: float  # length that scales the moments of J_x: radius of the ball joints on the plate [m]

    @property
    def forward(self) -> Array:
        """J = J_x⁻¹ J_q of δp = J δθ (Tarao et al., eq. 12).

        Raises:
            SingularConfiguration: the plate can move with all motors locked.
        """
        if not self.hold > SINGULAR:
            text = (
                f"HEXA: singular configuration of the second kind (measure {self.hold:.2g} of at most 1, allowed from "
                f"{SINGULAR:g}): the plate can move with all motors locked. Avoid this configuration."
            )
            raise SingularConfiguration(text, field="hold", value=self.hold, allowed=SINGULAR)
        return np.asarray(np.linalg.solve(self.plate, np.diag(self.motors)))

    @property
    def hold(self) -> float:
        """Distance from singular configurations of the second kind: smallest singular value of `scaled`, divided by √2.

        At 0 the plate can move with all motors locked; √2 is the largest possible singular value of six rods.
        """
        return float(np.linalg.svd(self.scaled, compute_uv=False)[-1]) / sqrt(2.0)

    @property
    def scaled(self) -> Array:
        """J_x with moments divided by `size` (dimensionless)."""
        return np.asarray(self.plate / np.array([1.0, 1.0, 1.0, self.size, self.size, self.size]))


class HexaKinematics:
    """Compiled kinematics of a HEXA.

    Attributes:
        geometry: dimensions.
    """

    def __init__(self, geometry: HexaGeometry | None = None) -> None:
        """Compile the kinematics for given dimensions; default: those of the catalogue's `hexa`."""
        self.geometry = geometry or HexaGeometry()
        self._inverse, self._rods = _compiled(self.geometry)

    @cached_property
    def _dynamics(self) -> Dynamics:
        return Dynamics(hexa(HOME[:3, 3], (0.0, 0.0, 0.0), geometry=self.geometry).model)

    def inverse(self, pose: Array) -> Array:
        """Compute the crank angles of a pose with all elbows outwards, each from -π to π [rad].

        Args:
            pose: pose of the plate in the base frame, 4x4.

        Raises:
            Unreachable: the rod of a leg is too short or too long.
            InputError: `pose` is not a pose.
        """
        pose = _pose(pose)
        q, check = self._inverse(pose.reshape(16))
        found = check.tolist()
        if found[LEGS] > ROTATION_TOLERANCE**2:
            _refuse_pose(pose)
        if max(found[:LEGS]) > TOLERANCE:
            self._refuse_reach(pose)
        angles: Array = q
        return angles

    def forward(self, q: ArrayLike, near: Array | None = None) -> PlatePose:
        """Compute the pose for crank angles by closing the loops (`Dynamics.constraints.complete_position`).

        There are up to 40 poses for the same angles; the result is on the side of HOME of all singular configurations.

        Args:
            q: crank angles [rad].
            near: configuration nearby, such as the previous result; default: that of HOME.

        Raises:
            NoPose: no pose was found, or only one beyond a singular configuration.
            InputError: `q` is not six finite numbers.
        """
        angles, dynamics = _angles(q), self._dynamics
        try:
            configuration = dynamics.constraints.complete_position(angles, JOINTS, near=near)
        except (ModelError, SingularConfigurationError) as problem:
            raise NoPose(f"HEXA: {problem}") from problem
        return PlatePose(dynamics.pose(PLATE, configuration), configuration)

    def jacobians(self, pose: Array, q: ArrayLike | None = None) -> Jacobians:
        """Compute J_x and J_q at a pose.

        Args:
            pose: pose of the plate in the base frame, 4x4.
            q: crank angles of the pose if known; default: those of `inverse`.

        Raises:
            Unreachable: as `inverse`, without `q`.
            InputError: as `inverse`, or `q` is not consistent with the pose.
        """
        angles = self.inverse(pose) if q is None else _angles(q)
        rows, motors, longer = self._rods(_pose(pose).reshape(16), angles)
        if q is not None and not np.max(np.abs(longer)) < 1e-6:
            text = (
                f"HEXA: the crank angles {np.round(angles, 4).tolist()} rad are not consistent with this pose: the rod "
                f"of leg {int(np.argmax(np.abs(longer))) + 1} is {np.max(np.abs(longer)):.3g} m off; use the angles of "
                "`inverse`, or none."
            )
            raise InputError(text, field="q", value=angles.tolist())
        return Jacobians(rows, motors, self.geometry.plate)

    # --- why there is no solution -------------------------------------------------------------------------------
    def _refuse_reach(self, pose: Array) -> None:
        of = self.geometry
        worst, leg = 0.0, 0
        for i in range(LEGS):
            d = pose[:3, :3] @ of.ball(i) + pose[:3, 3] - of.shoulder(i)
            azimuth = of.azimuth(i)
            outwards, across = (float(d @ [np.cos(a), np.sin(a), 0.0]) for a in (azimuth, azimuth + 0.5 * np.pi))
            plane = float(np.hypot(outwards, d[2]))
            near, far = (float(np.hypot(plane + side * of.crank, across)) for side in (-1.0, 1.0))
            over = max(near - of.rod, 0.0) + min(far - of.rod, 0.0)
            if abs(over) >= abs(worst):
                worst, leg = over, i + 1
        raise Unreachable(
            f"HEXA: leg {leg} cannot reach this pose of the plate (at {np.round(pose[:3, 3], 4).tolist()} m): its "
            f"rod of {of.rod:g} m would have to be {abs(worst):.3g} m {'longer' if worst > 0.0 else 'shorter'}. Move "
            "the plate nearer to the middle of the workspace, or reduce its tilt.",
            leg,
            worst,
        )


@lru_cache(maxsize=32)
def _compiled(geometry: HexaGeometry) -> tuple[Callable[..., Any], Callable[..., Any]]:
    inverse = compiled("hexa_inverse", {"pose": 16}, partial(inverse_law, geometry))
    return inverse, compiled("hexa_rods", {"pose": 16, "q": LEGS}, partial(rods_law, geometry))


# --- equations over generic scalars -----------------------------------------------------------------------------------
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


def inverse_law(geometry: HexaGeometry, pose: Sequence[Scalar]) -> dict[str, Any]:
    """Inverse kinematics: crank angles of a pose with all elbows outwards, each from -π to π.

    |p + R B - C| = l is a cos q + b sin q = c, so q = atan2(b, a) - acos(c / √(a² + b²)).

    Args:
        geometry: dimensions.
        pose: pose of the plate in the base frame, 4x4 row-major.

    Returns:
        `q`, and `check`: per leg |c| - √(a² + b²) [m], positive if out of reach, then the squared error of the pose.
    """
    angles, check = [], []
    L, rod = geometry.crank, geometry.rod
    for leg in legs_of(geometry):
        d = _ball(pose, leg)[0] - leg.shoulder
        a, b = d @ leg.outwards, -d[2]
        c = (d @ d + (L * L - rod * rod)) * (0.5 / L)
        square = a * a + b * b
        opening = expr.atan2(expr.sqrt(expr.maximum(square - c * c, 0.0)), c)
        angles.append(_within_a_turn(expr.atan2(b, a) - opening))
        check.append(expr.absolute(c) - expr.sqrt(square))
    return {"q": angles, "check": [*check, _defect(pose)]}


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


def crank_of(leg: Leg, angle: Scalar) -> tuple[Vec3, Vec3]:
    """Direction of a crank, cos q u - sin q z, and its derivative with respect to q."""
    c, s = expr.cos(angle), expr.sin(angle)
    x, y, _ = leg.outwards
    return Vec3(c * x, c * y, -s), Vec3(-(s * x), -(s * y), -c)


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


def _within_a_turn(angle: Scalar) -> Scalar:
    """Wrap an angle from [-2π, 2π] to [-π, π]."""
    low = expr.select(angle, -np.pi, angle + _TURN, angle)
    return expr.select(np.pi, low, low - _TURN, low)


# --- arguments ------------------------------------------------------------------------------------------------------
def _pose(given: ArrayLike) -> Array:
    try:
        pose = np.ascontiguousarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        text = f"HEXA: the pose is not a matrix of numbers: {error}."
        raise InputError(text, field="pose", value=type(given).__name__) from error
    if pose.shape != (4, 4) or not np.isfinite(pose).all():
        text = f"HEXA: the pose is {given!r:.120}; required is a 4 x 4 matrix of finite numbers."
        raise InputError(text, field="pose", value=pose.tolist())
    return pose


def _angles(given: ArrayLike) -> Array:
    angles = np.ascontiguousarray(given, dtype=np.float64)
    if angles.shape != (LEGS,) or not np.isfinite(angles).all():
        text = f"HEXA: crank angles are {angles!r:.120}; required are {LEGS} finite numbers [rad]."
        raise InputError(text, field="q", value=angles.tolist())
    return angles


def _refuse_pose(pose: Sequence[Any] | Array, name: str = "pose") -> None:
    rotation = np.asarray(pose, dtype=np.float64)[:3, :3]
    error = float(np.linalg.norm(rotation.T @ rotation - np.eye(3)))
    text = (
        f"HEXA: {name} is not a pose: RᵀR differs from the identity by {error:.2g} (allowed {ROTATION_TOLERANCE:g}), "
        f"det R = {np.linalg.det(rotation):.6g}, last row {np.asarray(pose)[3].tolist()}. Make R a rotation, for "
        "instance from a unit quaternion, and the last row 0 0 0 1."
    )
    raise InputError(text, field=name, value=error, allowed=ROTATION_TOLERANCE)
