# SPDX-License-Identifier: Apache-2.0
"""Joints as printed in tables 2.1 and 2.2 of Takahashi 2012: check of eq. 2.8, and comparison with this library.

Eq. 2.8: T_aᵀ S = U and Tᵀ S = 0. If two rows describe one joint, S must also be the rate of its pose (eq. 2.5); the
joints of this library are tested for that elsewhere, so that a printed S is compared with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.joints import Fixed, Floating, JointType, Revolute, SphericalEuler, Universal
from ada_dynamics.spatial.motion import Force, Motion
from ada_tools.scenario.registry import Outcome, Progress, Quantity, Table, experiment
from ada_tools.scenario.scenario import Scenario

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
    apart = {
        name: [_span_apart(a, b) for a, b in zip(printed, ours, strict=True)] for name, (printed, ours) in found.items()
    }
    rows = [(name.replace("_", ", "), printed.off, ours.off, *apart[name]) for name, (printed, ours) in found.items()]
    quantities["spans_apart"] = Quantity(max(max(three) for three in apart.values()))
    columns = ("joint", "printed: off eq. 2.8", "ours: off eq. 2.8", "S, apart", "T_a, apart", "T, apart")
    note = "Apart: largest sine of an angle between what the columns span, here and there."
    return Outcome(tables=[Table("Rows of tables 2.1 and 2.2", columns, rows, note)], quantities=quantities)


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
