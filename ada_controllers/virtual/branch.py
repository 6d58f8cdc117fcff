# SPDX-License-Identifier: Apache-2.0
"""Numerical control law of virtual closed chains at and near singular configurations.

If the constraint Jacobian loses rank, J a* = -γ - k_d J v - k_p gap has no bounded solution for a robot with a closure
error, which is divided by a vanishing singular value. Therefore the nearest configuration q̄ with closed loops and the
velocity v̄ along them are computed, the accelerations of the mechanism are those of that state, which remain finite, and
the robot is attracted to it by a spring and a damper:

    a* = FD(q̄, v̄, 0, F^ex) + k_p (q̄ - q) + k_d (v̄ - v).

With closed loops this is equal to the compiled law. Motion branches cross in a singular configuration. The mechanism
stays on its branch, which is stored from call to call, as is the acceleration across the lost constraint for the few
calls in which that is undetermined.
"""

from __future__ import annotations

import numpy as np

from ada_controllers.virtual.mechanism import VirtualMechanism
from ada_controllers.virtual.motions import LOST, Manifold, Motions
from ada_dynamics.arrays import Array

FORGOTTEN = 0.02  # maximum age of a stored branch [s]
RESTING = 1e-6  # velocity below which a mechanism in a singular configuration is at rest


class Branch:
    """Configuration and motion branch of a mechanism on its constraint manifold."""

    def __init__(self, mechanism: VirtualMechanism) -> None:
        """Args: mechanism."""
        self.mechanism = mechanism
        self.manifold = Manifold(mechanism)
        self.forget()
        rest = np.zeros(mechanism.robot.nv)
        start = mechanism.analysis.configurations[0]
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
        along = motions.part_of(v)
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

    def _of_mechanism(self, q: Array, v: Array, effort: Array, motions: Motions, time: float) -> Array:
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
