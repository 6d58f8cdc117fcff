# SPDX-License-Identifier: Apache-2.0
"""The steps of a simulation in extended precision, and their derivatives: by the equations on numbers, no kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from complex_step import Long, slope
from numpy.typing import NDArray

import ada_dynamics as ada
from ada_dynamics.algorithms.kinematics import position_rates
from ada_dynamics.simulation.system import System

Array = NDArray[np.float64]


def moving(
    model: ada.Model, q: Array | None = None, seed: int = 1, **settings
) -> tuple[ada.Simulation, Array, Array, Array]:
    """A simulation, a state that its loops allow, and efforts."""
    rng = np.random.default_rng(seed)
    sim = ada.Simulation(model, q, **{"step": 5e-3, **settings})
    if q is None:
        q = model.random_state(rng)[0]
    q, v = (
        sim.dynamics.project_to_constraints(q, rng.normal(size=model.nv))
        if model.loops
        else (q, rng.normal(size=model.nv))
    )
    return sim, q, v, rng.normal(size=model.nv)


class StepReference:
    """Steps of a simulation with given efforts."""

    def __init__(self, sim: ada.Simulation, system: System | None = None) -> None:
        self.system, self.method, self.h = system or sim.context.system, sim.method, sim.step_length
        self.nq, self.nv = sim.model.nq, sim.model.nv
        main, settle = self.system.step_quantities(self.method.is_direct)
        self._main, self._settle = main.body, None if settle is None else settle.body

    def step(self, x: Long, u: Long, t: float = 0.0) -> Long:
        if self.method.is_direct:
            return self._call(self._main, x=x, u=u, t=[np.longdouble(t)])
        K: list[Long] = []
        for a, c in zip(self.method.A, self.method.c, strict=True):
            point = x + self.h * sum((w * k for w, k in zip(a, K, strict=False)), 0 * x)
            K.append(self._call(self._main, x=point, u=u, t=[np.longdouble(t + c * self.h)]))
        return self._settled(x + self.h * sum((w * k for w, k in zip(self.method.b, K, strict=True)), 0 * x), u)

    def after(self, q: Array, v: Array, tau: Array, steps: int) -> Array:
        x, u = np.concatenate([q, v]).astype(np.longdouble), self.system.inputs(tau, h=self.h).astype(np.longdouble)
        for _ in range(steps):
            x = self.step(x, u)
        return np.asarray(x, dtype=np.float64)

    def _settled(self, x: Long, u: Long) -> Long:
        return x if self._settle is None else self._call(self._settle, x=x, u=u)

    def _call(self, body: Any, **given: Any) -> Long:
        return np.array(next(iter(body(**{k: list(v) for k, v in given.items()}).outputs.values())))

    def along(self, q: Array, v: Array, tau: Array, directions: Array, t: float = 0.0) -> Array:
        """Change of the state after a step along directions [d_q; d_v; dτ], a column each, on the manifold of q."""
        x = np.concatenate([q, v]).astype(np.longdouble)
        weights = self.system.combination_weights(np.concatenate([q, v])[None])
        u = self.system.inputs(tau, h=self.h).astype(np.longdouble)
        if weights is not None:
            u[self.system.equations.combination_inputs] = weights[0]
        after, before = self._tangents(self.step(x, u, t)), self._tangents(x)
        columns = []
        for d in directions.T:
            dx, du = before @ d[: 2 * self.nv], 0 * u
            du[: self.nv] = d[2 * self.nv :]
            change = slope(lambda s, dx=dx, du=du: self.step(x + s * dx, u + s * du, t))
            columns.append(np.linalg.lstsq(after.astype(float), change.astype(float), rcond=None)[0])
        return np.array(columns).T

    def _tangents(self, x: Long) -> Long:
        E = np.zeros((len(x), 2 * self.nv), dtype=np.longdouble)
        E[self.nq :, self.nv :] = np.eye(self.nv)
        for j, unit in enumerate(np.eye(self.nv)):
            E[: self.nq, j] = position_rates(self.system.equations.tree, list(x[: self.nq]), list(unit))
        return E
