# SPDX-License-Identifier: Apache-2.0
"""Conversion of gradients between the coordinates q and velocities, for automatic differentiation frameworks.

q̇ = N(q) v. A gradient by velocities is Nᵀ times one by q; the gradient of least norm, N (NᵀN)⁻¹ g, does not change the
length of quaternions. A change dq corresponds to the velocity (NᵀN)⁻¹ Nᵀ dq.
"""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import quantities
from ada_dynamics.dynamics.kernels import Kernels


class Ambient:
    """Conversion between velocities and changes of q, for one model."""

    def __init__(self, kernels: Kernels) -> None:
        """Args: kernels of the model."""
        self._kernels, model = kernels, kernels.model
        kinds = [joint.type for name, joint in model.joints.items() if name in model.joint_names]
        self.is_plain = all(kind.has_rates_of_coordinates() for kind in kinds)  # v is the rate of q

    def gradient(self, q: Array, by_velocity: Array) -> Array:
        """Gradient by q from the gradient by velocities."""
        if self.is_plain:
            return by_velocity
        N = self._map(q)
        return np.asarray((N @ np.linalg.solve(N.swapaxes(-1, -2) @ N, by_velocity[..., None]))[..., 0])

    def velocity(self, q: Array, d_q: Array) -> Array:
        """Velocity that corresponds to a change of q."""
        if self.is_plain:
            return d_q
        N = self._map(q)
        T = N.swapaxes(-1, -2)
        return np.asarray(np.linalg.solve(T @ N, T @ d_q[..., None])[..., 0])

    def velocity_gradient(self, q: Array, by_position: Array) -> Array:
        """Gradient by velocities from the gradient by q: Nᵀ g."""
        if self.is_plain:
            return by_position
        return np.asarray((self._map(q).swapaxes(-1, -2) @ by_position[..., None])[..., 0])

    def _map(self, q: Array) -> Array:
        kernel = self._kernels.get("position map", lambda: quantities.position_map(self._kernels.model.tree))
        run = kernel.single if q.ndim == 1 else kernel.batch
        return np.asarray(run(np.ascontiguousarray(q)))
