# SPDX-License-Identifier: Apache-2.0
"""Joints and rotations as printed in Takahashi 2012.

Tables 2.1 and 2.2: check of eq. 2.8, and comparison with this library.

Eq. 2.8: T_aᵀ S = U and Tᵀ S = 0. If two rows describe one joint, S must also be the rate of its pose (eq. 2.5); the
joints of this library are tested for that elsewhere, so that a printed S is compared with them.

Eqs. 3.29, 3.30, 3.33 and 3.34: rotations of a floating base, compared with those of `ada`. The matrices of the document
transform from the world frame to the base frame: the transposes of the poses.

The free rod with z-y-x Euler angles instead of a quaternion (sec. 3.4.1): if the second angle is ±90 deg, the axes of
the other two coincide (eq. 3.30). Near it their rates grow with the inverse of its cosine; at it the rates are
undefined and the configuration is rejected.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.joints import Fixed, Floating, FloatingEuler, JointType, Revolute, SphericalEuler, Universal
from ada_dynamics.model.model import Model
from ada_dynamics.simulation import Log, Simulation
from ada_dynamics.spatial.motion import Force, Motion
from ada_tools.scenario.registry import Outcome, Progress, Quantity, experiment
from ada_tools.scenario.run import simulate
from ada_tools.scenario.scenario import Scenario, settings_of

POSITIONS = (0.3, 0.8, -0.5)  # up to three angles in general position


class JointColumns(NamedTuple):
    """S, T_a and T of a joint, each with six rows [angular; linear]."""

    motion: Array
    active: Array
    constraint: Array

    @property
    def off(self) -> float:
        """Largest violation of eq. 2.8."""
        unit = self.active.T @ self.motion - np.eye(self.motion.shape[1])
        return max(_largest(unit), _largest(self.constraint.T @ self.motion))


def own(joint: JointType, q: Sequence[float]) -> JointColumns:
    """Matrices of a joint of this library."""
    return JointColumns(_columns(joint.subspace(q)), _columns(joint.active(q)), _columns(joint.constraint(q)))


def printed_revolute() -> JointColumns:
    """Table 2.1, R-joint, about y."""
    return JointColumns(np.eye(6)[:, 1:2], np.eye(6)[:, 1:2], np.delete(np.eye(6), 1, axis=1))


def printed_universal(q: Sequence[float]) -> JointColumns:
    """Table 2.1, U-joint."""
    s2, c2 = np.sin(q[1]), np.cos(q[1])
    motion = np.zeros((6, 2))
    motion[:3] = [[-s2, 0.0], [0.0, 1.0], [c2, 0.0]]
    across = np.array([[c2, 0.0, s2, 0.0, 0.0, 0.0]]).T
    return JointColumns(motion, motion.copy(), np.hstack([across, np.eye(6)[:, 3:]]))


def printed_spherical(q: Sequence[float]) -> JointColumns:
    """Table 2.1, S-joint; a₂ in S is read as s₂."""
    s2, c2, s3, c3 = np.sin(q[1]), np.cos(q[1]), np.sin(q[2]), np.cos(q[2])
    motion, active = np.zeros((6, 3)), np.zeros((6, 3))
    motion[:3] = [[-s2 * c3, -s3, 0.0], [s2 * s3, -c3, 0.0], [c2, 0.0, 1.0]]
    active[:3] = np.array([[-c3, s2 * s3, s2 * s3], [s3, s2 * c3, -c2 * s3], [0.0, 0.0, s2]]) / s2
    return JointColumns(motion, active, np.eye(6)[:, 3:])


def mended_spherical(q: Sequence[float]) -> JointColumns:
    """The printed S-joint with the sign of the second column of S and entry (1, 3) of T_a corrected."""
    row = printed_spherical(q)
    active = row.active.copy()
    active[0, 2] = np.cos(q[1]) * np.cos(q[2]) / np.sin(q[1])
    return JointColumns(row.motion * [1.0, -1.0, 1.0], active, row.constraint)


@experiment("joint_tables")
def joint_tables(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Check the printed rows against eq. 2.8 and the joints of this library."""
    q = POSITIONS
    nothing, all_six = np.zeros((6, 0)), np.eye(6)
    found = {
        "revolute": (printed_revolute(), own(Revolute(1), q[:1])),
        "universal": (printed_universal(q), own(Universal(), q[:2])),
        "spherical": (printed_spherical(q), own(SphericalEuler(), q)),
        "spherical_mended": (mended_spherical(q), own(SphericalEuler(), q)),
        "fixed": (JointColumns(nothing, nothing, all_six), own(Fixed(), ())),
        "six": (JointColumns(all_six, all_six, nothing), own(Floating(), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0))),
    }
    quantities = {f"{name}_off": Quantity(printed.off) for name, (printed, _) in found.items()}
    apart = [_span_apart(a, b) for pair in found.values() for a, b in zip(*pair, strict=True)]
    return Outcome(quantities=quantities | {"spans_apart": Quantity(max(apart))})


def _span_apart(one: Array, other: Array) -> float:
    """Largest component of one column space outside the other, with orthonormal bases."""
    if one.shape != other.shape:
        return 1.0
    a, b = (np.linalg.qr(x)[0] for x in (one, other))
    return _largest(a - b @ (b.T @ a))


def _columns(vectors: Sequence[Motion | Force]) -> Array:
    return np.array([[*a, *b] for a, b in vectors], dtype=np.float64).reshape(-1, 6).T


def _largest(values: Array) -> float:
    return float(np.max(np.abs(values), initial=0.0))


ANGLES = (0.4, -0.7, 1.1)  # rotations about z, y and x [rad]
QUATERNION = np.array((0.36, -0.48, 0.48, 0.64))  # x, y, z, w; of unit length
RATE = (0.72, 0.48, 0.24)  # angular velocity in the base frame [rad/s]


def rotation_errors() -> dict[str, Quantity]:
    """Largest differences between the printed matrices and those of the joint types."""
    euler = _to_base(FloatingEuler(), ANGLES)
    return {
        "eq_3_29_off": Quantity(_largest(eq_3_29(ANGLES) - euler)),
        "eq_3_30_off": Quantity(_largest(eq_3_30(ANGLES) - euler)),
        "eq_3_33_off": Quantity(_largest(eq_3_33(QUATERNION) - _to_base(Floating(), QUATERNION))),
        "eq_3_34_off": Quantity(_largest(eq_3_34(QUATERNION, RATE) - _quaternion_rate())),
    }


def eq_3_29(angles: tuple[float, float, float]) -> Array:
    """Product of three rotations; the last element of the second matrix is printed as c3."""
    (s1, c1), (s2, c2), (s3, c3) = ((np.sin(x), np.cos(x)) for x in angles)
    x = np.array([[1.0, 0.0, 0.0], [0.0, c3, s3], [0.0, -s3, c3]])
    y = np.array([[c2, 0.0, -s2], [0.0, 1.0, 0.0], [s2, 0.0, c3]])
    z = np.array([[c1, s1, 0.0], [-s1, c1, 0.0], [0.0, 0.0, 1.0]])
    return np.asarray(x @ y @ z)


def eq_3_30(angles: tuple[float, float, float]) -> Array:
    """The product of eq. 3.29, multiplied out."""
    (s1, c1), (s2, c2), (s3, c3) = ((np.sin(x), np.cos(x)) for x in angles)
    return np.array(
        [
            [c1 * c2, s1 * c2, -s2],
            [c1 * s2 * s3 - s1 * c3, s1 * s2 * s3 + c1 * c3, c2 * s3],
            [c1 * s2 * c3 + s1 * s3, s1 * s2 * c3 - c1 * s3, c2 * c3],
        ]
    )


def eq_3_33(quaternion: Array) -> Array:
    """Rotation matrix of a quaternion."""
    x, y, z, w = quaternion
    half = [
        [w * w + x * x - 0.5, x * y + w * z, x * z - w * y],
        [x * y - w * z, w * w + y * y - 0.5, y * z + w * x],
        [x * z + w * y, y * z - w * x, w * w + z * z - 0.5],
    ]
    return 2.0 * np.array(half)


def eq_3_34(quaternion: Array, rate: tuple[float, float, float]) -> Array:
    """Time derivative of a quaternion from the angular velocity."""
    x, y, z, w = quaternion
    return 0.5 * np.array([[w, -z, y], [z, w, -x], [-y, x, w], [-x, -y, -z]]) @ rate


def _to_base(joint: JointType, turn: tuple[float, ...] | Array) -> Array:
    rotation = joint.pose([0.0, 0.0, 0.0, *(float(x) for x in turn)]).rotation
    return np.array(rotation.matrix(), dtype=np.float64).T


def _quaternion_rate() -> Array:
    rates = Floating().position_rate([0.0, 0.0, 0.0, *QUATERNION], [0.0, 0.0, 0.0, *RATE])
    return np.array(rates[3:], dtype=np.float64)


# Rotations about y, which lead to the singularity, with decreasing rotation about x [rad/s].
APPROACHES = ((0.02, 0.48, 0.0), (0.002, 0.48, 0.0))
HALF_LENGTH = 0.5  # [m] from the joint to the centre of mass


class _Pair(NamedTuple):
    """The same motion in both kinds of coordinates."""

    quaternion: Log
    angles: Log

    @property
    def apart(self) -> float:
        """Largest difference of the poses: rotation matrix and position [m]."""
        poses = [Dynamics(log.model).pose(log.model.root, log.q) for log in self]
        return float(np.max(np.abs(poses[0] - poses[1])))

    @property
    def growth(self) -> float:
        """Largest Euler rate relative to the largest angular velocity."""
        return float(np.max(np.abs(self.angles.v[:, 3:])) / np.max(np.abs(self.quaternion.v[:, 3:])))


@experiment("euler_angles")
def euler_angles(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Simulate the motion of the document and two closer to the singularity, with both kinds of coordinates."""
    robot = settings_of(scenario, ("robot",)).text("robot")
    own = _pair(scenario, robot, None)
    near = []
    for i, turn in enumerate(APPROACHES):
        progress((1 + i) / (1 + len(APPROACHES)), "Euler angles near their singularity")
        near.append(_pair(scenario, robot, turn))
    model, nearest = own.angles.model, near[-1]
    growing = _energy_change(nearest.angles) / max(_energy_change(nearest.quaternion), 1e-15)
    quantities = {
        "apart": Quantity(own.apart, "m"),
        "energy_change": Quantity(_energy_change(own.angles)),
        "rate_growth": Quantity(own.growth),
        "energy_error_ratio": Quantity(growing),
        "refused": Quantity(_refusals(model)),
    }
    return Outcome(quantities=quantities | rotation_errors() | _of_tensor())


def _pair(scenario: Scenario, robot: str, turn: tuple[float, float, float] | None) -> _Pair:
    """A motion in both coordinates: that of the scenario, or one with the given rotation and resting centre of mass."""
    base = "start.velocity.root_joint"
    if turn is None:
        log = simulate(scenario)
        linear, angular = log.v[0, :3].tolist(), log.v[0, 3:].tolist()
    else:
        angular = list(turn)
        linear = [-HALF_LENGTH * turn[1], HALF_LENGTH * turn[0], 0.0]
        log = simulate(scenario.with_changes({base: [*linear, *angular]}))
    # In the upright initial pose the Euler rates are the angular velocity about z, y and x.
    changes = {"model.robot": robot, base: [*linear, *angular[::-1]]}
    return _Pair(log, simulate(scenario.with_changes(changes)))


def _of_tensor() -> dict[str, Quantity]:
    """Rank of the printed tensor, and change of the angular velocity in 10 s with I_zz = ml²/12, both for m = l = 1."""
    across = 1.0 / 12.0
    model = Builder("isotropic").link("rod", 1.0, (0.0, 0.0, 0.5), 3 * (across,)).build("floating", (0.0, 0.0, 0.0))
    start = [-0.24, 0.36, 0.0, 0.72, 0.48, 0.24]
    rates = Simulation(model, model.neutral(), np.array(start), step=1e-3).run(10.0).v[:, 3:]
    return {
        "isotropic_change": Quantity(float(np.max(np.abs(rates - rates[0])) / np.linalg.norm(rates[0]))),
        "tensor_rank": Quantity(float(np.linalg.matrix_rank(np.diag([across, across, 0.0])))),
    }


def _energy_change(log: Log) -> float:
    total = np.asarray(log.total_energy)
    return float(np.max(np.abs(total / total[0] - 1.0)))


def _refusals(model: Model) -> float:
    """Return 1 if dynamics at the singular configuration raise an error with the reason."""
    q, rest = model.neutral(), np.zeros(model.nv)
    q[4] = np.pi / 2.0
    try:
        Dynamics(model).forward(q, rest, rest)
    except InputError as refusal:
        return float("singular" in str(refusal) and model.joint_names[0] in str(refusal))
    return 0.0
