# SPDX-License-Identifier: Apache-2.0
"""Checks of references: shapes, finite numbers, joint limits."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ada_controllers.checks.state_check import MOST_ACCELERATION, MOST_POSITION, MOST_VELOCITY
from ada_controllers.errors import ReferenceRefused
from ada_controllers.state import JointPath, JointReference, PoseReference, Reference
from ada_dynamics.arrays import Array
from ada_dynamics.expr import Traced
from ada_dynamics.jit import Kernel
from ada_dynamics.jit.compiled import Vector, compiled_kernel
from ada_robot.contract import JointLimit
from ada_robot.limits import ROUNDING, refused_number

_MOST = {"position": MOST_POSITION, "velocity": MOST_VELOCITY, "acceleration": MOST_ACCELERATION}
RIGID = 1e-6  # tolerance of norm and orthogonality of the axes of a pose


class ReferenceCheck:
    """Checks references for a controller with given joints."""

    def __init__(self, law: str, limits: Sequence[JointLimit]) -> None:
        """Args: name of the controller for messages; limits of its joints."""
        self._law, self._limits = law, limits
        self._names = tuple(limit.name for limit in limits)
        self._zero = np.zeros(len(limits))
        self._bounds = tuple(
            np.array(values, dtype=np.float64)
            for values in (
                [max(limit.lower - ROUNDING, -MOST_POSITION) for limit in limits],
                [min(limit.upper + ROUNDING, MOST_POSITION) for limit in limits],
                [min(limit.velocity, MOST_VELOCITY) for limit in limits],
            )
        )
        self._fits = _fits(len(limits)).python_call(self._look)

    def __call__(self, reference: Reference) -> None:
        """Raise ReferenceRefused for an invalid reference."""
        if isinstance(reference, JointReference):
            position, velocity, acceleration = reference
            zero = self._zero
            self._fits(
                position,
                zero if velocity is None else velocity,
                zero if acceleration is None else acceleration,
                *self._bounds,
            )
        elif isinstance(reference, JointPath):
            self._path(reference)
        elif isinstance(reference, PoseReference):
            self._pose(reference)

    # --- joints -------------------------------------------------------------------------------------------------------
    def _look(self, position: Any, velocity: Any, acceleration: Any, *_: Array) -> None:
        """Repeat the check value by value, for the message."""
        for what, values in (("position", position), ("velocity", velocity), ("acceleration", acceleration)):
            self._row(what, values)

    def _row(self, what: str, values: Any, where: str = "") -> None:
        if not _is_array(values) or values.shape != (len(self._names),):
            raise ReferenceRefused(
                f"{self._law}: the reference's {what}{where} is {values!r:.80}; it must be a float64 vector of "
                f"{len(self._names)} numbers, one for each of {', '.join(self._names)}.",
                field=what,
                value=values,
                allowed=f"{len(self._names)} numbers",
            )
        for limit, value in zip(self._limits, values.tolist(), strict=True):
            refusal = refused_number(limit, what, value, where)
            if refusal is not None:
                raise ReferenceRefused(
                    f"{self._law}: reference: {refusal.text}", joint=limit.name, field=what, value=value
                )
            if abs(value) > _MOST[what]:
                raise ReferenceRefused(
                    f"{self._law}: reference: joint {limit.name!r}: {what}{where} is {value:.3g}, too large for a "
                    f"robot; it must be in SI units, at most {_MOST[what]:g}.",
                    joint=limit.name,
                    field=what,
                    value=value,
                    allowed=(-_MOST[what], _MOST[what]),
                )

    def _path(self, path: JointPath) -> None:
        positions, times, velocities = path
        if not _is_array(positions) or positions.ndim != 2 or not len(positions):
            raise ReferenceRefused(
                f"{self._law}: the positions of a path are {positions!r:.80}; they must be a float64 array of (points, "
                f"{len(self._names)}) with at least one point.",
                field="positions",
                value=positions,
                allowed=f"(points, {len(self._names)})",
            )
        rows = [("position", positions)]
        if velocities is not None:
            if not _is_array(velocities) or velocities.shape != positions.shape:
                raise ReferenceRefused(
                    f"{self._law}: the velocities of a path are {velocities!r:.80}; give none, or as many as "
                    f"positions, {positions.shape}.",
                    field="velocities",
                    value=velocities,
                    allowed=positions.shape,
                )
            rows.append(("velocity", velocities))
        for what, points in rows:
            for i, row in enumerate(points):
                self._row(what, row, f" at point {i + 1}")
        if times is None:
            return
        if not _is_array(times) or times.shape != (len(positions),) or not np.isfinite(times).all():
            raise ReferenceRefused(
                f"{self._law}: the times of a path are {times!r:.80}; give none, or a finite one for each of the "
                f"{len(positions)} points [s].",
                field="times",
                value=times,
                allowed=f"{len(positions)} finite numbers",
            )
        if times[0] < 0.0 or (np.diff(times) <= 0.0).any():
            raise ReferenceRefused(
                f"{self._law}: the times of a path are {times.tolist()!r:.80}; they count from now on and must "
                "increase.",
                field="times",
                value=times,
                allowed="rising numbers from 0 on",
            )

    # --- poses --------------------------------------------------------------------------------------------------------
    def _pose(self, reference: PoseReference) -> None:
        pose, twist = reference
        if not _is_array(pose) or pose.shape != (4, 4) or not _is_small(pose, MOST_POSITION):
            raise ReferenceRefused(
                f"{self._law}: the reference's pose is {pose!r:.80}; it must be a float64 array of 4x4 finite numbers, "
                f"at most {MOST_POSITION:g}.",
                field="pose",
                value=pose,
                allowed="4x4 finite numbers",
            )
        R = pose[:3, :3]
        is_rigid = float(np.abs(R.T @ R - np.eye(3)).max()) <= RIGID and float(np.linalg.det(R)) > 0.0
        if not is_rigid or np.abs(pose[3] - (0.0, 0.0, 0.0, 1.0)).max() > RIGID:
            raise ReferenceRefused(
                f"{self._law}: the reference's pose is no rigid transformation: its axes must have unit "
                f"length and right angles to {RIGID:g}, right-handed, and its last row must be 0 0 0 1.",
                field="pose",
                value=pose,
                allowed="a rigid motion",
            )
        if twist is not None and (not _is_array(twist) or twist.shape != (6,) or not _is_small(twist, MOST_VELOCITY)):
            raise ReferenceRefused(
                f"{self._law}: the reference's twist is {twist!r:.80}; it must be six finite numbers [vx, vy, vz, wx, "
                f"wy, wz] [m/s, rad/s], at most {MOST_VELOCITY:g}, or None.",
                field="twist",
                value=twist,
                allowed="six finite numbers",
            )


def _is_small(values: Array, most: float) -> bool:
    """Return True if all numbers are finite and within a bound."""
    return bool((np.abs(values) <= most).all())


def _is_array(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.dtype == np.float64


@lru_cache(maxsize=32)
def _fits(count: int) -> Kernel:
    """Compile a kernel that succeeds if a reference is within its limits."""

    def body(
        position: Vector, velocity: Vector, acceleration: Vector, lower: Vector, upper: Vector, speed: Vector
    ) -> Traced:
        guards = []
        for i in range(count):
            guards += [position[i] - lower[i], upper[i] - position[i], speed[i] - velocity[i], speed[i] + velocity[i]]
            guards += [MOST_ACCELERATION - acceleration[i], MOST_ACCELERATION + acceleration[i]]
        return Traced({"sum": [sum(acceleration[1:], acceleration[0])]}, guards)

    vectors: Sequence[str] = ("position", "velocity", "acceleration", "lower", "upper", "speed")
    return compiled_kernel("reference_fits", dict.fromkeys(vectors, count), body)
