# SPDX-License-Identifier: Apache-2.0
"""Move a Stewart platform with the least effort: its motion is optimised with the derivatives of its simulation."""

from functools import lru_cache

import numpy as np
from scipy.optimize import Bounds, minimize

import ada_dynamics as ada
from ada_dynamics.robots.mechanisms import stewart

ROWS, HOLD, STEP = 20, 6, 5e-3  # forces hold for 6 steps of 5 ms: 0.6 s
UNIT, STRONGEST = 20.0, 80.0  # [N]: of the variables, and what a motor can give
model, start = stewart(position=(-0.12, 0.0, 0.7), rpy=(0.0, 0.0, -0.2))
goal = stewart(position=(0.12, 0.05, 0.75), rpy=(0.0, 0.1, 0.3))[1]
sim = ada.Simulation(model, start, integrator="rk4", step=STEP)
motors = list(sim.dynamics.constraints.indices("actuated"))
lengths = [model.q_index(leg).start for leg in model.actuated]
holding = sim.dynamics.inverse(start, np.zeros(model.nv), np.zeros(model.nv))[motors]


@lru_cache(maxsize=1)
def moved(z):
    """The motion with these forces beside those that hold the platform, and its vector-Jacobian product."""
    tau = np.zeros((ROWS, model.nv))
    tau[:, motors] = holding + UNIT * np.reshape(z, (ROWS, 6))
    return sim.rollout_vjp(start, None, tau, hold=HOLD)


def missed(z):
    """Lengths and speeds of the legs at the end: at the goal, at rest."""
    motion, _ = moved(tuple(z))
    return np.r_[motion.q[-1, lengths] - goal[lengths], motion.v[-1, motors]]


def slope(z):
    """Derivatives of these lengths and speeds with respect to the forces."""
    _, pull = moved(tuple(z))
    units = np.eye(model.nv)[motors]
    gradients = [*(pull(unit, None) for unit in units), *(pull(None, unit) for unit in units)]
    return UNIT * np.array([gradient.du[:, motors].ravel() for gradient in gradients])


effort = lambda z: (0.5 * z @ z, z)  # noqa: E731
most = [np.tile((side * STRONGEST - holding) / UNIT, ROWS) for side in (-1.0, 1.0)]
arrives = {"type": "eq", "fun": missed, "jac": slope}
found = minimize(effort, np.zeros(6 * ROWS), jac=True, method="SLSQP", bounds=Bounds(*most), constraints=arrives)
(motion, _), forces = moved(tuple(found.x)), holding + UNIT * found.x.reshape(ROWS, 6)
print(f"there in {motion.t[-1]:.1f} s with {abs(forces).max():.1f} N, after {found.nit} steps: {found.message}")
gap = sim.dynamics.constraints.closure_error(motion.q).max()
print(f"misses its goal by {abs(missed(found.x)).max():.0e}, loops open by {gap:.0e} m")
