# SPDX-License-Identifier: Apache-2.0
"""Random mechanisms and change-point linkages in states that their loops allow, for comparison with the oracle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from mechanism_oracle import Case, Oracle

import ada_dynamics as ada
from ada_dynamics.robots import mechanisms

Array = Any
FLAT = np.array([np.pi / 2, 0.0, np.pi])  # configuration of a change-point linkage with all bars on one line


def random_case(seed: int, loops: int = 1, **options: Any) -> Case:
    """A random mechanism: floating, planar (with redundant constraints) or with losses, by its seed."""
    chosen = {"floating": seed % 3 == 0, "spatial": seed % 4 != 1, "losses": seed % 2 == 0, **options}
    return Case(*mechanisms.random_mechanism(np.random.default_rng(seed), loops, **chosen), seed)


def change_point_linkage(seed: int) -> ada.Model:
    """A four-bar whose crank and coupler are together as long as rocker and ground: two branches cross in FLAT."""
    rng = np.random.default_rng(seed)
    crank, coupler, rocker = rng.uniform(0.4, 1.2, 3)
    masses = rng.uniform(0.5, 2.0, 3)
    lengths = (crank, coupler, rocker, crank + coupler - rocker)
    return mechanisms.four_bar(tuple(map(float, lengths)), tuple(map(float, masses)), offset=0.1).model


def on_branch(oracle: Oracle, way: Array, s: float) -> tuple[Array, Array]:
    """Configuration at distance s from FLAT on the branch with that tangent, and the branch's unit tangent there."""
    q = np.asarray(oracle.close(oracle.model.integrate(FLAT, s * way)), dtype=float)
    tangent = np.linalg.svd(oracle.jacobian(q))[2][-1]
    return q, tangent * np.sign(tangent @ way)


def limit_on_branch(oracle: Oracle, way: Array, of: Callable[[Array, Array], Array], step: float = 2e-3) -> Array:
    """Limit in FLAT of a function of configuration and tangent that is smooth along the branch; error step⁴."""
    far, near = (of(*on_branch(oracle, way, s)) + of(*on_branch(oracle, way, -s)) for s in (2 * step, step))
    return (4.0 * near - far) / 6.0


def kinetic_projection(oracle: Oracle, q: Array, v: Array) -> Array:
    """The velocity nearest to v, by kinetic energy, that the loops allow."""
    M, J = oracle.tree.mass_matrix(q), oracle.jacobian(q)
    across = np.linalg.solve(M, J.T)
    return v - across @ np.linalg.pinv(J @ across, rcond=1e-9) @ (J @ v)
