# SPDX-License-Identifier: Apache-2.0
"""Constraint manifold of a virtual closed chain: nearest configurations, motion branches, targets.

In a singular configuration the constraints lose rank and allow more motions than elsewhere. The branch to be continued
cannot be determined from this configuration: it is the continuation of the previous motion.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ada_controllers.state import JointReference, PoseReference, Reference, ReferenceRefused
from ada_controllers.virtual.law import Law
from ada_controllers.virtual.mechanism import VirtualMechanism
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.singular import LoopSystem

ZONE = 1e-2  # relative singular value below which the previous branch is continued
DAMPED = 1e-3  # relative singular value below which steps of the loop closure are damped
LOST = 1e-4  # relative singular value below which a configuration is singular
_CLOSED = 1e-13  # closure error at which the loops count as closed, in lengths
_ROUNDING = 1e-12  # relative singular value of rounding errors
_TINY = 1e-300
FORGOTTEN = 0.02  # maximum age of a stored branch [s]
RESTING = 1e-6  # velocity below which a mechanism in a singular configuration is at rest
STEPS = 200  # maximum number of steps to a target
_LONGEST = 0.3  # maximum step to a target [rad, m]
_FINE = 1e-11  # step at which the iteration ends [rad, m]
_DAMPINGS = (0.0, 1e-8, 1e-6, 1e-4, 1e-2, 1.0, 1e2)  # relative to the largest curvature


class BranchMotions(NamedTuple):
    """Motions allowed by the loops in a configuration.

    Attributes:
        M: mass matrix.
        columns: motions along the branch, orthonormal by kinetic energy.
        sigma: smallest relative singular value of the constraint Jacobian; 0 in a singular configuration.
        forbidden: motions violating the constraints, as M-orthonormal columns by decreasing singular value.
        sizes: their singular values, of W = L⁻¹ Jᵀ = U S Vᵀ.
        rows: V, combinations of the constraints.
    """

    M: Array
    columns: Array
    sigma: float
    forbidden: Array
    sizes: Array
    rows: Array


class Manifold:
    """Constraint manifold of a mechanism."""

    def __init__(self, mechanism: VirtualMechanism) -> None:
        """Use the loops of a mechanism as constraints."""
        self.mechanism, self._closed = mechanism, mechanism.closed
        self._rest = np.zeros(mechanism.robot.nv)

    def at(self, q: Array, v: Array | None = None, effort: Array | None = None) -> LoopSystem:
        """Return the equations of motion with constraints in lengths; at rest and without efforts by default."""
        rest = self._rest
        return self._closed.system(q, rest if v is None else v, rest if effort is None else effort)

    def whitened(self, q: Array, full: bool = False) -> tuple[LoopSystem, Array, Array, Array, Array]:
        """Return the equations, L of M = L Lᵀ, and U, s, Vᵀ of L⁻¹ Jᵀ."""
        here = self.at(q)
        L = np.asarray(np.linalg.cholesky(here.M), dtype=np.float64)
        return here, L, *np.linalg.svd(np.linalg.solve(L, here.J.T), full_matrices=full)

    def closed(self, q: Array, steps: int = 4) -> Array:
        """Close the loops near q, by steps of least kinetic energy."""
        for _ in range(steps):
            gap = self._closed.weighted_violation(q)
            if float(np.abs(gap).max()) < _CLOSED:
                break
            _, L, U, s, Vt = self.whitened(q)
            # damped near singular configurations only
            last = max(min(self._closed.analysis.rank, len(s)) - 1, 0)
            damping = (DAMPED * s[0]) ** 2 if s[last] < ZONE * s[0] else 0.0
            factors = np.where(s > _ROUNDING * s[0], s / (s * s + damping + _TINY), 0.0)
            step = np.asarray(-np.linalg.solve(L.T, U @ (factors * (Vt @ gap))), dtype=np.float64)
            q = self.mechanism.virtual.integrate(q, step)
        return q

    def motions(self, q: Array, before: Array | None = None) -> BranchMotions:
        """Return the motions allowed by the loops in a configuration.

        Args:
            q: configuration with closed loops.
            before: motions, as columns, of a nearby configuration on the branch to be continued.
        """
        here, L, U, s, Vt = self.whitened(q, full=True)
        rank = self._closed.analysis.rank
        shares = np.zeros(U.shape[1])
        shares[: len(s)] = s / max(float(np.max(s, initial=0.0)), 1e-300)
        sigma = float(shares[rank - 1]) if rank else 1.0
        free = U[:, rank:]
        if sigma < ZONE and before is not None:
            open_ones = U[:, shares < ZONE]
            P, _, Qt = np.linalg.svd(open_ones @ (open_ones.T @ (L.T @ before)), full_matrices=False)
            free = P @ Qt
        whole = np.asarray(np.linalg.solve(L.T, np.hstack([free, U[:, :rank]])), dtype=np.float64)
        count = free.shape[1]
        return BranchMotions(here.M, whole[:, :count], sigma, whole[:, count:], s[:rank], Vt[:rank])

    def crossing(self, q: Array, wish: Array) -> Array | None:
        """Return the motion along the branch with the largest power of a force, among two that cross.

        None if the power is zero on both, or the number of crossing branches is not two.
        """
        ways = self.mechanism.virtual_dynamics.constraints.branch_directions(q)
        M = self.at(q).M
        units = [w / np.sqrt(w @ M @ w) for w in ways]
        powers = [abs(float(w @ wish)) for w in units]
        if not powers or max(powers) < 1e-12:
            return None
        return np.asarray(units[int(np.argmax(powers))][:, None], dtype=np.float64)


class Branch:
    """Numerical control law at and near singular configurations, on the branch that the mechanism follows.

    If the constraint Jacobian loses rank, J a* = -γ - k_d J v - k_p gap has no bounded solution for a robot with a
    closure error, which is divided by a vanishing singular value. Therefore the nearest configuration q̄ with closed
    loops and the velocity v̄ along them are computed, the accelerations of the mechanism are those of that state, which
    remain finite, and the robot is attracted to it by a spring and a damper:

        a* = FD(q̄, v̄, 0, F^ex) + k_p (q̄ - q) + k_d (v̄ - v).

    With closed loops this is equal to the compiled law. Motion branches cross in a singular configuration. The
    mechanism stays on its branch, which is stored from call to call, as is the acceleration across the lost constraint
    for the few calls in which that is undetermined.
    """

    def __init__(self, manifold: Manifold) -> None:
        """Compile the kernels, and store no branch."""
        self.manifold, self.mechanism = manifold, manifold.mechanism
        self.forget()
        rest = np.zeros(self.mechanism.robot.nv)
        start = self.mechanism.closed.analysis.configurations[0]
        self.acceleration(start, rest, rest, True, np.zeros(2), 0.0)  # compiles the kernels
        self.forget()

    def forget(self) -> None:
        """Reset the stored branch."""
        self._then = -np.inf
        self._q = self._v = self._a = np.zeros(0)
        self._before: Array | None = None

    def acceleration(
        self, q: Array, v: Array, desired: Array, is_acceleration: bool, loops: Array, time: float
    ) -> Array:
        """Return a*.

        Args:
            q: configuration.
            v: velocities.
            desired: virtual efforts on all joints of the tree, or desired accelerations without loops.
            is_acceleration: whether `desired` are accelerations.
            loops: gains k_p and k_d.
            time: present time [s].
        """
        model, dynamics = self.mechanism.virtual, self.mechanism.virtual_dynamics
        near = self._near(q, time)
        if self._before is None:
            self._before = self._way_on(near, v, desired, is_acceleration)
        motions = self.manifold.motions(near, self._before)
        along = np.asarray(motions.columns @ (motions.columns.T @ (motions.M @ v)))
        effort = motions.M @ desired + dynamics.bias(near, along) if is_acceleration else desired
        a = self._of_mechanism(near, along, effort, motions, time)
        self._then, self._q, self._v, self._a = time, near, along, a
        undecided = motions.sigma < LOST and self._before is None
        self._before = None if undecided else motions.columns
        return np.asarray(a + loops[0] * model.difference(q, near) + loops[1] * (along - v), dtype=np.float64)

    def _near(self, q: Array, time: float) -> Array:
        """Return the configuration with closed loops near a measured one, on the stored branch."""
        model, dt = self.mechanism.virtual, time - self._then
        if self._before is None or not 0.0 <= dt < FORGOTTEN:
            self._before = None
            return self.manifold.closed(q)
        near = model.integrate(self._q, self._v * dt + self._a * (0.5 * dt * dt))
        step = self._before @ (self._before.T @ (self.manifold.at(near).M @ model.difference(near, q)))
        return self.manifold.closed(model.integrate(near, step))

    def _way_on(self, q: Array, v: Array, desired: Array, is_acceleration: bool) -> Array | None:
        """Return the branch at the start in a singular configuration: the present or the desired motion."""
        motions = self.manifold.motions(q)
        if motions.sigma >= LOST:
            return None
        if float(np.max(np.abs(v), initial=0.0)) > RESTING:
            return self.manifold.crossing(q, motions.M @ v)
        bias = self.mechanism.virtual_dynamics.bias(q, np.zeros(len(v)))
        return self.manifold.crossing(q, motions.M @ desired if is_acceleration else desired - bias)

    def _of_mechanism(self, q: Array, v: Array, effort: Array, motions: BranchMotions, time: float) -> Array:
        """Return a with J a = -γ, and M a = τ - h along the branch."""
        here = self.manifold.at(q, v, effort)
        determined = motions.sizes > LOST * float(np.max(motions.sizes, initial=0.0))
        across = np.zeros(len(determined))
        across[determined] = -(motions.rows[determined] @ here.rate) / motions.sizes[determined]
        if not determined.all() and 0.0 <= time - self._then < FORGOTTEN:
            # curvature across the branch scales with the square of the speed
            before, now = float(self._v @ motions.M @ self._v), float(v @ motions.M @ v)
            share = now / max(before, now, 1e-300)
            across[~determined] = share * (motions.forbidden[:, ~determined].T @ (motions.M @ self._a))
        return np.asarray(motions.columns @ (motions.columns.T @ here.r) + motions.forbidden @ across, dtype=np.float64)


# --- targets ----------------------------------------------------------------------------------------------------------
Residual = Callable[[Array], tuple[Array, Array]]  # q -> residual, Jacobian with respect to velocities


class ClosedTarget(NamedTuple):
    """Configuration with closed loops.

    Attributes:
        q: configuration.
        left: residual.
        motions: motions allowed by the loops, as columns.
    """

    q: Array
    left: Array
    motions: Array


class Targets:
    """Converts references to targets of a mechanism."""

    def __init__(self, name: str, law: Law, manifold: Manifold, weights: tuple[Array, Array], reach: float) -> None:
        """Set weights and tolerance.

        Args:
            name: name of the controller for messages.
            law: law of the mechanism.
            manifold: constraint manifold of the mechanism.
            weights: stiffnesses of joints and pose, used as relative weights.
            reach: tolerance of the residual [m, rad].
        """
        self._name, self._law, self._manifold, self._reach = name, law, manifold, reach
        self._of_joints, self._of_pose = (np.sqrt(w / max(float(w.max()), 1e-300)) for w in weights)
        mechanism = manifold.mechanism
        self._q_index = [mechanism.robot.q_index(name).start for name in mechanism.joints]
        self._v_index = [mechanism.robot.v_index(name).start for name in mechanism.joints]
        self._rest = np.zeros(mechanism.robot.nv)

    def of(self, reference: Reference, start: Array, before: Array | None) -> ClosedTarget:
        """Return the target of a reference near a start.

        Raises:
            ReferenceRefused: if the residual exceeds the tolerance.
        """
        found = self._nearest(start, self._residual(reference), before)
        missing = float(np.linalg.norm(found.left))
        if missing > self._reach:
            text = (
                f"{self._name}: the loops do not allow the reference: the least residual is {missing:.4g} "
                f"[m, rad], the tolerance `reach` {self._reach:g}. The nearest joint positions are "
                f"{np.array2string(found.q[self._q_index], precision=4, separator=', ')}."
            )
            raise ReferenceRefused(text, field="reach", value=missing, allowed=self._reach)
        return found

    def _nearest(self, start: Array, residual: Residual, before: Array | None = None) -> ClosedTarget:
        """Return the configuration on the constraint manifold near a start with the least residual.

        Damped least-squares steps along the loops, also at dead centres, where the Jacobian along the loops vanishes
        and the steps halve the distance.

        Args:
            start: initial configuration, possibly with a closure error.
            residual: residual of the reference.
            before: motions, as columns, that continue from there in a singular configuration.
        """
        manifold = self._manifold
        q = manifold.closed(start, 20)
        here = manifold.motions(q, before)
        motions = here.columns
        if before is None and here.sigma < LOST:
            left, J = residual(q)
            way = manifold.crossing(q, -J.T @ left)
            motions = motions if way is None else way
        for _ in range(STEPS):
            found = self._better(q, motions, residual)
            if found is None:
                break
            q, length = found
            motions = manifold.motions(q, motions).columns
            if length < _FINE:
                break
        return ClosedTarget(q, residual(q)[0], motions)

    def _better(self, q: Array, motions: Array, residual: Residual) -> tuple[Array, float] | None:
        """Return a configuration with a smaller residual and the step length, or None."""
        model = self._manifold.mechanism.virtual
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
            candidate = self._manifold.closed(model.integrate(q, move), 20)
            if float(np.linalg.norm(residual(candidate)[0])) < float(np.linalg.norm(left)):
                return candidate, length
        return None

    def _residual(self, reference: Reference) -> Residual:
        if isinstance(reference, PoseReference):
            desired = flat_pose(reference.pose)

            def of_pose(q: Array) -> tuple[Array, Array]:
                error, columns = self._pose_error(q, desired)
                return -self._of_pose * error, self._of_pose[:, None] * columns

            return of_pose
        assert isinstance(reference, JointReference)
        position = np.asarray(reference.position)
        J = np.zeros((len(position), len(self._rest)))
        J[np.arange(len(position)), self._v_index] = self._of_joints
        return lambda q: (self._of_joints * (q[self._q_index] - position), J)

    def _pose_error(self, q: Array, desired: Array) -> tuple[Array, Array]:
        error, columns = self._law.pose_error(q.tolist(), desired.tolist())
        return np.array(error, dtype=np.float64), np.array(columns, dtype=np.float64).T

    def feedforward(self, reference: Reference, target: ClosedTarget) -> tuple[Array, Array]:
        """Return the velocities along the loops nearest to those of a reference, and the reference accelerations."""
        velocity, acceleration = self._rest, self._rest
        if isinstance(reference, PoseReference):
            weights, desired, J = self._of_pose, reference.twist, self._pose_error(target.q, np.zeros(12))[1]
        else:
            assert isinstance(reference, JointReference)
            weights, desired, J = self._of_joints, reference.velocity, np.eye(len(self._rest))[self._v_index]
            if reference.acceleration is not None:
                acceleration = J.T @ reference.acceleration
        if desired is not None:
            A = weights[:, None] * (J @ target.motions)
            velocity = np.asarray(target.motions @ np.linalg.lstsq(A, weights * desired, rcond=1e-9)[0])
        return velocity, acceleration


def flat_pose(pose: Array) -> Array:
    """Return three columns of the rotation, then the position."""
    return np.concatenate([pose[:3, 0], pose[:3, 1], pose[:3, 2], pose[:3, 3]])
