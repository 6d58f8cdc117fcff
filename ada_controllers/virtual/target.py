# SPDX-License-Identifier: Apache-2.0
"""Targets of a mechanism with loops: the configuration with closed loops nearest to a reference.

Computed once per reference, by damped least-squares steps along the loops; also at dead centres, where the Jacobian
along the loops vanishes and the steps halve the distance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ada_controllers.errors import ReferenceRefused
from ada_controllers.state import JointReference, PoseReference, Reference
from ada_controllers.virtual.law import Equations
from ada_controllers.virtual.motions import LOST, Manifold
from ada_dynamics.arrays import Array

STEPS = 200
_LONGEST = 0.3  # maximum step [rad, m]
_FINE = 1e-11  # step at which the iteration ends [rad, m]
_DAMPINGS = (0.0, 1e-8, 1e-6, 1e-4, 1e-2, 1.0, 1e2)  # relative to the largest curvature

Residual = Callable[[Array], tuple[Array, Array]]  # q -> residual, Jacobian with respect to velocities


class Target(NamedTuple):
    """Configuration with closed loops.

    Attributes:
        q: configuration.
        left: residual.
        motions: motions allowed by the loops, as columns.
    """

    q: Array
    left: Array
    motions: Array


def nearest(manifold: Manifold, start: Array, residual: Residual, before: Array | None = None) -> Target:
    """Return the configuration on the constraint manifold near a start with the least residual.

    Args:
        manifold: constraint manifold of the mechanism.
        start: initial configuration, possibly with a closure error.
        residual: residual of the reference.
        before: motions, as columns, that continue from there in a singular configuration.
    """
    q = manifold.closed(start, 20)
    motions = _begin(manifold, q, residual, before)
    for _ in range(STEPS):
        found = _better(manifold, q, motions, residual)
        if found is None:
            break
        q, length = found
        motions = manifold.motions(q, motions).columns
        if length < _FINE:
            break
    return Target(q, residual(q)[0], motions)


def _begin(manifold: Manifold, q: Array, residual: Residual, before: Array | None) -> Array:
    here = manifold.motions(q, before)
    if before is None and here.sigma < LOST:
        left, J = residual(q)
        way = manifold.crossing(q, -J.T @ left)
        return here.columns if way is None else way
    return here.columns


def _better(manifold: Manifold, q: Array, motions: Array, residual: Residual) -> tuple[Array, float] | None:
    """Return a configuration with a smaller residual and the step length, or None."""
    model = manifold.mechanism.virtual
    left, J = residual(q)
    A = J @ motions
    curvature = A.T @ A
    largest = float(np.max(np.diag(curvature), initial=0.0))
    if not largest > 0.0:
        return None
    for damping in _DAMPINGS:
        step = -np.linalg.lstsq(curvature + damping * largest * np.eye(len(curvature)), A.T @ left, rcond=1e-12)[0]
        move = motions @ step
        length = float(np.max(np.abs(move), initial=0.0))
        if length > _LONGEST:
            move, length = move * (_LONGEST / length), _LONGEST
        if length < _FINE:
            return None
        candidate = manifold.closed(model.integrate(q, move), 20)
        if float(np.linalg.norm(residual(candidate)[0])) < float(np.linalg.norm(left)):
            return candidate, length
    return None


class Targets:
    """Converts references to targets of a mechanism."""

    def __init__(
        self, law: str, equations: Equations, manifold: Manifold, weights: tuple[Array, Array], reach: float
    ) -> None:
        """Set weights and tolerance.

        Args:
            law: name of the controller for messages.
            equations: equations of the mechanism.
            manifold: constraint manifold of the mechanism.
            weights: stiffnesses of joints and pose, used as relative weights.
            reach: tolerance of the residual [m, rad].
        """
        self._law, self._equations, self._manifold, self._reach = law, equations, manifold, reach
        self._of_joints, self._of_pose = (np.sqrt(w / max(float(w.max()), 1e-300)) for w in weights)
        mechanism = equations.mechanism
        self._q_index = [mechanism.robot.q_index(name).start for name in mechanism.joints]
        self._v_index = [mechanism.robot.v_index(name).start for name in mechanism.joints]
        self._rest = np.zeros(mechanism.robot.nv)

    def of(self, reference: Reference, start: Array, before: Array | None) -> Target:
        """Return the target of a reference near a start.

        Raises:
            ReferenceRefused: if the residual exceeds the tolerance.
        """
        found = nearest(self._manifold, start, self._residual(reference), before)
        missing = float(np.linalg.norm(found.left))
        if missing > self._reach:
            raise ReferenceRefused(
                f"{self._law}: the loops do not allow the reference: the least residual is {missing:.4g} "
                f"[m, rad], the tolerance `reach` {self._reach:g}. The nearest joint positions are "
                f"{np.array2string(found.q[self._q_index], precision=4, separator=', ')}.",
                field="reach",
                value=missing,
                allowed=self._reach,
            )
        return found

    def near(self, positions: Array, start: Array) -> Array:
        """Return the configuration on the constraint manifold nearest to given positions of the actuated joints."""
        return nearest(self._manifold, start, self._residual(JointReference(positions))).q

    def _residual(self, reference: Reference) -> Residual:
        if isinstance(reference, PoseReference):
            desired = flat_pose(np.asarray(reference.pose)).tolist()

            def of_pose(q: Array) -> tuple[Array, Array]:
                error, columns = self._pose_error(q, desired)
                return -self._of_pose * error, self._of_pose[:, None] * columns

            return of_pose
        assert isinstance(reference, JointReference)
        position = np.asarray(reference.position)
        J = np.zeros((len(position), len(self._rest)))
        J[np.arange(len(position)), self._v_index] = self._of_joints
        return lambda q: (self._of_joints * (q[self._q_index] - position), J)

    def _pose_error(self, q: Array, desired: list[float]) -> tuple[Array, Array]:
        error, _, columns = self._equations.pose_error(q.tolist(), self._rest.tolist(), desired, (0.0,) * 6)
        return np.array(error, dtype=np.float64), np.array(columns, dtype=np.float64).T

    def rate(self, reference: Reference, target: Target) -> Array:
        """Return the velocities of all joints, along the loops, nearest to those of a reference."""
        if isinstance(reference, PoseReference) and reference.twist is not None:
            weights, desired = self._of_pose, reference.twist
            J = self._pose_error(target.q, [0.0] * 12)[1]
        elif isinstance(reference, JointReference) and reference.velocity is not None:
            weights, desired = self._of_joints, reference.velocity
            J = np.eye(len(self._rest))[self._v_index]
        else:
            return self._rest
        A = weights[:, None] * (J @ target.motions)
        return np.asarray(target.motions @ np.linalg.lstsq(A, weights * desired, rcond=1e-9)[0], dtype=np.float64)

    def forward(self, reference: Reference) -> Array:
        """Return the feedforward accelerations of all joints."""
        if not isinstance(reference, JointReference) or reference.acceleration is None:
            return self._rest
        whole = np.zeros(len(self._rest))
        whole[self._v_index] = reference.acceleration
        return whole


def flat_pose(pose: Array) -> Array:
    """Return three columns of the rotation, then the position."""
    return np.concatenate([pose[:3, 0], pose[:3, 1], pose[:3, 2], pose[:3, 3]])
