# SPDX-License-Identifier: Apache-2.0
"""Pseudo-inertia matrix of ten inertial parameters, which is positive definite for physically consistent parameters.

P = [Σ h; hᵀ m] with the second moments Σ = ½ tr(I) 1 - I of the mass (Wensing, Kim and Slotine 2018; Traversaro et al.
2016). I is the inertia about the origin, h the first moments, m the mass. P is linear in the parameters.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array

MIN_THICKNESS = 1e-4  # relative to the size of a body, for rods, plates and points


def pseudo_inertia(values: ArrayLike) -> Array:
    """Pseudo-inertia P of mass, first moments, Ixx, Ixy, Ixz, Iyy, Iyz, Izz (as `regressor.INERTIAL`), (..., 4, 4)."""
    return np.asarray(np.asarray(values, dtype=np.float64) @ UNITS.reshape(10, 16)).reshape(
        (*np.shape(values)[:-1], 4, 4)
    )


def _units() -> Array:
    """P for a unit of each parameter, (10, 4, 4)."""
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


def inertial_parameters(P: Array) -> Array:
    """Ten inertial parameters of P."""
    second = P[:3, :3]
    inertia = np.trace(second) * np.eye(3) - second
    return np.array([P[3, 3], *P[:3, 3], *inertia[0], *inertia[1, 1:], inertia[2, 2]])


def regularize(P: Array, mass: float, length: float) -> Array:
    """P with positive eigenvalues, relative to the size of the body.

    Args:
        P: pseudo-inertia of a body, which may be a rod, a plate, a point, or zero.
        mass: reference mass of a massless body [kg].
        length: reference size of a body without extent [m].
    """
    own = P.copy()
    if own[3, 3] <= MIN_THICKNESS * mass:
        own[3, 3] = MIN_THICKNESS * mass
    c = own[:3, 3] / own[3, 3]
    size = max(float(np.sqrt(max(np.trace(own[:3, :3]) / own[3, 3] - c @ c, 0.0))), MIN_THICKNESS**0.5 * length)
    central = own[:3, :3] - own[3, 3] * np.outer(c, c)
    values, axes = np.linalg.eigh(central)
    values = np.maximum(values, MIN_THICKNESS * own[3, 3] * size**2)
    own[:3, :3] = axes @ np.diag(values) @ axes.T + own[3, 3] * np.outer(c, c)
    return own
