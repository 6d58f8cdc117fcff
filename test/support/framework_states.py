# SPDX-License-Identifier: Apache-2.0
"""States that adapters to other frameworks are asked about: of an arm, of a free body, on closed loops."""

from __future__ import annotations

import numpy as np
from loop_robots import mechanism
from numpy.typing import NDArray
from random_trees import random_tree, states_of

import ada_dynamics as ada

Array = NDArray[np.float64]


def states(name: str, count: int = 3) -> tuple[ada.Model, Array, Array, Array]:
    """The model "pa10", "free", or a mechanism, with rows of q, v and efforts."""
    if name in ("pa10", "free"):
        model = ada.load("pa10") if name == "pa10" else random_tree(3, ("spherical", "revolute"), "floating")
        return model, *states_of(model, count)
    model, q = mechanism(name)
    rng, dynamics = np.random.default_rng(0), ada.Dynamics(model)
    starts = [model.integrate(q, 0.1 * rng.normal(size=model.nv)) for _ in range(count)]
    q, v = dynamics.project_to_constraints(np.array(starts), rng.normal(size=(count, model.nv)))
    return model, q, v, rng.normal(size=(count, model.nv))
