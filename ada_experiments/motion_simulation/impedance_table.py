# SPDX-License-Identifier: Apache-2.0
"""A stand-in for a motion table: a plate with the impedance of Tarao et al., eq. 10, that touches a fixed probe.

    F = M P̈ + D (Ṗ - c Ṗ_d) + K (P - P_d)

M is the mass of the HEXA's moving parts at its plate, K = J^-T K_p J^-1 (eq. 15), D = J^-T K_d J^-1, all in the pose in
which the plate touches. With c = 0 the motors' rates are damped (τ = K_p δθ - K_d θ̇: at rest on the probe the plate is
then a spring alone, as sec. 4.2 takes it), with c = 1 their errors' rates are.

The probe is a point with a stiff spring of its own, without friction. M is no rigid body's (1.04 kg across the plate,
1.44 kg along its normal), so that no model and no `Simulation` has it: these six equations are stepped here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.analysis import analyse
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError
from ada_dynamics.robots.mechanisms import hexa
from ada_dynamics.spatial.orientation import pose_of, to_rpy
from ada_experiments.motion_simulation.frames import Mounting, cross, inverse, rotation_of, turn_between, wrench_in
from ada_experiments.motion_simulation.motion_table import MotionTable, Reading
from ada_robot.errors import Refused
from ada_robot.settings import setting

SUBSTEPS = 20  # of a period; 0.1 ms follow a probe of 1e6 N/m
_FARTHEST = 0.08  # [m] from the touch, within which the impedance of one pose may stand for all
_MOST_TURNED = 0.3  # [rad]
_SINGULAR = 1e-6


@dataclass(frozen=True)
class TableSettings:
    """A motion table's servo, and the probe that its plate touches."""

    kp: float = setting(200.0, "stiffness of each motor, K_p", unit="N m/rad", lower=1.0, upper=1e5)
    kd: float = setting(2.0, "damping of each motor, K_d", unit="N m s/rad", lower=0.0, upper=100.0)
    damps_errors: bool = setting(False, "damp the rates of the motors' errors, not those of the motors")
    probe_stiffness: float = setting(3e5, "of the probe and its sensor", unit="N/m", lower=1e3, upper=1e6)
    probe_damping: float = setting(100.0, "of the probe", unit="N s/m", lower=0.0, upper=1e4)
    period: float = setting(2e-3, "of the servo", unit="s", lower=5e-4, upper=0.02)


class PlateMechanics(NamedTuple):
    """A HEXA as its plate feels it in one pose, [linear, angular] in the base's axes at the plate's origin.

    Attributes:
        jacobian: J of eq. 12: plate per motor.
        mass: of all that moves, 6x6.
    """

    jacobian: Array
    mass: Array

    def stiffness(self, kp: float) -> Array:
        """K of eq. 15 for motors of stiffness K_p; D for their damping K_d."""
        back = np.linalg.inv(self.jacobian)
        return np.asarray(kp * back.T @ back)


def plate_mechanics(pose: Array) -> PlateMechanics:
    """Of the catalogue's HEXA in a pose of its plate.

    Raises:
        InputError: the plate is out of reach, or its motors do not hold it there.
    """
    table = hexa(pose[:3, 3], to_rpy(pose[:3, :3]))
    model = table.model
    conditions = analyse(model, table.q).constraints.jacobian(table.q)
    motors = np.array([model.v_index(name).start for name in model.actuated])
    others = np.setdiff1d(np.arange(model.nv), motors)
    values = np.linalg.svd(conditions[:, others], compute_uv=False)
    if len(values) < len(others) or values[-1] < _SINGULAR * values[0]:
        raise InputError("the motors of the HEXA do not hold its plate in the pose of the touch; choose another.")
    moved = np.zeros((model.nv, len(motors)))
    moved[motors] = np.eye(len(motors))
    moved[others] = np.linalg.lstsq(conditions[:, others], -conditions[:, motors], rcond=None)[0]
    inertia = moved.T @ Dynamics(model).mass_matrix(table.q) @ moved
    up = np.kron(np.eye(2), pose[:3, :3])  # the floating plate's velocity is in its own axes
    J = up @ moved[model.v_index("platform")]
    back = np.linalg.inv(J)
    return PlateMechanics(J, np.asarray(back.T @ inertia @ back))


class ImpedanceTable(MotionTable):
    """See above; in simulated time, which goes on by one period with each exchange."""

    NAME = "impedance"

    def __init__(self, settings: TableSettings, mounting: Mounting, touching: Array | None = None) -> None:
        """Set it up.

        Args:
            settings: of servo and probe.
            mounting: where probe, face and sensor are.
            touching: pose of the plate in which its impedance is taken; by default that with the face on the tip.
        """
        self.settings, self._mounting = settings, mounting
        self._touching = _face_to_face(mounting) if touching is None else touching
        mechanics = plate_mechanics(self._touching)
        self.K = mechanics.stiffness(settings.kp)
        self.D = mechanics.stiffness(settings.kd)
        self.M = mechanics.mass
        self._lighter: Array = np.asarray(np.linalg.inv(self.M))
        self._share = 1.0 if settings.damps_errors else 0.0
        self._x, self._v = np.zeros(6), np.zeros(6)  # of the plate, from the touching pose
        self._target, self._rate = np.zeros(6), np.zeros(6)
        self._normal, self._arm = np.zeros(3), np.zeros(3)
        self.problem = ""

    @property
    def period(self) -> float:  # noqa: D102
        return self.settings.period

    def open(self) -> None:  # noqa: D102
        self.problem = ""

    def prepare(self, pose: Array) -> Reading:  # noqa: D102
        self._x = self._target = self._away(pose)
        self._v, self._rate = np.zeros(6), np.zeros(6)
        return Reading(np.zeros(6), self._pose())

    def exchange(self, pose: Array, twist: Array) -> Reading:  # noqa: D102
        target = self._away(pose)
        force, place = self._run()
        self._target, self._rate = target, np.asarray(twist, dtype=float)
        tip = self._mounting.tip_in_lab[:3, 3]
        on_probe = np.concatenate([force, cross(tip, force)])
        sensed = wrench_in(inverse(self._mounting.sensor_in_lab), on_probe)
        return Reading(sensed, place)

    def stop(self) -> None:  # noqa: D102
        self._target, self._rate = self._x.copy(), np.zeros(6)

    def close(self) -> None:  # noqa: D102
        self.stop()

    # --- inside ---------------------------------------------------------------------------------------------------
    def _away(self, pose: Array) -> Array:
        """A pose as place and rotation vector from the touching one.

        Raises:
            Refused: it is too far for one impedance.
        """
        away = np.concatenate([pose[:3, 3] - self._touching[:3, 3], turn_between(self._touching, pose)])
        if not (np.linalg.norm(away[:3]) <= _FARTHEST and np.linalg.norm(away[3:]) <= _MOST_TURNED):
            text = (
                f"motion table impedance: the plate was sent {1e3 * np.linalg.norm(away[:3]):.4g} mm and "
                f"{np.degrees(np.linalg.norm(away[3:])):.3g} deg away from the touch; its impedance is that of one "
                f"pose and holds to {1e3 * _FARTHEST:g} mm and {np.degrees(_MOST_TURNED):.0f} deg. End the motion "
                "earlier, or take the table 'hexa'."
            )
            raise Refused(text, field="pose", allowed=_FARTHEST)
        return away

    def _pose(self) -> Array:
        pose = pose_of(self._touching[:3, 3] + self._x[:3])
        pose[:3, :3] = rotation_of(self._x[3:]) @ self._touching[:3, :3]
        return pose

    def _run(self) -> tuple[Array, Array]:
        """A period under the last command: mean force on the probe in the base's axes, and where the plate is then."""
        h = self.settings.period / SUBSTEPS
        face = self._pose() @ self._mounting.face_on_plate
        tip = self._mounting.tip_in_lab[:3, 3]
        normal = face[:3, 2]
        # rate of the depth per velocity of the plate, at the tip: the same all period long
        arm = tip - self._touching[:3, 3] - self._x[:3]
        row = np.concatenate([normal, cross(arm, normal)])
        depth = -float(normal @ (tip - face[:3, 3]))
        drive = self.K @ self._target + self._share * (self.D @ self._rate)
        swing = _Swing(self._lighter, self.K, self.D, row, self.settings)
        self._x, self._v, push = swing.run(self._x, self._v, drive, depth, h)
        return normal * push, self._pose()


class _Swing:
    """The plate within a period: springs, dampers, and the probe on one side."""

    def __init__(self, lighter: Array, K: Array, D: Array, row: Array, settings: TableSettings) -> None:
        self._lighter, self._row = lighter, row
        self._rate = -lighter @ K, -lighter @ D
        self._push = -lighter @ row
        self._k, self._d = settings.probe_stiffness, settings.probe_damping

    def run(self, x: Array, v: Array, drive: Array, depth: float, h: float) -> tuple[Array, Array, float]:
        """Semi-implicit steps; state after them and mean push on the probe."""
        stiff, loss = self._rate
        pull = self._lighter @ drive
        start, total = x, 0.0
        for _ in range(SUBSTEPS):
            deep = depth + float(self._row @ (x - start))
            push = max(0.0, self._k * deep + self._d * float(self._row @ v)) if deep > 0.0 else 0.0
            total += push
            v = v + h * (pull + stiff @ x + loss @ v + push * self._push)
            x = x + h * v
        return x, v, total / SUBSTEPS


def _face_to_face(mounting: Mounting) -> Array:
    """Where the plate is when its face's origin is at the tip, against it, with the first axes along each other."""
    turned = np.diag([1.0, -1.0, -1.0, 1.0])
    return mounting.plate_pose(turned)
