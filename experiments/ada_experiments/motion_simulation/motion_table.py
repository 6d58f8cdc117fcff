# SPDX-License-Identifier: Apache-2.0
"""Motion tables: follow a pose and return the measured force. One exchange per period.

Two implementations: `ImpedanceTable` (a plate on springs, eqs. 10 and 15; no devices) and `hexa_table.HexaTable` (the
HEXA and a force sensor). The plate with the impedance of Tarao et al., eq. 10, touches a fixed probe:

    F = M P̈ + D (Ṗ - c Ṗ_d) + K (P - P_d)

M is the mass of the moving parts of the HEXA at its plate, K = J^-T K_p J^-1 (eq. 15), D = J^-T K_d J^-1, all at the
contact pose. With c = 0 the motor rates are damped (τ = K_p δθ - K_d θ̇: at rest on the probe the plate is a pure
spring, as assumed in sec. 4.2), with c = 1 the rates of the errors.

The probe is a point with a stiff spring, without friction. M is not the mass matrix of a rigid body (1.04 kg across the
plate, 1.44 kg along its normal) and cannot be represented by a model or `Simulation`: these six equations are
integrated here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.poses import inverse, wrench_matrix
from ada_dynamics.robots.mechanisms import hexa
from ada_dynamics.spatial.orientation import to_rpy
from ada_experiments.motion_simulation.frames import Mounting, cross, displaced, displacement
from ada_robot.errors import Refused
from ada_robot.settings import setting


class Reading(NamedTuple):
    """Reading of a table and its sensor.

    Attributes:
        wrench: [f, n] on the probe about the sensor origin in sensor axes, minus the value at rest [N, N m]; it belongs
            to the pose sent `exchanges_to_force` exchanges before.
        pose: pose of the plate, 4x4.
        is_ready: whether the table follows poses.
        is_fresh: whether both values are from this period.
        problem: problem of the table or sensor that ends the motion; "" without one.
    """

    wrench: Array
    pose: Array
    is_ready: bool = True
    is_fresh: bool = True
    problem: str = ""


class MotionTable(ABC):
    """A motion table with a force sensor; called from a single thread.

    Attributes:
        period: time between two exchanges [s].
        exchanges_to_force: number of exchanges after which a reading contains the force of a sent pose, at least 1.
        late: periods since `open` that began more than one period too late, by the clock of the table.
    """

    period: float
    exchanges_to_force: int = 1
    late: int = 0

    def open(self) -> None:  # noqa: B027  (optional for subclasses)
        """Connect to the devices, without motion.

        Raises:
            TransportError: a connection cannot be opened.
            NoAnswer: a device does not reply.
        """

    def idle(self) -> None:  # noqa: B027  (optional for subclasses)
        """Keep the connection to the devices for one period, without motion."""

    @abstractmethod
    def prepare(self, pose: Array) -> Reading:
        """One period of the approach: move slowly to the initial pose, rest, zero the sensor.

        Call it repeatedly until the reading reports that the table is ready.

        Raises:
            Unreachable: the pose is out of reach.
            HardwareError: a device does not follow its commands.
        """

    @abstractmethod
    def exchange(self, pose: Array, twist: Array) -> Reading:
        """One period's exchange.

        Args:
            pose: target pose of the plate, 4x4 in the base frame of the table.
            twist: target twist in the same axes.

        Raises:
            Refused: the pose is out of reach or too fast; the plate holds its position.
            TransportError: the connection is lost.
        """

    def close(self) -> None:  # noqa: B027  (optional for subclasses)
        """Bring the table to rest and close the connection; idempotent."""


PROBE_DAMPING = 100.0  # [N s/m]
SUBSTEPS = 20  # per period; 0.1 ms are sufficient for a probe of 1e6 N/m
FACE_TO_FACE = np.diag([1.0, -1.0, -1.0, 1.0])  # X with the face at the tip and aligned first axes
_FARTHEST = 0.08  # [m] range around the contact pose in which its impedance is used
_MOST_TURNED = 0.3  # [rad]


@dataclass(frozen=True)
class TableSettings:
    """Servo of a motion table, and its probe."""

    kp: float = setting(200.0, "stiffness of each motor, K_p", unit="N m/rad", lower=1.0, upper=2000.0)
    kd: float = setting(2.0, "damping of each motor, K_d", unit="N m s/rad", lower=0.1, upper=15.0)
    damps_errors: bool = setting(False, "damp the rates of the motor errors instead of the motor rates")
    probe_stiffness: float = setting(3e5, "stiffness of the probe and its sensor", unit="N/m", lower=1e3, upper=1e6)


class PlateMechanics(NamedTuple):
    """Plate-level mechanics of a HEXA at one pose, [linear, angular] in base axes at the plate origin."""

    jacobian: Array  # J of eq. 12: plate velocity per motor velocity
    mass: Array  # mass matrix of the moving parts, 6x6

    def stiffness(self, kp: float) -> Array:
        """K of eq. 15 for motors of stiffness K_p; D for their damping K_d."""
        back = np.linalg.inv(self.jacobian)
        return np.asarray(kp * back.T @ back)

    def stiffness_along(self, kp: float, normal: ArrayLike) -> float:
        """Force per displacement along a unit vector of a frictionless contact at the middle of the plate [N/m].

        Only a normal force can act, so the plate deflects in all six directions:
        1/k = nᵀ K⁻¹ n = nᵀ J Jᵀ n / K_p. This is softer than the element of K, which assumes the other five directions
        fixed.
        """
        return kp / float(np.sum((self.jacobian[:3].T @ np.asarray(normal, dtype=float)) ** 2))


def plate_mechanics(pose: Array) -> PlateMechanics:
    """Mechanics of the HEXA of the catalogue at a pose of its plate.

    Raises:
        InputError: the plate is out of reach.
        SingularConfigurationError: its motors do not determine its motion.
    """
    table = hexa(pose[:3, 3], to_rpy(pose[:3, :3]))
    dynamics = Dynamics(table.model)
    moved = dynamics.constraints.tangent_map(table.q, "actuated")
    inertia = moved.T @ dynamics.mass_matrix(table.q) @ moved
    up = np.kron(np.eye(2), pose[:3, :3])  # the velocity of the floating plate is in plate axes
    J = up @ moved[table.model.v_index("platform")]
    back = np.linalg.inv(J)
    return PlateMechanics(J, np.asarray(back.T @ inertia @ back))


class ImpedanceTable(MotionTable):
    """Impedance model of a motion table, in simulated time that advances by one period per exchange."""

    period = 2e-3  # [s]

    def __init__(self, settings: TableSettings, mounting: Mounting) -> None:
        """Evaluate the impedance where the face touches the tip.

        Args:
            settings: settings of servo and probe.
            mounting: poses of probe, face and sensor.
        """
        self.settings, self._mounting = settings, mounting
        self._touching = mounting.plate_pose(FACE_TO_FACE)
        mechanics = plate_mechanics(self._touching)
        self.K = mechanics.stiffness(settings.kp)
        self.D = mechanics.stiffness(settings.kd)
        self.M = mechanics.mass
        self._lighter: Array = np.asarray(np.linalg.inv(self.M))
        self._x, self._v = np.zeros(6), np.zeros(6)  # plate coordinates relative to the contact pose
        self._target, self._rate = np.zeros(6), np.zeros(6)

    def prepare(self, pose: Array) -> Reading:  # noqa: D102
        self._x = self._target = self._away(pose)
        self._v, self._rate = np.zeros(6), np.zeros(6)
        return Reading(np.zeros(6), self._pose())

    def exchange(self, pose: Array, twist: Array) -> Reading:  # noqa: D102
        target = self._away(pose)
        force = self._run()
        self._target, self._rate = target, np.asarray(twist, dtype=float)
        tip = self._mounting.tip_in_lab[:3, 3]
        on_probe = np.concatenate([force, cross(tip, force)])
        sensed = wrench_matrix(inverse(self._mounting.sensor_in_lab)) @ on_probe
        return Reading(sensed, self._pose())

    # --- inside ---------------------------------------------------------------------------------------------------
    def _away(self, pose: Array) -> Array:
        """Position and rotation vector of a pose relative to the contact pose.

        Raises:
            Refused: outside the range of the impedance.
        """
        away = displacement(self._touching, pose)
        if not (np.linalg.norm(away[:3]) <= _FARTHEST and np.linalg.norm(away[3:]) <= _MOST_TURNED):
            text = (
                f"motion table impedance: the target pose is {1e3 * np.linalg.norm(away[:3]):.4g} mm and "
                f"{np.degrees(np.linalg.norm(away[3:])):.3g} deg away from the contact; the impedance of a single "
                f"pose is valid up to {1e3 * _FARTHEST:g} mm and {np.degrees(_MOST_TURNED):.0f} deg. End the motion "
                "earlier, or use the table 'hexa'."
            )
            raise Refused(text, field="pose", allowed=_FARTHEST)
        return away

    def _pose(self) -> Array:
        return displaced(self._touching, self._x)

    def _run(self) -> Array:
        """Simulate a period under the last command; return the mean probe force in base axes."""
        own, h = self.settings, self.period / SUBSTEPS
        face = self._pose() @ self._mounting.face_on_plate
        tip = self._mounting.tip_in_lab[:3, 3]
        normal = face[:3, 2]
        # Jacobian row of the penetration depth at the tip, constant within the period
        row = np.concatenate([normal, cross(tip - self._touching[:3, 3] - self._x[:3], normal)])
        depth = -float(normal @ (tip - face[:3, 3]))
        drive = self._lighter @ (self.K @ self._target + own.damps_errors * (self.D @ self._rate))
        stiff, loss, pushed = (-self._lighter @ matrix for matrix in (self.K, self.D, row))
        x, v, start, total = self._x, self._v, self._x, 0.0
        for _ in range(SUBSTEPS):  # semi-implicit
            deep = depth + float(row @ (x - start))
            push = max(0.0, own.probe_stiffness * deep + PROBE_DAMPING * float(row @ v)) if deep > 0.0 else 0.0
            total += push
            v = v + h * (drive + stiff @ x + loss @ v + push * pushed)
            x = x + h * v
        self._x, self._v = x, v
        return normal * (total / SUBSTEPS)
