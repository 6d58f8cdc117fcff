# SPDX-License-Identifier: Apache-2.0
"""Ten inertial parameters as one matrix, which is positive definite exactly if some body has them.

P = [Σ h; hᵀ m] with Σ = ½ tr(I) 1 - I, the second moments of the mass (Wensing, Kim and Slotine 2018; Traversaro and
others 2016). I is about the origin, h the first moments, m the mass. P depends linearly on the parameters.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array

LEAST = 1e-4  # of a body's own sizes: thinner ones (rods, plates, points) count as if they were so thick


def pseudo_inertia(values: ArrayLike) -> Array:
    """P of mass, first moments, Ixx, Ixy, Ixz, Iyy, Iyz, Izz (the order of `regressor.INERTIAL`), (..., 4, 4)."""
    return np.asarray(np.asarray(values, dtype=np.float64) @ UNITS.reshape(10, 16)).reshape(
        (*np.shape(values)[:-1], 4, 4)
    )


def _units() -> Array:
    """P of one unit of each parameter, (10, 4, 4)."""
    units = np.zeros((10, 4, 4))
    units[0, 3, 3] = 1.0
    for k in range(3):
        units[1 + k, k, 3] = units[1 + k, 3, k] = 1.0
    for unit, (i, j) in zip(units[4:], ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)), strict=True):
        if i == j:
            unit[range(3), range(3)] = 0.5
            unit[i, i] = -0.5
        else:
            unit[i, j] = unit[j, i] = -1.0
    return units


UNITS = _units()


def parameters_of(P: Array) -> Array:
    """The ten parameters of one P."""
    second = P[:3, :3]
    inertia = np.trace(second) * np.eye(3) - second
    return np.array([P[3, 3], *P[:3, 3], *inertia[0], *inertia[1, 1:], inertia[2, 2]])


def thickened(P: Array, mass: float, length: float) -> Array:
    """P with eigenvalues that are positive, in the body's own units.

    Args:
        P: of a body, which may be a rod, a plate, a point, or nothing.
        mass: that a body without one gets [kg].
        length: size of a body without extent [m].
    """
    own = P.copy()
    if own[3, 3] <= LEAST * mass:
        own[3, 3] = LEAST * mass
    c = own[:3, 3] / own[3, 3]
    size = max(float(np.sqrt(max(np.trace(own[:3, :3]) / own[3, 3] - c @ c, 0.0))), LEAST**0.5 * length)
    central = own[:3, :3] - own[3, 3] * np.outer(c, c)
    values, axes = np.linalg.eigh(central)
    values = np.maximum(values, LEAST * own[3, 3] * size**2)
    own[:3, :3] = axes @ np.diag(values) @ axes.T + own[3, 3] * np.outer(c, c)
    return own
