# SPDX-License-Identifier: Apache-2.0
"""Derivatives of equations on numbers in extended precision by f(x + i h) = f(x) + i h f'(x), where h² vanishes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ada_dynamics as ada
from ada_dynamics.algorithms import kkt
from ada_dynamics.algorithms.kinematics import position_rates
from ada_dynamics.constraints.analysis import analyse
from ada_dynamics.constraints.elimination import late
from ada_dynamics.model.tree import Tree

Long = Any  # array of longdouble
STEP = np.longdouble(1e-60)


def slope(f: Callable[[Any], Any]) -> Long:
    """Derivative at 0 of a function of one number, by +, -, *, /, sqrt, sin, cos and branches."""
    return np.asarray(f(1j * STEP)).imag / STEP


def slopes(f: Callable[..., Any], tree: Tree, state: Any, directions: Any) -> Long:
    """Changes of f(q, v, w) along directions [d_q; d_v; d_w], a column each; d_q is a velocity."""
    given, columns = [np.asarray(x, dtype=np.longdouble) for x in state], []
    for d in np.asarray(directions, dtype=np.longdouble).T:
        d_q, *others = np.split(d, 3)
        moving = [np.array(position_rates(tree, list(given[0]), list(d_q))), *others]
        at = lambda s, moving=moving: (list(x + s * d) for x, d in zip(given, moving, strict=True))  # noqa: E731
        columns.append(slope(lambda s, at=at: f(*at(s))))
    return np.array(columns).T


def changes_of_accelerations(model: ada.Model, state: Any, directions: Any, wrenches: Any = None) -> Long:
    """Those with q, v and τ, along directions that keep the loops closed; external wrenches by body."""
    plan = kkt.Plan({}, late(model.nv, 0))
    if model.loops:
        found = analyse(model, state[0])
        plan = kkt.Plan(found.by_loop(found.independent), late(model.nv, found.rank))
    accelerations = lambda *at: kkt.forward_dynamics(model.tree, *at, plan, wrenches).accelerations  # noqa: E731
    return slopes(accelerations, model.tree, state, directions)
