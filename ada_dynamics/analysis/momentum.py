# SPDX-License-Identifier: Apache-2.0
"""Momentum of the whole robot, its rate, and the motion of its centre of mass, for one state or for many."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.algorithms.centroidal import moving_mass
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics


class Momentum(NamedTuple):
    """Of all bodies that can move, in the world's axes.

    Attributes:
        linear: [kg m/s].
        centroidal: angular, about the centre of mass [kg m²/s].
        angular: about the world's origin [kg m²/s].
        com: centre of mass [m].
        com_velocity: [m/s].
    """

    linear: Array
    centroidal: Array
    angular: Array
    com: Array
    com_velocity: Array


def momentum(dynamics: Dynamics, q: ArrayLike, v: ArrayLike) -> Momentum:
    """Momentum, and where its centre is."""
    both, com = dynamics.momentum(q, v), dynamics.com(q)
    linear, centroidal = both[..., :3], both[..., 3:]
    return Momentum(linear, centroidal, centroidal + np.cross(com, linear), com, linear / mass_of(dynamics))


def momentum_rate(dynamics: Dynamics, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
    """Rate of the centroidal momentum [linear, angular]: A a + Ȧ v, (6,) or (N, 6)."""
    A, rate = dynamics.momentum_matrix(q), dynamics.momentum_matrix_rate(q, v)
    velocity, acceleration = np.asarray(v, dtype=np.float64), np.asarray(a, dtype=np.float64)
    return np.asarray(np.einsum("...ij,...j", A, acceleration) + np.einsum("...ij,...j", rate, velocity))


def mass_of(dynamics: Dynamics) -> float:
    """Mass of the bodies that can move [kg]."""
    return float(moving_mass(dynamics.model.tree))
