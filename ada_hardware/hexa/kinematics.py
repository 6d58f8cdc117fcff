# SPDX-License-Identifier: Apache-2.0
"""Kinematics of the HEXA: inverse kinematics in closed form, forward kinematics by Newton's method, Jacobians.

    table = HexaKinematics()
    q = table.inverse(pose)                    # six crank angles for a pose of the plate in the base frame, 4x4
    found = table.forward(q, guess)            # found.pose, found.residual, found.iterations
    found = table.jacobians(pose)              # J_x t = J_q q̇ with t = [v; ω] of the plate at its origin, base axes

Angles are those of the joints `leg_1_crank` ... `leg_6_crank` of the catalogue's `hexa`, with the same dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.jit.compiled import compiled
from ada_dynamics.robots.mechanisms.parallel_robots import LEGS, HexaGeometry
from ada_hardware.hexa.kinematics_law import inverse_law, newton_law, rods_law
from ada_robot.errors import HardwareError

JOINTS = tuple(f"leg_{i + 1}_crank" for i in range(LEGS))
"""Names of the motor joints."""

OUTWARDS: Array = np.full(LEGS, -1.0)
"""Branch signs for all elbows outwards, as the table is built."""

HOME: Array = np.array([[1.0, 0, 0, 0], [0, 1.0, 0, 0], [0, 0, 1.0, -0.55], [0, 0, 0, 1.0]])
"""Pose in the middle of the workspace, level."""

TOLERANCE = 1e-12  # [m] rounding error
ROTATION_TOLERANCE = 1e-9  # Frobenius norm of the orthogonality error of R
SINGULAR = 1e-6  # measure below which a configuration is treated as singular
_ITERATIONS = 25
_LEAST_BY_VOLUME: float = (5.0 / 12.0) ** 2.5 / sqrt(2.0)
_BEYOND = (
    "HEXA: the pose found for these crank angles is beyond a singular configuration of the guess; use a guess on its "
    "side."
)
_LAWS: dict[str, tuple[Callable[..., dict[str, Any]], dict[str, int]]] = {
    "inverse": (inverse_law, {"pose": 16, "branch": LEGS}),
    "rods": (rods_law, {"pose": 16, "q": LEGS}),
    "newton": (newton_law, {"pose": 16, "q": LEGS}),
}


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
    """No pose of the plate was found for crank angles.

    Attributes:
        residual: largest remaining error of a rod length [m].
    """

    def __init__(self, text: str, residual: float) -> None:
        super().__init__(text)
        self.residual = residual


class SingularConfiguration(InputError, HardwareError):
    """Singular configuration of the second kind."""


class FoundPose(NamedTuple):
    """Pose of the plate found by Newton's method.

    Attributes:
        pose: pose in the base frame, 4x4.
        residual: largest error of a rod length before the last step [m]; after it only rounding errors remain.
        iterations: number of steps.
        volume: determinant of J_x with moments scaled by the plate radius; changes its sign at a singular configuration
            of the second kind.
    """

    pose: Array
    residual: float
    iterations: int
    volume: float

    @property
    def least_hold(self) -> float:
        """Lower bound of `Jacobians.hold` without an SVD: σ₆ ≥ |det| (5 / |J_x|²)^(5/2), with |J_x|² ≤ 12."""
        return abs(self.volume) * _LEAST_BY_VOLUME


class Jacobians(NamedTuple):
    """J_x t = J_q q̇, with t = [v; ω] of the plate at its origin in base axes.

    Attributes:
        plate: J_x, 6x6: per leg the rod direction n, and R B x n.
        motors: diagonal of J_q [m/rad].
        size: length that scales the moments of J_x: radius of the ball joints on the plate [m].
    """

    plate: Array
    motors: Array
    size: float

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
        """Args: dimensions; default: those of the catalogue's `hexa`."""
        self.geometry = geometry or HexaGeometry()
        self._inverse, self._rods, self._newton = (_compiled(self.geometry, name) for name in _LAWS)

    # --- pose to angles -----------------------------------------------------------------------------------------
    def inverse(self, pose: Array, branch: Array = OUTWARDS) -> Array:
        """Compute the crank angles of a pose, each from -π to π [rad].

        Args:
            pose: pose of the plate in the base frame, 4x4.
            branch: branch sign of each leg; default: elbows outwards.

        Raises:
            Unreachable: the rod of a leg is too short or too long.
            InputError: `pose` is not a pose.
        """
        pose = _pose(pose)
        q, check = self._inverse(pose.reshape(16), np.asarray(branch, dtype=np.float64))
        found = check.tolist()
        if found[LEGS] > ROTATION_TOLERANCE**2:
            _refuse_pose(pose)
        if max(found[:LEGS]) > TOLERANCE:
            self._refuse_reach(pose)
        angles: Array = q
        return angles

    # --- angles to pose -----------------------------------------------------------------------------------------
    def forward(self, q: ArrayLike, guess: Array = HOME) -> FoundPose:
        """Compute the pose for crank angles by Newton's method on the rod lengths.

        There are up to 40 poses for the same angles; the result depends on the guess and is on the same side of
        singular configurations of the second kind.

        Args:
            q: crank angles [rad].
            guess: a pose nearby, such as the previous one.

        Raises:
            NoPose: no pose was found, or only one beyond a singular configuration.
            InputError: `q` is not six finite numbers, or `guess` is not a pose.
        """
        angles, pose = _angles(q), _pose(guess).reshape(16)
        first: float | None = None
        error = np.inf
        for count in range(1, _ITERATIONS + 1):
            try:
                moved, longer, check = self._newton(pose, angles)
            except InputError:  # the last step diverged to values that are not finite
                break
            volume, defect = check.tolist()
            if first is None:
                if defect > ROTATION_TOLERANCE**2:
                    _refuse_pose(guess, "guess")
                first = volume
            error = max(map(abs, longer.tolist()))
            if error <= TOLERANCE:
                if first * volume <= 0.0:
                    raise NoPose(_BEYOND, error)
                return FoundPose(moved.reshape(4, 4), error, count, volume)
            pose = moved
        raise NoPose(
            f"HEXA: Newton's method found no pose for the crank angles {np.round(angles, 4).tolist()} rad in {count} "
            f"steps; the largest rod length error is {error:.3g} m. The angles may be inconsistent, or the guess is "
            "too far: use a pose nearer to the solution.",
            error,
        )

    # --- rates --------------------------------------------------------------------------------------------------
    def jacobians(self, pose: Array, q: ArrayLike | None = None) -> Jacobians:
        """Compute J_x and J_q at a pose.

        Args:
            pose: pose of the plate in the base frame, 4x4.
            q: crank angles of the pose if known; default: those with elbows outwards.

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
def _compiled(geometry: HexaGeometry, name: str) -> Callable[..., Any]:
    law, inputs = _LAWS[name]
    return compiled(f"hexa_{name}", inputs, partial(law, geometry))


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
